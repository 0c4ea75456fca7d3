/**
 * Packs that git makes in a folder of its own: a child that dies, or finds the disk full, leaves its temporary files where
 * they can be told from everything else. What is good is moved in, durably.
 */
import fs from 'node:fs';
import path from 'node:path';
import { syncDirectories } from '../disk.ts';
import { diskError } from '../errors.ts';
import type { Repository } from './repository.ts';

/** Makes an empty object folder below `quarantine/`, which the start-up sweep empties. Errors: `DISK_FAILED`, `DISK_FULL`. */
export function makeObjectFolder(repository: Pick<Repository, 'gitDir'>, name: string): string {
  const folder = path.join(repository.gitDir, 'quarantine', name);
  try {
    fs.mkdirSync(path.join(folder, 'pack'), { recursive: true, mode: 0o700 });
    return folder;
  } catch (error) {
    removeObjectFolder(folder);
    throw diskError(error, 'make', folder);
  }
}

/** Removes it with all that it holds. Never throws: what stays is swept at the next start. */
export function removeObjectFolder(folder: string): void {
  try {
    fs.rmSync(folder, { recursive: true, force: true });
  } catch {
    // The error that led here is the one to hear of.
  }
}

/**
 * Moves the packs of another object folder into ours, the index last, since git sees a pack by it. Where git made none, all
 * that it was to hold is here already, perhaps from a crash: then every pack of ours is flushed. Durable on return.
 * Errors: `DISK_FAILED`, `DISK_FULL`; then a pack may be there without its index, which nobody sees.
 */
export async function adoptPacks(repository: Repository, objectDir: string): Promise<void> {
  const { disk } = repository;
  const from = path.join(objectDir, 'pack');
  const to = path.join(repository.objectDir, 'pack');
  try {
    const names = packFiles(from);
    const indexLast = names.toSorted((left, right) => Number(left.endsWith('.idx')) - Number(right.endsWith('.idx')));
    const flushed = names.length > 0 ? names.map((name) => path.join(from, name)) : pathsIn(to);
    for (const file of flushed) await syncPath(repository, file);
    for (const name of indexLast) disk.rename(path.join(from, name), path.join(to, name));
  } catch (error) {
    throw diskError(error, 'take over a pack from', from);
  }
  await syncDirectories(disk, [to, repository.objectDir]);
}

function packFiles(folder: string): readonly string[] {
  return fs.readdirSync(folder).filter((name) => /^pack-[0-9a-f]{40,64}\.(pack|idx|rev)$/.test(name));
}

function pathsIn(folder: string): readonly string[] {
  return packFiles(folder).map((name) => path.join(folder, name));
}

async function syncPath({ disk }: Repository, file: string): Promise<void> {
  const descriptor = fs.openSync(file, fs.constants.O_RDONLY);
  try {
    await disk.syncFile(descriptor, file);
  } finally {
    fs.closeSync(descriptor);
  }
}
