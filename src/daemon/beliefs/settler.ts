/** Runs the same piece of work soon after it is asked for, never twice at once, and seldom enough to stay cheap. */
export interface Settler {
  /** Does the work after a run that is under way; everybody who asks before it starts shares one run. */
  readonly now: () => Promise<void>;
  /** Does the work after a while; asking again meanwhile changes nothing. */
  readonly soon: () => void;
  /** Does something else while no run is under way and none can start. */
  readonly alone: (other: () => Promise<void>) => Promise<void>;
  /** Forgets what was asked for and waits for a run that is under way. */
  readonly stop: () => Promise<void>;
}

/**
 * The while: at least the first, and nine times what the last run took, so that the work costs a tenth of the time under
 * a steady load; never longer than the last.
 */
const delayMinMs = 50;
const delayShare = 9;
const delayMaxMs = 2_000;

/** `work` may fail: `now` then rejects; after `soon` the failure goes to `onError`. */
export function createSettler(work: () => Promise<void>, onError: (error: unknown) => void): Settler {
  /** The last run that started; `queued` is the one that will start after it. */
  let running: Promise<void> = Promise.resolve();
  let queued: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let lastMs = 0;

  const run = async (): Promise<void> => {
    queued = undefined;
    const start = performance.now();
    await work();
    lastMs = performance.now() - start;
  };
  const after = (step: () => Promise<void>): Promise<void> => {
    running = running.then(step, step);
    return running;
  };
  const forgetTimer = (): void => {
    clearTimeout(timer);
    timer = undefined;
  };
  const now = (): Promise<void> => {
    forgetTimer();
    queued ??= after(run);
    return queued;
  };
  return {
    now,
    soon: () => {
      timer ??= setTimeout(
        () => void now().catch(onError),
        Math.min(Math.max(delayMinMs, delayShare * lastMs), delayMaxMs),
      );
    },
    alone: (other) => {
      forgetTimer();
      // What was queued before runs before; what is asked for from now on runs after.
      queued = undefined;
      return after(other);
    },
    stop: async () => {
      forgetTimer();
      await running.catch(onError);
    },
  };
}
