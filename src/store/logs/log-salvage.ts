/**
 * A log written again from its lines. Files, folders and commits follow from the lines, so what is written is byte for byte
 * what was lost, as far as it can be told; where the history cannot, one commit without a parent holds the lines, as after a
 * purge.
 */

import { parseLine } from '../../core/line.ts';
import { assert } from '../../crypto/result.ts';
import { utf8Bytes } from '../../crypto/text.ts';
import { encodeCommit, type EncodedObject } from '../git/object-id.ts';
import { writeObjects } from '../git/objects.ts';
import { compareAndSwapRef, logBranch, logRef } from '../git/refs.ts';
import type { Repository } from '../git/repository.ts';
import { commitMessage, commitSeconds } from './log-append.ts';
import { missingOutput, objectOutput, openLogTree, type ObjectOutput } from './log-output.ts';

/** A log and all of its lines, in order, each as it is to stand. Never none. */
export interface LinesOfLog {
  readonly repository: Repository;
  readonly host: string;
  readonly meshId: string;
  readonly lines: readonly string[];
}

/** A commit that holds the first lines of the log; `oid` null: none of them. */
export interface EarlierCommit {
  readonly oid: string | null;
  readonly lines: number;
}

/**
 * Writes the files and folders of these lines as far as they are not there, durably, and moves no branch. @returns the root
 * folder. Errors: `LOG_FULL`, `DISK_FAILED`, `DISK_FULL`, those of git.
 */
export async function writeTree(log: LinesOfLog): Promise<string> {
  return writeLines(log, missingOutput(log.repository));
}

async function writeLines({ host, lines }: LinesOfLog, output: ObjectOutput): Promise<string> {
  const tree = openLogTree(output, host);
  for (const line of lines) await tree.add(utf8Bytes(line));
  const root = await tree.end();
  await output.end();
  return root;
}

/**
 * Puts a log in the place of whatever its branch says: one commit without a parent, as a purge of the same lines would leave.
 * Every object is written, also those that are here, since the file of one may be damaged. Durable on return; a crash leaves
 * the old branch or the new one. @returns the commit. Errors: as `writeTree`, and `REF_LOCKED`.
 */
export async function restoreLog(log: LinesOfLog): Promise<string> {
  assert(log.lines.length > 0, 'a log that is restored has lines');
  const oid = await writeWholeCommit(log, await writeLines(log, objectOutput(log.repository)));
  await compareAndSwapRef(log.repository, { ref: logRef(log.host), expected: undefined, next: oid });
  return oid;
}

/**
 * A commit of one of these names, if it is the one that an append of the last of these lines to an earlier commit made. Then it
 * is known that nothing else was in it. @returns which one is there now, durably; undefined for none.
 */
export async function restoreCommit(
  log: LinesOfLog,
  wanted: { readonly oids: ReadonlySet<string>; readonly tree: string; readonly earlier: readonly EarlierCommit[] },
): Promise<string | undefined> {
  for (const { oid, lines } of wanted.earlier) {
    if (lines >= log.lines.length) continue;
    const commit = commitOf(log, { tree: wanted.tree, parent: oid, added: log.lines.length - lines });
    if (!wanted.oids.has(commit.oid)) continue;
    await writeObjects(log.repository, [commit]);
    return commit.oid;
  }
  return undefined;
}

/** Writes one commit without a parent over a tree, durably: the same on every host with the same lines. @returns its id. */
export async function writeWholeCommit(log: LinesOfLog, tree: string): Promise<string> {
  const commit = commitOf(log, { tree, parent: null, added: log.lines.length });
  await writeObjects(log.repository, [commit]);
  return commit.oid;
}

function commitOf(
  { host, meshId, lines }: LinesOfLog,
  { tree, parent, added }: { readonly tree: string; readonly parent: string | null; readonly added: number },
): EncodedObject {
  const at = lastTime(lines, meshId);
  const seconds = commitSeconds(at === undefined ? undefined : { text: '', body: { at } });
  const message = commitMessage(logBranch(host), added);
  return encodeCommit({ tree, parent, author: `memd <${host}@${meshId}>`, seconds, message });
}

/** Claimed time of the last line that has a body. */
function lastTime(lines: readonly string[], meshId: string): string | undefined {
  for (let at = lines.length - 1; at >= 0; at -= 1) {
    const line = parseLine(lines[at] ?? '', meshId);
    if (line.ok && line.value.body !== null) return line.value.body.at;
  }
  return undefined;
}
