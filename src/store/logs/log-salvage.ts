/**
 * A log written again from its lines. Files, folders and commits follow from the lines, so what is written is byte for byte
 * what was lost, as far as it can be told; where the history cannot, one commit without a parent holds the lines, as after a
 * purge.
 */

import { segmentSealBytes, segmentsMax } from '../../core/limits.ts';
import { parseLine } from '../../core/line.ts';
import { utf8Bytes } from '../../crypto/text.ts';
import { encodeCommit, encodeObject, type EncodedObject } from '../git/object-id.ts';
import { writeObjects } from '../git/objects.ts';
import { openReader } from '../git/reader.ts';
import { logBranch } from '../git/refs.ts';
import type { Repository } from '../git/repository.ts';
import { commitMessage, commitSeconds, logFull, segmentContent } from './log-append.ts';
import { putFolders, type ObjectOutput } from './log-rewrite.ts';

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
export async function writeTree({ repository, host, lines }: LinesOfLog): Promise<string> {
  const output = missingOutput(repository);
  const files: string[] = [];
  let [open, bytes]: [Uint8Array[], number] = [[], 0];
  const seal = async (): Promise<void> => {
    if (files.length >= segmentsMax) throw logFull(logBranch(host));
    files.push(await output.put(encodeObject('blob', segmentContent(Buffer.alloc(0), open))));
    [open, bytes] = [[], 0];
  };
  for (const line of lines) {
    if (bytes >= segmentSealBytes) await seal();
    const data = utf8Bytes(line);
    open.push(data);
    bytes += data.length + 1;
  }
  await seal();
  const root = await putFolders(output, files);
  await output.end();
  return root;
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

/** Objects looked for, and written, at a time. */
const objectsAtATime = 128;

/** Writes only what is not there: most of a damaged log is sound, and may lie in a pack. */
function missingOutput(repository: Repository): ObjectOutput {
  let waiting = new Map<string, EncodedObject>();
  const end = async (): Promise<void> => {
    const objects = [...waiting.values()];
    waiting = new Map();
    const reader = openReader(repository);
    try {
      const there = await reader.info(objects.map(({ oid }) => oid));
      await writeObjects(
        repository,
        objects.filter((_, index) => there[index] === null),
      );
    } finally {
      await reader.close();
    }
  };
  return {
    async put(object) {
      waiting.set(object.oid, object);
      if (waiting.size >= objectsAtATime) await end();
      return object.oid;
    },
    end,
  };
}
