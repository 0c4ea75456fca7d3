/** Runs the same piece of work soon after it is asked for, never twice at once, and seldom enough to stay cheap. */
export interface Settler {
  /** Does the work now (after a run that is under way) and resolves when it is done. */
  readonly now: () => Promise<void>;
  /** Does the work after a while; asking again meanwhile changes nothing. */
  readonly soon: () => void;
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
  let running: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let lastMs = 0;

  const run = async (): Promise<void> => {
    const start = performance.now();
    await work();
    lastMs = performance.now() - start;
  };
  const now = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    running = running.then(run, run);
    return running;
  };
  return {
    now,
    soon: () => {
      timer ??= setTimeout(
        () => void now().catch(onError),
        Math.min(Math.max(delayMinMs, delayShare * lastMs), delayMaxMs),
      );
    },
    stop: async () => {
      clearTimeout(timer);
      timer = undefined;
      await running.catch(onError);
    },
  };
}
