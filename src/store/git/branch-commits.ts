/** Commits that no branch may reach any more, found by what this program writes into them. For repairs: it looks at everything. */

import { commitBytesMax, maintenanceDeadlineMs } from '../../core/limits.ts';
import { failedChild, runChild, wasKilled } from '../child.ts';
import { decodeCommit } from './object-id.ts';
import { listObjects } from './object-list.ts';
import { openReader } from './reader.ts';
import { gitRequest, type Repository } from './repository.ts';

/** A commit and the branch that it says it is of. */
export interface BranchCommit {
  readonly oid: string;
  readonly tree: string;
  readonly parents: readonly string[];
  /** First line of its message: `log alpha: 3 lines`. */
  readonly subject: string;
}

/** Commits read at a time. */
const commitsAtATime = 1_024;

/** Every readable commit of the object store. Errors: as `runChild`. */
export async function listCommits(repository: Repository): Promise<readonly BranchCommit[]> {
  const oids = await listObjects(repository, ({ type }) => type === 'commit');
  const found: BranchCommit[] = [];
  const reader = openReader(repository, { deadlineMs: maintenanceDeadlineMs });
  try {
    for (let start = 0; start < oids.length; start += commitsAtATime) {
      const batch = oids.slice(start, start + commitsAtATime);
      for (const answer of await reader.read(batch, { type: 'commit', bytesMax: commitBytesMax })) {
        const header = answer.ok ? decodeCommit(answer.content) : undefined;
        if (!answer.ok || header === undefined) continue;
        const [, subject = ''] = /\n\n([^\n]{0,200})/.exec(answer.content.toString('latin1')) ?? [];
        found.push({ oid: answer.oid, ...header, subject });
      }
    }
  } finally {
    await reader.close();
  }
  return found;
}

/** The commits of a branch that no other commit of it builds on. `branch`: `log alpha`, `view alpha`, `trust`. Pure. */
export function tipsOf(commits: readonly BranchCommit[], branch: string): readonly BranchCommit[] {
  const own = commits.filter(({ subject }) => subject.startsWith(`${branch}: `));
  const built = new Set(own.flatMap(({ parents }) => parents));
  return own.filter(({ oid }) => !built.has(oid));
}

/** Whether everything that a commit reaches is there. Content is not looked at: a damaged file must be out of the way. Errors: as `runChild`, `CHILD_FAILED`. */
export async function isWhole(repository: Repository, commit: string): Promise<boolean> {
  const args = ['rev-list', '--objects', '--quiet', commit];
  const request = gitRequest(repository, { args, deadlineMs: maintenanceDeadlineMs });
  const result = await runChild(request);
  if (wasKilled(result.code)) throw failedChild(request, result);
  return result.code === 0;
}
