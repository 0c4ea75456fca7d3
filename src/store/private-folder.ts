/**
 * Temporary folders for what must not outlive the process: it may be all that a home says. One that was killed cannot remove
 * its own, so the next one does, and so does a purge.
 */
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { diskError } from './errors.ts';
import { isAlive } from './live-process.ts';

export interface PrivateFolder {
  readonly path: string;
  readonly remove: () => void;
}

const namePattern = /^memctl-[a-z]+-(\d+)-\w{6}$/;

/** A new one, for this user alone. Errors: `DISK_FAILED`, `DISK_FULL`, `DISK_READ_ONLY`. */
export function privateFolder(purpose: string): PrivateFolder {
  removeLeftFolders();
  try {
    const folder = fs.mkdtempSync(path.join(tmpdir(), `memctl-${purpose}-${process.pid}-`));
    return { path: folder, remove: () => fs.rmSync(folder, { recursive: true, force: true }) };
  } catch (error) {
    throw diskError(error, 'make a folder in', tmpdir());
  }
}

/** Removes those of this user whose process is gone. Never throws: what cannot be removed is somebody else's. @returns their names. */
export function removeLeftFolders(): readonly string[] {
  return namesIn(tmpdir()).filter((name) => {
    const pid = Number(namePattern.exec(name)?.[1]);
    if (!Number.isInteger(pid) || isAlive(pid)) return false;
    const folder = path.join(tmpdir(), name);
    try {
      const status = fs.lstatSync(folder);
      if (!status.isDirectory() || status.uid !== process.geteuid?.()) return false;
      fs.rmSync(folder, { recursive: true, force: true });
      return true;
    } catch {
      return false;
    }
  });
}

function namesIn(folder: string): readonly string[] {
  try {
    return fs.readdirSync(folder);
  } catch {
    return [];
  }
}
