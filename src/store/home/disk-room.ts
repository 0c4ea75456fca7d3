/**
 * Whether a home can be written. What a file system says of its free space is not the whole truth (quotas, blocks kept for
 * root, no file numbers left), so where little is left it is tried.
 */
import { accessSync, constants, statfsSync } from 'node:fs';
import path from 'node:path';
import { diskRoomBytesMin, diskTrialBytes } from '../../core/limits.ts';
import { realDisk, type Disk } from '../disk.ts';
import { diskError, OperatingError, readOnlyHint, systemCode } from '../errors.ts';
import type { Home } from './home.ts';

/** File numbers that are left below which it is tried. */
const filesMin = 16;

/** Bytes that this user may still write on the disk of a folder, as its file system says. Errors: `DISK_FAILED`. */
export function freeBytes(folder: string): number {
  return diskBytes(folder).free;
}

/** The same, and all bytes of that disk. Errors: `DISK_FAILED`. */
export function diskBytes(folder: string): { readonly free: number; readonly all: number } {
  try {
    const { bavail, blocks, bsize } = statfsSync(folder);
    return { free: bavail * bsize, all: blocks * bsize };
  } catch (error) {
    throw diskError(error, 'look at the disk of', folder);
  }
}

/** Whether so little is left, by its own word, that writing may fail. */
export function isShort(home: Pick<Home, 'dir'>): boolean {
  try {
    const { bavail, bsize, files, ffree } = statfsSync(home.dir);
    return bavail * bsize < diskRoomBytesMin || (files > 0 && ffree < filesMin);
  } catch {
    return true;
  }
}

/** True for a file system that is mounted read-only. Asks and writes nothing. */
export function isReadOnly(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return false;
  } catch (error) {
    return systemCode(error) === 'EROFS';
  }
}

/** DISK_READ_ONLY for a home that lies on such a file system. */
export function readOnlyFault(home: Pick<Home, 'dir' | 'repository'>): OperatingError | undefined {
  const folder = [home.dir, home.repository].find(isReadOnly);
  if (folder === undefined) return undefined;
  return new OperatingError(
    'DISK_READ_ONLY',
    `${folder} is on a file system that is mounted read-only: nothing is written`,
    {
      hint: readOnlyHint,
    },
  );
}

/** Writes a small file and removes it. @returns why that failed; undefined: there is room. Leaves nothing behind. */
export function tryRoom(home: Pick<Home, 'dir'>, disk: Disk = realDisk): OperatingError | undefined {
  const file = path.join(home.dir, `.room.tmp-${process.pid}`);
  try {
    disk.removeFile(file);
    disk.closeFile(disk.createFile(file, Buffer.alloc(diskTrialBytes), 0o600));
    disk.removeFile(file);
    return undefined;
  } catch (error) {
    return diskError(error, 'write in', home.dir);
  }
}
