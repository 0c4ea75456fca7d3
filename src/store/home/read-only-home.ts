/**
 * Reading a home whose disk takes no writes: what is made for reading (database, views, copies, lock) goes into a private
 * temporary folder, everything else is read where it is. Nobody else can write there either, so no lock is missing.
 */
import fs from 'node:fs';
import { diskError } from '../errors.ts';
import { privateFolder } from '../private-folder.ts';
import { homePaths, type Home } from './home.ts';
import type { HomeLock } from './home-lock.ts';

/** Small files that are compared with what is there, and written anew afterwards; and the database, since it may be current. */
const copied = ['lastHeads', 'peerMemory', 'purged'] as const;

/**
 * The home as this process may use it: nothing in the real one is ever written through it. `release` removes the folder.
 * Errors: `DISK_FAILED`, `DISK_FULL`, `DISK_READ_ONLY`: there is no place for temporary files either.
 */
export function readingHome(real: Home): HomeLock {
  const { path: folder, remove: release } = privateFolder('read');
  try {
    const shadow = homePaths(folder);
    for (const name of copied) copyFile(real[name], shadow[name]);
    for (const suffix of ['', '-wal']) copyFile(`${real.database}${suffix}`, `${shadow.database}${suffix}`);
    // With their times: how old an index is, is told by them.
    if (fs.existsSync(real.views)) fs.cpSync(real.views, shadow.views, { recursive: true, preserveTimestamps: true });
    const { repository, quarantine, keys, hostKey, sshKey, marker, forks, unlock, fineJournal } = real;
    const read = { repository, quarantine, keys, hostKey, sshKey, marker, forks, unlock, fineJournal };
    return { home: { ...shadow, ...read }, release } as HomeLock;
  } catch (error) {
    release();
    throw diskError(error, 'copy what is read into', folder);
  }
}

function copyFile(from: string, to: string): void {
  if (fs.existsSync(from)) fs.copyFileSync(from, to);
}
