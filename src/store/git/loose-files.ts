/** Loose objects: counting them, and removing those that packs hold, while appends go on. */
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { syncDirectories } from '../disk.ts';
import { diskError, systemCode } from '../errors.ts';
import { idsAt, listPacks } from './pack-index.ts';
import type { Repository } from './repository.ts';

/** Removed names wait in the journal of the file system, and who flushes next waits for all of them: a few at a time. */
const sliceFiles = 16;
const slicePauseMs = 4;

const fans: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** How many there are. Errors: `DISK_FAILED`. */
export async function countLoose({ objectDir }: Pick<Repository, 'objectDir'>): Promise<number> {
  let count = 0;
  for (const fan of fans) count += (await looseIn(path.join(objectDir, fan))).length;
  return count;
}

async function looseIn(folder: string): Promise<readonly string[]> {
  try {
    return (await fs.promises.readdir(folder)).filter((name) => /^[0-9a-f]{38}$/.test(name));
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw diskError(error, 'read', folder);
  }
}

/**
 * Removes the files of objects that packs hold which are here now, and folders that are empty then. A pack that is being
 * moved in meanwhile does not count: its name is not durable yet. (So it is not left to `git prune-packed`.)
 * @returns how many loose objects are left. Errors: `DISK_FAILED`.
 */
export async function removePackedLoose(repository: Repository, signal?: AbortSignal): Promise<number> {
  const { disk, objectDir } = repository;
  const packs = path.join(objectDir, 'pack');
  const names = listPacks(repository).map(({ name }) => path.join(packs, `${name}.idx`));
  await syncDirectories(disk, [packs]);
  let left = 0;
  for (const [byte, fan] of fans.entries()) {
    if (signal?.aborted === true) break;
    const folder = path.join(objectDir, fan);
    const loose = await looseIn(folder);
    if (loose.length === 0) continue;
    const packed = new Set(names.flatMap((file) => idsAt(file, byte) ?? []));
    const going = loose.filter((name) => packed.has(Buffer.from(fan + name, 'hex').toString('latin1')));
    left += loose.length - going.length;
    await removeFiles(folder, going);
  }
  return left;
}

/** One at a time, off the main thread: while the disk is busy the removal of a name can take as long as a flush. */
async function removeFiles(folder: string, names: readonly string[]): Promise<void> {
  try {
    for (const [at, name] of names.entries()) {
      await fs.promises.rm(path.join(folder, name), { force: true });
      if (at % sliceFiles === sliceFiles - 1) await setTimeout(slicePauseMs);
    }
    if (names.length > 0) await fs.promises.rmdir(folder);
  } catch (error) {
    // The next append wrote something there.
    if (['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(systemCode(error))) return;
    throw diskError(error, 'remove packed files from', folder);
  }
}
