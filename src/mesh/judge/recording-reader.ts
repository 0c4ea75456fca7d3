/**
 * An object reader that remembers what it read: what admission looked at is exactly what may be written to our store.
 * Folders are kept over fetches, by id: a log of a million lines has hundreds of them and an append changes three.
 */
import { encodeObject, type EncodedObject } from '../../store/git/object-id.ts';
import {
  openReader,
  type ObjectFault,
  type ObjectReader,
  type ReadLimits,
  type ReadObject,
} from '../../store/git/reader.ts';
import type { ObjectView } from '../../store/git/repository.ts';

/** Folders by id. An id names content, so a verified entry never goes stale, whichever store it came from. */
export interface FolderCache {
  get(oid: string): ReadObject | undefined;
  put(folder: ReadObject): void;
}

/** Folders kept: 2 kB each at most. Oldest out first. */
const foldersMax = 4_096;

export function folderCache(): FolderCache {
  const folders = new Map<string, ReadObject>();
  return {
    get: (oid) => folders.get(oid),
    put(folder) {
      const kept = folders.get(folder.oid) ?? { ...folder, content: ownBytes(folder.content) };
      folders.delete(folder.oid);
      folders.set(folder.oid, kept);
      const oldest = folders.keys().next().value;
      if (folders.size > foldersMax && oldest !== undefined) folders.delete(oldest);
    },
  };
}

/** What is read is a part of 64 kB that came out of a pipe, and would keep all of it: 256 MB for all folders. */
function ownBytes(content: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(content.length);
  content.copy(own);
  return own;
}

/** A reader whose reads are remembered until `close`. */
export interface RecordingReader extends ObjectReader {
  /** Ids of everything read, folders from the cache included. */
  seen(): ReadonlySet<string>;
  /** The objects read, encoded for our store, without those in `except`. Empty when not recording contents. */
  objects(except: ReadonlySet<string>): readonly EncodedObject[];
}

/** `keep`: also remember contents, which is for small fetches only. */
export function recordingReader(
  view: ObjectView,
  options: { readonly cache: FolderCache; readonly keep: boolean; readonly deadlineMs: number },
): RecordingReader {
  const { cache, keep } = options;
  const reader = openReader(view, { deadlineMs: options.deadlineMs });
  const seen = new Set<string>();
  const kept = new Map<string, ReadObject>();

  function remember(answer: ReadObject | ObjectFault): void {
    if (!answer.ok) return;
    seen.add(answer.oid);
    if (keep) kept.set(answer.oid, answer);
    if (answer.type === 'tree') cache.put(answer);
  }

  async function read(oids: readonly string[], limits: ReadLimits): Promise<(ReadObject | ObjectFault)[]> {
    const known = limits.type === 'tree' ? oids.map((oid) => cache.get(oid)) : oids.map(() => undefined);
    const missing = oids.filter((_oid, index) => known[index] === undefined);
    const fresh = missing.length === 0 ? [] : await reader.read(missing, limits);
    let next = 0;
    const answers = known.map((answer) => answer ?? (fresh[next++] as ReadObject | ObjectFault));
    answers.forEach(remember);
    return answers;
  }

  return {
    info: (oids) => reader.info(oids),
    read,
    close: () => reader.close(),
    seen: () => seen,
    objects: (except) =>
      [...kept.values()]
        .filter(({ oid }) => !except.has(oid))
        .map(({ type, content }) => encodeObject(type as EncodedObject['type'], content)),
  };
}
