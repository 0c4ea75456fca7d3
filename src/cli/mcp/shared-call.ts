/** One way to memd for all requests of a process that runs at the same time. */
import type { Call, Cli } from '../context.ts';

interface Waiting {
  /** Does the request; settles the promise that its asker holds. */
  readonly run: (call: Call) => Promise<void>;
  readonly fail: (error: unknown) => void;
}

/**
 * Requests that come together go over one connection, or, without a daemon, under one lock: they would lock each other
 * out otherwise. Between two such rounds the home is free for others.
 */
export function sharedCall(cli: Pick<Cli, 'session'>): Call {
  let waiting: Waiting[] = [];
  let running = false;

  const rounds = async (): Promise<void> => {
    running = true;
    while (waiting.length > 0) {
      const round = waiting;
      waiting = [];
      await cli
        .session((call) => Promise.all(round.map(({ run }) => run(call))))
        .catch((error: unknown) => {
          for (const { fail } of round) fail(error);
        });
    }
    running = false;
  };
  return (method, params) =>
    new Promise((resolve, reject) => {
      waiting.push({ run: (call) => call(method, params).then(resolve, reject), fail: reject });
      if (!running) void rounds();
    });
}
