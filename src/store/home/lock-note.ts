/** The note beside the home lock: who holds it, for people, and for whoever waits. It decides nothing about who may write. */
import fs from 'node:fs';
import { homeLockWaitMs, homeLockWaitsMs } from '../../core/limits.ts';
import { printable } from '../errors.ts';
import type { Home } from './home.ts';

/** What the note beside the lock says. */
export interface LockOwner {
  readonly pid: number;
  /** ISO time. */
  readonly since: string;
  /** Program name, `memd` or `memctl`. */
  readonly program: string;
}

/** Patience with a home that is in use. */
export interface LockPatience {
  /** True once the same holder has been met for too long, or all of them together have. */
  readonly isOver: () => boolean;
}

/**
 * Each new holder is waited for anew: commands may come one after the other, and whoever polls is not always the next.
 * `clock`: milliseconds on a clock that never runs backwards.
 */
export function lockPatience(home: Home, clock: () => number = () => performance.now()): LockPatience {
  const start = clock();
  let [since, holder] = [start, ''];
  return {
    isOver() {
      const owner = readLockOwner(home);
      const now = clock();
      // Between taking the lock and the note there is none: that is no new holder.
      const named = owner === undefined ? holder : `${owner.pid} ${owner.since}`;
      if (named !== holder) [since, holder] = [now, named];
      return now - since >= homeLockWaitMs || now - start >= homeLockWaitsMs;
    },
  };
}

/** Who holds the lock according to the note; undefined when there is none that can be read. */
export function readLockOwner(home: Home): LockOwner | undefined {
  try {
    const note: unknown = JSON.parse(fs.readFileSync(home.lockNote, 'utf8').slice(0, 1_000));
    if (typeof note !== 'object' || note === null) return undefined;
    const { pid, since, program } = note as Record<string, unknown>;
    if (typeof pid !== 'number' || typeof since !== 'string' || typeof program !== 'string') return undefined;
    return { pid, since: printable(since), program: printable(program) };
  } catch {
    return undefined;
  }
}
