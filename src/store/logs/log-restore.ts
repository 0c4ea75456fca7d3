/**
 * A log put together again from its lines alone: one commit without a parent, which follows from the lines, so that it is
 * the one that a purge of the same lines would leave.
 */
import { segmentSealBytes, segmentsMax } from '../../core/limits.ts';
import { assert } from '../../crypto/result.ts';
import { utf8Bytes } from '../../crypto/text.ts';
import { encodeCommit, encodeObject } from '../git/object-id.ts';
import { compareAndSwapRef, logBranch } from '../git/refs.ts';
import type { Repository } from '../git/repository.ts';
import { commitMessage, commitSeconds, logFull, segmentContent, type WritableLine } from './log-append.ts';
import { objectOutput, putFolders } from './log-rewrite.ts';

export interface RestoreContext {
  readonly repository: Repository;
  readonly host: string;
  readonly meshId: string;
}

/**
 * Writes every object of the log, also those that are here already, since the file of one may be damaged, and moves the
 * branch wherever it was. Durable on return; a crash leaves the old branch or the new one. @returns the commit.
 * Errors: `REF_LOCKED`, `DISK_FAILED`, `DISK_FULL`, `LOG_FULL`.
 */
export async function restoreLog(
  { repository, host, meshId }: RestoreContext,
  lines: readonly WritableLine[],
): Promise<string> {
  assert(lines.length > 0, 'a log that is restored has lines');
  const output = objectOutput(repository);
  const branch = logBranch(host);
  const files: string[] = [];
  let [open, openBytes]: [Uint8Array[], number] = [[], 0];
  const seal = async (): Promise<void> => {
    if (files.length >= segmentsMax) throw logFull(branch);
    files.push(await output.put(encodeObject('blob', segmentContent(Buffer.alloc(0), open))));
    [open, openBytes] = [[], 0];
  };
  for (const { text } of lines) {
    const bytes = utf8Bytes(text);
    if (openBytes >= segmentSealBytes) await seal();
    open.push(bytes);
    openBytes += bytes.length + 1;
  }
  await seal();
  const tree = await putFolders(output, files);
  const author = `memd <${host}@${meshId}>`;
  const seconds = commitSeconds(lines.findLast(({ body }) => body !== null));
  const message = commitMessage(branch, lines.length);
  const oid = await output.put(encodeCommit({ tree, parent: null, author, seconds, message }));
  await output.end();
  await compareAndSwapRef(repository, { ref: branch.ref, expected: undefined, next: oid });
  return oid;
}
