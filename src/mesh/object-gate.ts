/**
 * Who works with objects of the repository, and who drops some of them. A purge drops what no branch reaches; a fetch that
 * was planned on such objects, or a peer that is being served them, must not be at work then.
 */

export interface ObjectGate {
  /** Does work that builds on objects of the repository; waits while some are dropped. Not to be nested. */
  use<T>(work: () => Promise<T>): Promise<T>;
  /** Does work while nobody uses objects: those at work end first, those that come wait. One at a time. */
  alone<T>(work: () => Promise<T>): Promise<T>;
  /** True from the moment that `alone` was asked for until it is done: what cannot wait is refused. */
  isClosed(): boolean;
  /** Has `stop` called before `alone` waits: it ends what may be ended, and resolves when that is gone. @returns what forgets it. */
  onClose(stop: () => Promise<void>): () => void;
  /** Has `then` called whenever the last `alone` is done: who was refused may come again. @returns what forgets it. */
  onOpen(then: () => void): () => void;
}

export function createObjectGate(): ObjectGate {
  const stops = new Set<() => Promise<void>>();
  const openings = new Set<() => void>();
  const users = new Set<Promise<unknown>>();
  /** The last `alone` that was asked for. */
  let last: Promise<unknown> = Promise.resolve();
  let closed = 0;
  const isClosed = (): boolean => closed > 0;

  return {
    async use(work) {
      while (isClosed()) await last;
      const done = work();
      const user = done.catch(() => undefined);
      users.add(user);
      try {
        return await done;
      } finally {
        users.delete(user);
      }
    },
    alone(work) {
      closed += 1;
      const turn = last.then(async () => {
        try {
          await Promise.all(Array.from(stops, (stop) => stop()));
          while (users.size > 0) await Promise.all(users);
          return await work();
        } finally {
          closed -= 1;
          if (!isClosed()) for (const then of openings) then();
        }
      });
      last = turn.catch(() => undefined);
      return turn;
    },
    isClosed,
    onClose(stop) {
      stops.add(stop);
      return () => void stops.delete(stop);
    },
    onOpen(then) {
      openings.add(then);
      return () => void openings.delete(then);
    },
  };
}
