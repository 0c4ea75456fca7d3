/**
 * Hosts that hold the same lines under the same trust set and rules have the same root. Here what other hosts signed is
 * held against what this host signed of the same input; where they differ, a program or a disk is at fault.
 */
import { statementsKeptMax } from '../../core/limits.ts';
import type { Statement, ViewLine } from '../../core/view-line.ts';
import { canonicalJson } from '../../crypto/canonical.ts';
import { sha256Hex } from '../../crypto/hash.ts';

/** A host that says another root of an input that this host folded too. */
export interface Divergence {
  readonly host: string;
  /** Line of its journal. */
  readonly n: number;
  readonly at: string;
  readonly theirs: string;
  readonly ours: string;
}

export interface Divergences {
  /** Notes what this host says. */
  readonly say: (statement: Statement) => void;
  /** Notes a verified line of another host; lines of one host come in any order. */
  readonly hear: (line: ViewLine) => void;
  /** Forgets hosts that `keep` does not know. */
  readonly forget: (keep: (host: string) => boolean) => void;
  /** By host: those whose newest line that could be compared differs. */
  readonly standing: () => readonly Divergence[];
}

type Heard = Pick<ViewLine, 'n' | 'at' | 'root'>;

export function createDivergences(): Divergences {
  /** By input: the root that this host says. */
  const said = new Map<string, string>();
  /** By host, by input: the newest line about it. */
  const heard = new Map<string, Map<string, Heard>>();
  const newestCompared = (lines: ReadonlyMap<string, Heard>): (Heard & { readonly ours: string }) | undefined => {
    let newest: (Heard & { readonly ours: string }) | undefined;
    for (const [input, line] of lines) {
      const ours = said.get(input);
      if (ours !== undefined && line.n > (newest?.n ?? 0)) newest = { ...line, ours };
    }
    return newest;
  };
  return {
    say: (statement) => keep(said, inputOf(statement), statement.root),
    hear(line) {
      const { host, n, at, root } = line;
      const lines = heard.get(host) ?? new Map<string, Heard>();
      heard.set(host, lines);
      const input = inputOf(line);
      if ((lines.get(input)?.n ?? 0) <= n) keep(lines, input, { n, at, root });
    },
    forget(known) {
      for (const host of heard.keys()) if (!known(host)) heard.delete(host);
    },
    standing: () =>
      [...heard].toSorted(byName).flatMap(([host, lines]) => {
        const newest = newestCompared(lines);
        if (newest === undefined || newest.root === newest.ours) return [];
        const { n, at, root, ours } = newest;
        return [{ host, n, at, theirs: root, ours }];
      }),
  };
}

function byName([left]: readonly [string, unknown], [right]: readonly [string, unknown]): number {
  return left < right ? -1 : 1;
}

/** What a fold is a function of. */
function inputOf({ heads, mesh, rules, trust }: Statement): string {
  const logs = Object.fromEntries([...heads].map(([host, { seq, link }]) => [host, [seq, link]]));
  return sha256Hex(canonicalJson({ heads: logs, mesh, rules, trust }));
}

/** The oldest goes. */
function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > statementsKeptMax && oldest !== undefined) map.delete(oldest);
}
