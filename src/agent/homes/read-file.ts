/** `file:` homes. */
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { homeFileBytesMax } from '../../core/limits.ts';
import { systemCode } from '../../store/errors.ts';
import { branchNote } from '../git-folder.ts';
import { placeOf, placeOfAbsolute, type HomeRoot } from './path-rules.ts';
import { notAllowed, unchecked, type Found } from './reading.ts';

/** Where files may be looked for. */
export interface FileLook {
  readonly roots: readonly HomeRoot[];
  /** Real paths of folders that are never read, whatever the roots are. */
  readonly closed: readonly string[];
  /** Scope of the claim. */
  readonly scope: string;
  /** Slug of this host. */
  readonly host: string;
}

/** Reads the file that a home names, whole. */
export function readFileHome(home: { readonly host: string | null; readonly path: string }, look: FileLook): Found {
  if (home.host !== null && home.host !== look.host) return unchecked(`it is a file of host ${home.host}`);
  const place = isAbsolute(home.path) ? absolutePlace(home, look) : placeOf(home.path, look);
  if (place.kind !== 'placed') return place;
  const bytes = readBounded(place.path);
  if (!Buffer.isBuffer(bytes)) return bytes;
  const note = branchNote(place.path);
  return {
    kind: 'found',
    bytes,
    from: place.path,
    markdown: /\.(?:md|markdown|mdx)$/i.test(place.path),
    notes: note === undefined ? [] : [note],
  };
}

function absolutePlace(home: { readonly host: string | null; readonly path: string }, look: FileLook) {
  // Without a host in front an absolute path names another file on each of them.
  return home.host === null ? notAllowed('an absolute path without a host') : placeOfAbsolute(home.path, look);
}

/**
 * The bytes of a plain file of bearable size. Its kind and size are looked at before it is opened, and again on what was
 * opened: a pipe would block, and the path may have changed in between.
 */
function readBounded(path: string): Buffer | Found {
  try {
    const status = lstatSync(path);
    const fault = fileFault(status);
    if (fault !== undefined) return unchecked(fault);
    const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const opened = fstatSync(file);
      if (opened.ino !== status.ino || opened.dev !== status.dev) return unchecked('it was replaced while it was read');
      const buffer = Buffer.alloc(homeFileBytesMax + 1);
      let length = 0;
      for (let read = -1; read !== 0 && length < buffer.length; length += read) {
        read = readSync(file, buffer, length, buffer.length - length, null);
      }
      if (length > homeFileBytesMax) return unchecked(tooLarge(length));
      return buffer.subarray(0, length);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    return unchecked(`${path} cannot be read (${systemCode(error)})`);
  }
}

function fileFault(status: { isDirectory(): boolean; isFile(): boolean; size: number }): string | undefined {
  if (status.isDirectory()) return 'it is a folder';
  if (!status.isFile()) return 'it is no plain file';
  return status.size > homeFileBytesMax ? tooLarge(status.size) : undefined;
}

export function tooLarge(bytes: number): string {
  return `it has ${bytes} bytes, at most ${homeFileBytesMax} are read`;
}
