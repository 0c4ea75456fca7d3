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

/**
 * Follows the chain from the start. Where two lines follow, the one that is in `own` (links of what the branch has, verified)
 * is taken. Of two others that the host signed neither is.
 */
export function assembleLog(wanted: Wanted, own: ReadonlySet<string>, lists: readonly LineList[]): Assembly {
  const pool = poolOf(wanted, lists);
  const texts: string[] = [];
  let [at, forkAt]: [{ seq: number; link: string }, number | undefined] = [{ seq: 0, link: wanted.mesh }, undefined];
  for (;;) {
    const next = choose(wanted, at, { following: pool.get(at.link) ?? [], own });
    if (next === 'fork') forkAt = at.seq + 1;
    if (next === undefined || next === 'fork') break;
    texts.push(next.text);
    at = next;
  }
  const { lines } = extendLog({ ...wanted, from: { seq: 0, link: wanted.mesh } }, texts);
  return { lines, ...(forkAt === undefined ? {} : { forkAt }) };
}

/** Lines by the link that they follow; of one line the form with a body. */
function poolOf({ host, mesh }: Wanted, lists: readonly LineList[]): ReadonlyMap<string, Line[]> {
  const pool = new Map<string, Line[]>();
  for (const list of lists) {
    for (const given of list) {
      const parsed = parseLine(given, mesh);
      if (!parsed.ok || parsed.value.log !== host) continue;
      const line = parsed.value;
      const following = pool.get(line.prev) ?? [];
      const same = following.findIndex(({ link }) => link === line.link);
      if (same < 0) following.push(line);
      else if (following[same]?.fault === 'HOLE') following[same] = line;
      pool.set(line.prev, following);
    }
  }
  return pool;
}

function choose(
  wanted: Wanted,
  from: { readonly seq: number; readonly link: string },
  { following, own }: { readonly following: readonly Line[]; readonly own: ReadonlySet<string> },
): Line | 'fork' | undefined {
  if (following.length <= 1) return following[0];
  const held = following.find(({ link }) => own.has(link));
  if (held !== undefined) return held;
  // A bad line must not hide the good one beside it.
  const signed = following.filter(({ text }) => extendLog({ ...wanted, from }, [text]).lines.length === 1);
  return signed.length > 1 ? 'fork' : signed[0];
}
