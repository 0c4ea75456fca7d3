/**
 * The few disk operations that durability hangs on, as one seam: tests put faults, crashes and a power cut behind it.
 * Small operations are synchronous (a thread-pool round trip costs more than they do); only fsync waits off the main
 * thread, so a slow disk never stops the ssh server or the local socket, and fsyncs of one batch run side by side.
 */

import fs from 'node:fs';
import path from 'node:path';
import { diskError, systemCode } from './errors.ts';

/**
 * Durability contract: `createFile` and `rename` are visible at once and durable only after `syncFile` of the file
 * *and* `syncDirectory` of the folder that got the name. Each call either happened or threw; after a throw the caller
 * must assume that it may have happened (an error can be reported for a write that persisted).
 */
export interface Disk {
  /** Creates a file that must not exist yet, with all of `data`; returns an open descriptor for `syncFile`. */
  createFile(file: string, data: Uint8Array, mode: number): number;
  /** Flushes a file's bytes. The descriptor stays open. */
  syncFile(descriptor: number, file: string): Promise<void>;
  closeFile(descriptor: number): void;
  /** Replaces `to` atomically. */
  rename(from: string, to: string): void;
  /** Makes one folder; false when it was there already. */
  makeDirectory(directory: string, mode: number): boolean;
  /** Flushes the names in a folder. */
  syncDirectory(directory: string): Promise<void>;
  /** Removes a file; false when there was none. */
  removeFile(file: string): boolean;
}

function fsync(descriptor: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fs.fsync(descriptor, (error) => (error === null ? resolve() : reject(error)));
  });
}

/** Writes all of it; a system may take a part only. Throws system errors. */
export function writeAll(descriptor: number, data: Uint8Array): void {
  for (let offset = 0; offset < data.length;) offset += fs.writeSync(descriptor, data, offset, data.length - offset);
}

function createFile(file: string, data: Uint8Array, mode: number): number {
  const descriptor = fs.openSync(
    file,
    fs.constants.O_WRONLY | fs.constants.O_CREAT | fs.constants.O_EXCL | fs.constants.O_NOFOLLOW,
    mode,
  );
  try {
    writeAll(descriptor, data);
    return descriptor;
  } catch (error) {
    fs.closeSync(descriptor);
    fs.rmSync(file, { force: true });
    throw error;
  }
}

function makeDirectory(directory: string, mode: number): boolean {
  try {
    fs.mkdirSync(directory, { mode });
    return true;
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    throw error;
  }
}

async function syncDirectory(directory: string): Promise<void> {
  const descriptor = fs.openSync(directory, fs.constants.O_RDONLY);
  try {
    await fsync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

function removeFile(file: string): boolean {
  try {
    fs.unlinkSync(file);
    return true;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false;
    throw error;
  }
}

/** The real disk. */
export const realDisk: Disk = {
  createFile,
  syncFile: fsync,
  closeFile: (descriptor) => fs.closeSync(descriptor),
  rename: (from, to) => fs.renameSync(from, to),
  makeDirectory,
  syncDirectory,
  removeFile,
};

/** Makes a folder and its missing parents below `root`; adds every folder that got a new name to `touched`. */
export function makeDirectories(
  disk: Disk,
  options: { root: string; directory: string; touched: Set<string>; mode?: number },
): void {
  const { root, directory, touched, mode = 0o700 } = options;
  if (directory === root || fs.existsSync(directory)) return;
  const parent = path.dirname(directory);
  makeDirectories(disk, { root, directory: parent, touched, mode });
  if (disk.makeDirectory(directory, mode)) touched.add(parent);
}

/** Flushes folders side by side. Throws `DISK_FAILED` or `DISK_FULL`, naming the first folder that failed. */
export async function syncDirectories(disk: Disk, directories: Iterable<string>): Promise<void> {
  await Promise.all(
    [...directories].map((directory) =>
      disk.syncDirectory(directory).catch((error: unknown) => {
        throw diskError(error, 'make durable', directory);
      }),
    ),
  );
}

/** Removes what a write that failed left. Never throws: the error that led here is the one to hear of. */
export function removeQuietly(disk: Pick<Disk, 'removeFile'>, file: string): void {
  try {
    disk.removeFile(file);
  } catch {
    // It is swept at the next start.
  }
}

/**
 * Replaces a small file so that a crash leaves the old or the new one, never a torn one; durable on return.
 * Errors: `DISK_FAILED`, `DISK_FULL`.
 */
export async function replaceFile(
  disk: Disk,
  options: { file: string; data: Uint8Array; mode?: number },
): Promise<void> {
  const { file, data, mode = 0o600 } = options;
  const temporary = `${file}.tmp-${process.pid}`;
  try {
    disk.removeFile(temporary);
    const descriptor = disk.createFile(temporary, data, mode);
    try {
      await disk.syncFile(descriptor, temporary);
    } finally {
      disk.closeFile(descriptor);
    }
    disk.rename(temporary, file);
    await disk.syncDirectory(path.dirname(file));
  } catch (error) {
    removeQuietly(disk, temporary);
    throw diskError(error, 'replace', file);
  }
}
