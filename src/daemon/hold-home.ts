/** Taking a home for the time that this process works with it. */
import { readOnlyFault } from '../store/home/disk-room.ts';
import type { OperatingError } from '../store/errors.ts';
import { lockHome, lockHomeSoon, type HomeLock } from '../store/home/home-lock.ts';
import type { Home } from '../store/home/home.ts';
import { readingHome } from '../store/home/read-only-home.ts';
import { sweepHome } from '../store/home/sweep.ts';
import type { EngineOptions } from './engine.ts';

/**
 * The home for this process alone. On a read-only disk memctl reads without it, since nobody can write there; memd does not
 * start. Errors: as `lockHome`, `DISK_READ_ONLY`.
 */
export async function holdHome(
  home: Home,
  { daemon, log }: EngineOptions,
): Promise<{ readonly lock: HomeLock; readonly readOnly: OperatingError | undefined }> {
  const readOnly = readOnlyFault(home);
  if (readOnly !== undefined) {
    if (daemon) throw readOnly;
    return { lock: readingHome(home), readOnly };
  }
  // A command that is at work is soon done; commands without memd wait for each other themselves, asking for memd meanwhile.
  const onWait = (owner: unknown): void => void log?.info({ owner }, 'waits for whoever is at work in this home');
  const lock = daemon
    ? await lockHomeSoon(home, { program: 'memd', onWait })
    : lockHome(home, { program: 'memctl', now: new Date() });
  return { lock, readOnly };
}

/**
 * A home that is being made: nobody works in it yet, so what an earlier try left when it was killed goes first. Errors: as
 * `lockHome`, `DISK_FAILED`.
 */
export function holdUnfinishedHome(home: Home): HomeLock {
  const lock = lockHome(home, { program: 'memctl', now: new Date() });
  try {
    sweepHome(lock);
    return lock;
  } catch (error) {
    lock.release();
    throw error;
  }
}
