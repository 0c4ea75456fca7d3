/** Moving what was admitted from a quarantine into our repository, durably, before any branch may point at it. */
import { closeSync, constants, openSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { assert } from '../crypto/result.ts';
import { syncDirectories } from '../store/disk.ts';
import { diskError } from '../store/errors.ts';
import type { EncodedObject } from '../store/git/object-id.ts';
import { writeObjects } from '../store/git/objects.ts';
import type { Repository } from '../store/git/repository.ts';
import type { Quarantine } from './quarantine.ts';

/**
 * Form `loose`: writes exactly these objects. Form `pack`: moves the quarantine's pack in, the index last, since git sees
 * a pack by its index. Durable on return. Errors: `DISK_FAILED`, `DISK_FULL`.
 */
export async function takeOver(
  repository: Repository,
  quarantine: Quarantine,
  objects: readonly EncodedObject[] | 'pack',
): Promise<void> {
  if (objects === 'pack') await movePack(repository, join(quarantine.view.objectDir, 'pack'));
  else await writeObjects(repository, objects);
}

async function movePack(repository: Repository, from: string): Promise<void> {
  const to = join(repository.objectDir, 'pack');
  const names = readdirSync(from).filter((name) => /^pack-[0-9a-f]{40}\.(pack|idx|rev)$/.test(name));
  assert(
    names.some((name) => name.endsWith('.idx')),
    'index-pack leaves a pack with its index',
  );
  const indexLast = names.toSorted((left, right) => Number(left.endsWith('.idx')) - Number(right.endsWith('.idx')));
  try {
    await Promise.all(names.map((name) => syncFile(repository, join(from, name))));
    for (const name of indexLast) renameSync(join(from, name), join(to, name));
  } catch (error) {
    throw diskError(error, 'take over a pack from', from);
  }
  await syncDirectories(repository.disk, [to]);
}

async function syncFile({ disk }: Repository, file: string): Promise<void> {
  const descriptor = openSync(file, constants.O_RDONLY);
  try {
    await disk.syncFile(descriptor, file);
  } finally {
    closeSync(descriptor);
  }
}
