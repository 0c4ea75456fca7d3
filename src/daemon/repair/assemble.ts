/** One log put together from everything that may hold some of its lines. Nothing counts that its host did not sign. Pure. */
import { extendLog, type HostKeySpan, type PurgedIds, type VerifiedLine } from '../../core/log.ts';
import { parseLine, type Line } from '../../core/line.ts';

/** Lines of a log as one source has them, in any order, with gaps and rubbish. */
export type LineList = readonly (string | Uint8Array)[];

export interface Assembly {
  /** From the first line on, chained and vouched for by a signature. */
  readonly lines: readonly VerifiedLine[];
  /** Number of a line of which the host signed two, so that nobody but a signer can say which is the log's. */
  readonly forkAt?: number;
}

interface Wanted {
  readonly host: string;
  readonly mesh: string;
  readonly keys: readonly HostKeySpan[];
  readonly purged: PurgedIds;
}

/** What says which of two lines is the log's: links of what the branch has, verified, and the last link that this home saw. */
export interface OwnSide {
  readonly held: ReadonlySet<string>;
  readonly seen?: string | undefined;
}

/**
 * Follows the chain from the start. Where two lines follow, the one that the branch has, or that leads to what was last seen,
 * is taken. Of two others that the host signed neither is.
 */
export function assembleLog(wanted: Wanted, own: OwnSide, lists: readonly LineList[]): Assembly {
  const pool = poolOf(wanted, lists);
  const sides = { held: own.held, seen: linksBefore(own.seen, pool) };
  const texts: string[] = [];
  let [at, forkAt]: [{ seq: number; link: string }, number | undefined] = [{ seq: 0, link: wanted.mesh }, undefined];
  for (;;) {
    const next = choose(wanted, at, { following: pool.get(at.link) ?? [], ...sides });
    if (next === 'fork') forkAt = at.seq + 1;
    if (next === undefined || next === 'fork') break;
    texts.push(next.text);
    at = next;
  }
  const { lines } = extendLog({ ...wanted, from: { seq: 0, link: wanted.mesh } }, texts);
  return { lines, ...(forkAt === undefined ? {} : { forkAt }) };
}

/** Lines by the link that they follow. The signature is no part of a link: of one line there may be several texts. */
function poolOf({ host, mesh }: Wanted, lists: readonly LineList[]): ReadonlyMap<string, Line[]> {
  const pool = new Map<string, Line[]>();
  for (const list of lists) {
    for (const given of list) {
      const parsed = parseLine(given, mesh);
      if (!parsed.ok || parsed.value.log !== host) continue;
      const line = parsed.value;
      const following = pool.get(line.prev) ?? [];
      if (following.every(({ text }) => text !== line.text)) following.push(line);
      pool.set(line.prev, following);
    }
  }
  return pool;
}

/** What leads to the line that was last seen: a link commits to all that stands before it. */
function linksBefore(seen: string | undefined, pool: ReadonlyMap<string, readonly Line[]>): ReadonlySet<string> {
  const known = new Set<string>();
  if (seen === undefined) return known;
  const before = new Map([...pool.values()].flat().map(({ link, prev }) => [link, prev]));
  for (let at: string | undefined = seen; at !== undefined && before.has(at); at = before.get(at)) known.add(at);
  return known;
}

function choose(
  wanted: Wanted,
  from: { readonly seq: number; readonly link: string },
  {
    following,
    held,
    seen,
  }: {
    readonly following: readonly Line[];
    readonly held: ReadonlySet<string>;
    readonly seen: ReadonlySet<string>;
  },
): Line | 'fork' | undefined {
  if (following.length <= 1) return following[0];
  // A bad line must not hide the good one beside it.
  const signed = following.filter(({ text }) => extendLog({ ...wanted, from }, [text]).lines.length === 1);
  const links = new Set(following.map(({ link }) => link));
  const good = new Set(signed.map(({ link }) => link));
  // What was last seen may have been given other keys since: then it is not signed any more.
  const own = [...links].filter((one) => held.has(one) || (seen.has(one) && good.has(one)));
  if (own.length === 0 && good.size > 1) return 'fork';
  const [link] = [...own, ...(links.size === 1 ? links : good)];
  if (link === undefined) return undefined;
  const texts = following.filter((line) => line.link === link);
  const whole = texts.filter(({ fault }) => fault !== 'HOLE');
  return (
    whole.find((line) => signed.includes(line)) ?? whole[0] ?? texts.find((line) => signed.includes(line)) ?? texts[0]
  );
}
