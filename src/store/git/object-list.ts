/** Every object that a repository holds, reached by a branch or not. */

import { maintenanceDeadlineMs, objectListBytesMax } from '../../core/limits.ts';
import { failedChild, runChild, wasKilled } from '../child.ts';
import { gitRequest, type Repository } from './repository.ts';

/** An object as git lists it: what it is, without having read it. */
export interface ListedObject {
  readonly type: string;
  readonly bytes: number;
}

/** Ids of the objects that are wanted, in no order, as far as damage lets git list them. Errors: as `runChild`, `CHILD_FAILED`. */
export async function listObjects(
  repository: Repository,
  isWanted: (object: ListedObject) => boolean,
): Promise<readonly string[]> {
  const format = '%(objecttype) %(objectname) %(objectsize)';
  const args = ['cat-file', '--batch-all-objects', '--unordered', `--batch-check=${format}`];
  const call = { args, outputBytesMax: objectListBytesMax, deadlineMs: maintenanceDeadlineMs };
  const request = gitRequest(repository, call);
  const result = await runChild(request);
  if (wasKilled(result.code)) throw failedChild(request, result);
  return result.stdout
    .toString('latin1')
    .split('\n')
    .flatMap((line) => {
      const [, type, oid, bytes] = /^([a-z]+) ([0-9a-f]{40}) (\d+)$/.exec(line) ?? [];
      return type !== undefined && oid !== undefined && isWanted({ type, bytes: Number(bytes) }) ? oid : [];
    });
}
