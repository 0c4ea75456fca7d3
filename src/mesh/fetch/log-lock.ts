/** One thing at a time per name: admission and branch move of one log, whoever carried the lines. */

export interface Locks {
  /** Runs `work` after what is running for this name. A failure of one does not stop the next. */
  run<T>(name: string, work: () => Promise<T>): Promise<T>;
}

export function createLocks(): Locks {
  const tails = new Map<string, Promise<unknown>>();
  return {
    run(name, work) {
      const turn = (tails.get(name) ?? Promise.resolve()).then(work, work);
      const tail = turn.catch(() => undefined);
      tails.set(name, tail);
      void tail.then(() => {
        if (tails.get(name) === tail) tails.delete(name);
      });
      return turn;
    },
  };
}
