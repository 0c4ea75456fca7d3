/**
 * The commits between what we hold and what a peer offers. A log is linear: one parent each. What a commit says besides
 * its tree and parents (names, dates, message) is never used.
 */
import { commitBytesMax, fetchRoundCommitsMax } from '../../core/limits.ts';
import { ok, refuse, type Result } from '../../crypto/result.ts';
import { decodeCommit } from '../../store/git/object-id.ts';
import type { ObjectReader } from '../../store/git/reader.ts';
import { runGit, type ObjectView } from '../../store/git/repository.ts';
import { isObjectId } from '../fetch/fetch-v2.ts';

/** Commits in order, oldest first, the offered one last. `descends`: the first one's parent is the commit we hold. */
export interface CommitChain {
  readonly commits: readonly string[];
  readonly descends: boolean;
}

export type CommitChainFault = 'COMMIT_CHAIN' | 'NOT_A_COMMIT' | 'MISSING_OBJECT' | 'TOO_LARGE';

/**
 * Walks back from `commit` by reading commit after commit: for a few. Stops at `base` (null: at the root), and with
 * `descends: false` after `commitsMax` commits or at another root: then the history is another one than ours.
 */
export async function walkCommits(
  reader: ObjectReader,
  ends: { readonly commit: string; readonly base: string | null; readonly commitsMax: number },
): Promise<Result<CommitChain, CommitChainFault>> {
  const commits: string[] = [];
  let next: string | null = ends.commit;
  while (next !== ends.base) {
    if (next === null || commits.length >= ends.commitsMax)
      return ok({ commits: commits.toReversed(), descends: false });
    const [object] = await reader.read([next], { type: 'commit', bytesMax: commitBytesMax });
    if (object === undefined || !object.ok) {
      return refuse(
        object?.code === 'MISSING' ? 'MISSING_OBJECT' : 'NOT_A_COMMIT',
        `${next}: ${object?.detail ?? 'no answer'}`,
      );
    }
    const header = decodeCommit(object.content);
    if (header === undefined) return refuse('NOT_A_COMMIT', `${next} has no tree`);
    if (header.parents.length > 1) return refuse('COMMIT_CHAIN', `${next} is a merge; a log is linear`);
    commits.push(next);
    next = header.parents[0] ?? null;
  }
  return ok({ commits: commits.toReversed(), descends: true });
}

interface ChainEnds {
  readonly commit: string;
  readonly base: string | null;
  readonly commitsMax: number;
  readonly deadlineMs: number;
}

/** The same by `git rev-list`: for many. Never `descends: false` for being long; longer than `commitsMax` is refused. */
export async function listCommits(view: ObjectView, ends: ChainEnds): Promise<Result<CommitChain, CommitChainFault>> {
  const direct = await listDown(view, ends);
  if (ends.base === null || !direct.ok || direct.value.descends) return direct;
  return listBeside(view, ends, ends.base);
}

/** Rows of one `rev-list`: git holds every commit that it has walked over, so a long history is walked in pieces. */
const rowsMax = fetchRoundCommitsMax;

/** Down to the base, or to the root. `descends: false`: the base was not met. */
async function listDown(view: ObjectView, ends: ChainEnds): Promise<Result<CommitChain, CommitChainFault>> {
  const { commit, base, commitsMax, deadlineMs } = ends;
  const newestFirst: string[] = [];
  let next: string | null = commit;
  while (next !== null && next !== base) {
    const count = Math.min(rowsMax, commitsMax + 1 - newestFirst.length);
    const rows: Rows = await listRows(view, { range: [next], count, deadlineMs });
    if (!rows.ok) return rows;
    const upto: number = base === null ? -1 : rows.value.commits.indexOf(base);
    newestFirst.push(...(upto < 0 ? rows.value.commits : rows.value.commits.slice(0, upto)));
    next = upto < 0 ? rows.value.next : base;
    if (newestFirst.length <= commitsMax) continue;
    if (base !== null) break;
    return refuse('TOO_LARGE', `more than ${commitsMax} commits`);
  }
  return ok({ commits: newestFirst.toReversed(), descends: next === base });
}

/** A history that does not lead to our base: what of it our base does not lead to either. */
async function listBeside(
  view: ObjectView,
  { commit, commitsMax, deadlineMs }: ChainEnds,
  base: string,
): Promise<Result<CommitChain, CommitChainFault>> {
  const rows = await listRows(view, { range: [commit, `^${base}`], count: commitsMax + 1, deadlineMs });
  if (!rows.ok) return rows;
  const { commits } = rows.value;
  if (commits.length > commitsMax) return refuse('TOO_LARGE', `more than ${commitsMax} commits`);
  return ok({ commits: commits.toReversed(), descends: rows.value.next === base });
}

/** Newest first; `next`: the parent of the last one. */
type Rows = Result<{ readonly commits: readonly string[]; readonly next: string | null }, CommitChainFault>;

async function listRows(
  view: ObjectView,
  what: { readonly range: readonly [string, ...string[]]; readonly count: number; readonly deadlineMs: number },
): Promise<Rows> {
  const { range, count, deadlineMs } = what;
  const [commit] = range;
  const args = ['rev-list', '--parents', `--max-count=${count}`, ...range];
  const listed = await runGit(view, { args, deadlineMs, alsoOk: [128] });
  if (listed.code !== 0) return refuse('NOT_A_COMMIT', `${commit} is not a commit with a whole history`);
  const commits: string[] = [];
  let expected: string | null = commit;
  for (const row of listed.stdout.toString('latin1').split('\n').slice(0, -1)) {
    const [oid, parent, ...more] = row.split(' ');
    if (oid !== expected || !isObjectId(oid) || more.length > 0)
      return refuse('COMMIT_CHAIN', `the history of ${commit} is not linear`);
    commits.push(oid);
    expected = parent ?? null;
  }
  return ok({ commits, next: expected });
}
