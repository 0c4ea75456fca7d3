/** Folders and files below the home that memd itself made: never through a symbolic link, never somebody else's. */

import fs from 'node:fs';
import path from 'node:path';
import { OperatingError } from './errors.ts';

function unsafe(file: string, reason: string): OperatingError {
  return new OperatingError('FILE_UNSAFE', `${file} ${reason}`, { hint: `look at it, then remove it: rm ${file}` });
}

/**
 * Makes `root/part/part…` where missing and checks every component below `root`: a real folder, ours.
 * Errors: `FILE_UNSAFE`; system errors as they are.
 */
export function openFolder(root: string, parts: readonly string[]): string {
  let folder = root;
  for (const part of parts) {
    folder = path.join(folder, part);
    const status = fs.lstatSync(folder, { throwIfNoEntry: false });
    if (status === undefined) fs.mkdirSync(folder, { mode: 0o700 });
    else checkFolder(folder, status);
  }
  return folder;
}

function checkFolder(folder: string, status: fs.Stats): void {
  if (status.isSymbolicLink()) throw unsafe(folder, 'is a symbolic link; nothing is written through it');
  if (!status.isDirectory()) throw unsafe(folder, 'is not a folder');
  const uid = process.getuid?.();
  if (uid !== undefined && status.uid !== uid) throw unsafe(folder, `belongs to user id ${status.uid}`);
}

/** Reads a plain file in such a folder; undefined when there is none. Errors: `FILE_UNSAFE` (a link, a folder, a device). */
export function readPlainFile(file: string): Buffer | undefined {
  const status = fs.lstatSync(file, { throwIfNoEntry: false });
  if (status === undefined) return undefined;
  if (!status.isFile()) throw unsafe(file, 'is not a plain file');
  const descriptor = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK);
  try {
    return fs.readFileSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}
