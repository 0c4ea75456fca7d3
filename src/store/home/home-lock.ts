/**
 * The home lock: exactly one process writes to a home. Node has no flock, so an SQLite file is held with BEGIN EXCLUSIVE;
 * the kernel releases it when the process ends, by SIGKILL too. Who holds it stands in a note beside it:
 * reading the lock file itself would drop our own lock (POSIX locks end when any descriptor of the file is closed).
 */

import fs from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { diskError, isOperatingError, OperatingError, systemCode } from '../errors.ts';
import type { Home } from './home.ts';
import { lockPatience, readLockOwner, type LockOwner, type LockPatience } from './lock-note.ts';

export { readLockOwner, type LockOwner } from './lock-note.ts';

declare const proof: unique symbol;

/** Proof that this process holds the lock of a home. */
export interface HomeLock {
  readonly home: Home;
  /** Gives the lock back. Safe to call twice. */
  release(): void;
  readonly [proof]: true;
}

/** The lock files that this process holds: one that nobody referred to would be collected, closed, and so given back. */
const held = new Set<Database.Database>();

/**
 * Takes the lock at once or not at all.
 * Errors: `HOME_LOCKED` (says who holds it and what to do), `HOME_LOCK_DAMAGED`, `DISK_FAILED`, `DISK_FULL`.
 */
export function lockHome(home: Home, options: { program: string; now: Date }): HomeLock {
  const database = openLockFile(home);
  try {
    database.pragma('journal_mode = MEMORY');
    database.exec('BEGIN EXCLUSIVE');
    fs.chmodSync(home.lock, 0o600);
    writeNote(home, { pid: process.pid, since: options.now.toISOString(), program: options.program });
  } catch (error) {
    database.close();
    throw lockError(error, home);
  }
  held.add(database);
  const release = (): void => {
    if (!held.delete(database)) return;
    try {
      fs.rmSync(home.lockNote, { force: true });
    } finally {
      database.close();
    }
  };
  return { home, release } as HomeLock;
}

export interface LockWait {
  readonly program: string;
  /** How long whoever holds it is waited for; see `lockPatience`. */
  readonly patience?: LockPatience;
  /** Told once, before the first wait: who holds it, as far as that is known. */
  readonly onWait: (owner: LockOwner | undefined) => void;
}

/**
 * The same, but waits for whoever holds it: a command that is nearly done, a memd that is stopping. Fair to nobody.
 * Errors: as `lockHome`, `HOME_LOCKED` only after the wait.
 */
export async function lockHomeSoon(
  home: Home,
  { program, onWait, patience = lockPatience(home) }: LockWait,
): Promise<HomeLock> {
  for (let tries = 0; ; tries += 1) {
    try {
      return lockHome(home, { program, now: new Date() });
    } catch (error) {
      if (!isOperatingError(error, 'HOME_LOCKED') || patience.isOver()) throw error;
      if (tries === 0) onWait(readLockOwner(home));
      await setTimeout(lockPollMs);
    }
  }
}

const lockPollMs = 50;

function openLockFile(home: Home): Database.Database {
  // Through a link a file outside of the home would be locked, and its mode changed.
  if (fs.lstatSync(home.lock, { throwIfNoEntry: false })?.isFile() === false) throw lockDamaged(home);
  try {
    return new Database(home.lock, { timeout: 0 });
  } catch (error) {
    throw lockError(error, home);
  }
}

function lockError(error: unknown, home: Home): OperatingError {
  const code = systemCode(error);
  if (code.startsWith('SQLITE_BUSY')) {
    const owner = readLockOwner(home);
    const who =
      owner === undefined ? 'another process' : `${owner.program}, process ${owner.pid}, since ${owner.since}`;
    return new OperatingError('HOME_LOCKED', `home ${home.dir} is in use by ${who}`, {
      hint: owner === undefined ? 'stop it, or wait for it' : `wait for it, or stop it: kill ${owner.pid}`,
    });
  }
  if (code === 'SQLITE_NOTADB' || code === 'SQLITE_CORRUPT') return lockDamaged(home, error);
  return diskError(error, 'lock', home.lock);
}

function lockDamaged(home: Home, cause?: unknown): OperatingError {
  return new OperatingError('HOME_LOCK_DAMAGED', `${home.lock} is not a lock file of memd`, {
    cause,
    hint: 'make sure that no memd runs, then memctl doctor --repair moves it aside',
  });
}

function writeNote(home: Home, owner: LockOwner): void {
  const temporary = `${home.lockNote}.tmp`;
  try {
    fs.rmSync(temporary, { force: true });
    fs.writeFileSync(temporary, `${JSON.stringify(owner)}\n`, { mode: 0o600, flag: 'wx' });
    fs.renameSync(temporary, home.lockNote);
  } catch (error) {
    // A home that may not be written is refused here, before anything in it is taken for damaged.
    if (diskError(error, 'write', home.lockNote).code !== 'DISK_FULL') throw error;
    // For people only, and on a full disk there is no room for it: memory must stay readable then. No old name is left.
    for (const file of [temporary, home.lockNote]) fs.rmSync(file, { force: true });
  }
}
