/**
 * A manifest and the files beside it, as somebody who was handed a folder reads them: bounded, plain files only, nothing
 * followed out of the folder. It may be read while memd replaces it.
 */
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { manifestBytesMax } from '../core/limits.ts';
import { assert } from '../crypto/result.ts';
import { diskError, systemCode } from './errors.ts';

/** Bytes of a view file that is read at all: the views of a large mesh have a few. */
const viewFileBytesMax: number = 256 * 1_024 * 1_024;

const chunkBytes = 1_048_576;

/**
 * The bytes of a manifest, at most one more than `manifestBytesMax`; undefined when it is not there, null when it is no
 * plain file. Errors: `DISK_FAILED`.
 */
export function readManifestFile(file: string): Buffer | null | undefined {
  return openPlain(file, { follow: true }, (descriptor) => {
    const bytes = Buffer.alloc(manifestBytesMax + 1);
    let length = 0;
    for (let read = 1; read > 0 && length < bytes.length; length += read)
      read = fs.readSync(descriptor, bytes, length, bytes.length - length, null);
    return bytes.subarray(0, length);
  });
}

/**
 * By name: sha256 (64 hex) of each of these files in a folder; undefined for one that is missing, null for one that is no
 * plain file or longer than `viewFileBytesMax`. Errors: `DISK_FAILED`.
 */
export function hashFiles(folder: string, names: Iterable<string>): ReadonlyMap<string, string | null | undefined> {
  return new Map(
    [...names].map((name) => {
      assert(path.basename(name) === name && !name.startsWith('.'), 'a view file has a plain name');
      return [name, openPlain(path.join(folder, name), { follow: false }, hashOf)];
    }),
  );
}

function hashOf(descriptor: number): string | null {
  if (fs.fstatSync(descriptor).size > viewFileBytesMax) return null;
  const hash = createHash('sha256');
  const chunk = Buffer.alloc(chunkBytes);
  for (let bytes = 0; bytes <= viewFileBytesMax;) {
    const read = fs.readSync(descriptor, chunk, 0, chunk.length, null);
    if (read === 0) return hash.digest('hex');
    hash.update(chunk.subarray(0, read));
    bytes += read;
  }
  return null;
}

/** `undefined`: not there. `null`: not a plain file. A pipe or device is not waited for. */
function openPlain<T>(
  file: string,
  { follow }: { readonly follow: boolean },
  read: (descriptor: number) => T,
): T | null | undefined {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
  try {
    const descriptor = fs.openSync(file, O_RDONLY | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW));
    try {
      return fs.fstatSync(descriptor).isFile() ? read(descriptor) : null;
    } finally {
      fs.closeSync(descriptor);
    }
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    if (code === 'ELOOP' || code === 'ENXIO') return null;
    throw diskError(error, 'read', file);
  }
}
