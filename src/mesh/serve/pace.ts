/** How often one host may ask for what costs little and is asked for quickly: at once as long as that is what hosts do, then evenly. */
import { commandsBurst, commandsPerSecond, commandsWaitingMax } from '../../core/limits.ts';

export interface Pace {
  /** Does the work when it is the turn of this host; `isOver`: nobody waits for it any more. @returns false: too many wait already. */
  run(host: string, work: () => void, isOver: () => boolean): boolean;
}

interface Account {
  /** When the next command may run, were there no burst. */
  due: number;
  waiting: number;
}

/** `now`: milliseconds on a clock that never runs backwards. */
export function createPace(now: () => number = () => performance.now()): Pace {
  const accounts = new Map<string, Account>();
  const everyMs = 1_000 / commandsPerSecond;
  return {
    run(host, work, isOver) {
      const account = accounts.get(host) ?? { due: -Infinity, waiting: 0 };
      accounts.set(host, account);
      if (account.waiting >= commandsWaitingMax) return false;
      account.due = Math.max(account.due, now() - commandsBurst * everyMs) + everyMs;
      const waitMs = account.due - now();
      if (waitMs <= 0) {
        work();
        return true;
      }
      account.waiting += 1;
      setTimeout(() => {
        account.waiting -= 1;
        if (!isOver()) work();
      }, waitMs);
      return true;
    },
  };
}
