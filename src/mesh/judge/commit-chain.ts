/**
 * The commits between what we hold and what a peer offers. A log is linear: one parent each. What a commit says besides
 * its tree and parents (names, dates, message) is never used.
 */
import { commitBytesMax } from '../../core/limits.ts';
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

/** The same by one `git rev-list`: for many. Never `descends: false` for being long; longer than `commitsMax` is refused. */
export async function listCommits(
  view: ObjectView,
  ends: {
    readonly commit: string;
    readonly base: string | null;
    readonly commitsMax: number;
    readonly deadlineMs: number;
  },
): Promise<Result<CommitChain, CommitChainFault>> {
  const { commit, base, commitsMax } = ends;
  const range = base === null ? [commit] : [commit, `^${base}`];
  const listed = await runGit(view, {
    args: ['rev-list', '--parents', `--max-count=${commitsMax + 1}`, ...range],
    deadlineMs: ends.deadlineMs,
    alsoOk: [128],
  });
  if (listed.code !== 0) return refuse('NOT_A_COMMIT', `${commit} is not a commit with a whole history`);
  const rows = listed.stdout.toString('latin1').split('\n').slice(0, -1);
  if (rows.length > commitsMax) return refuse('TOO_LARGE', `more than ${commitsMax} commits`);
  const commits: string[] = [];
  let expected: string | null = commit;
  for (const row of rows) {
    const [oid, parent, ...more] = row.split(' ');
    if (oid !== expected || !isObjectId(oid) || more.length > 0)
      return refuse('COMMIT_CHAIN', `the history of ${commit} is not linear`);
    commits.push(oid);
    expected = parent ?? null;
  }
  return ok({ commits: commits.toReversed(), descends: expected === base });
}
