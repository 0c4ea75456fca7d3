/** The objects of a whole log, written from its lines: files, the folders above them, some at a time. */

import { segmentFanout, segmentSealBytes, segmentsMax } from '../../core/limits.ts';
import { encodeObject, encodeTree, type EncodedObject } from '../git/object-id.ts';
import { writeObjects } from '../git/objects.ts';
import { openReader } from '../git/reader.ts';
import { logBranch } from '../git/refs.ts';
import type { Repository } from '../git/repository.ts';
import { logFull, segmentContent } from './log-append.ts';

/** Writes objects some at a time: a log has more files than may be open. */
export interface ObjectOutput {
  readonly put: (object: EncodedObject) => Promise<string>;
  /** Durable on return. Errors of both: `DISK_FAILED`, `DISK_FULL`, those of git. */
  readonly end: () => Promise<void>;
}

/** Objects that are looked for, and open for flushing, at once. */
const objectsAtATime = 128;

/** Writes every object, also one that is here: its file may be damaged. */
export function objectOutput(repository: Repository): ObjectOutput {
  return outputThrough((objects) => writeObjects(repository, objects));
}

/** Writes only what is not there: most of a damaged log is sound, and may lie in a pack. */
export function missingOutput(repository: Repository): ObjectOutput {
  return outputThrough(async (objects) => {
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
  });
}

function outputThrough(write: (objects: readonly EncodedObject[]) => Promise<void>): ObjectOutput {
  let waiting = new Map<string, EncodedObject>();
  const end = async (): Promise<void> => {
    const objects = [...waiting.values()];
    waiting = new Map();
    await write(objects);
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

/** The tree of a log under construction. */
export interface LogTree {
  /** Errors: `LOG_FULL`, those of the output. */
  readonly add: (line: Uint8Array) => Promise<void>;
  /** Writes the last file and the folders. @returns the root; the output is still to be ended. Errors: as `add`. */
  readonly end: () => Promise<string>;
}

/** Begins the tree of a log behind files that stay as they are. A log without lines has one empty file. */
export function openLogTree(output: ObjectOutput, host: string, before: readonly string[] = []): LogTree {
  const files = [...before];
  let [open, bytes]: [Uint8Array[], number] = [[], 0];
  const seal = async (): Promise<void> => {
    if (files.length >= segmentsMax) throw logFull(logBranch(host));
    files.push(await output.put(encodeObject('blob', segmentContent(Buffer.alloc(0), open))));
    [open, bytes] = [[], 0];
  };
  return {
    async add(line) {
      if (bytes >= segmentSealBytes) await seal();
      open.push(line);
      bytes += line.length + 1;
    },
    async end() {
      await seal();
      return putFolders(output, files);
    },
  };
}

/** The folders over the files of a log, from the leaves up. @returns the root. */
async function putFolders(output: ObjectOutput, files: readonly string[]): Promise<string> {
  let level: readonly string[] = files;
  for (const leaf of [true, false, false]) {
    const folders: string[] = [];
    for (let start = 0; start < level.length; start += segmentFanout) {
      const entries = level.slice(start, start + segmentFanout).map((oid, index) => ({
        name: `${String(index).padStart(2, '0')}${leaf ? '.jsonl' : ''}`,
        oid,
        folder: !leaf,
      }));
      folders.push(await output.put(encodeTree(entries)));
    }
    level = folders;
  }
  return level[0] ?? '';
}
