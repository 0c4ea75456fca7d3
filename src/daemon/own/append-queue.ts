/**
 * Group commit: all appends that wait at one moment share a commit. One commit is under way at a time; those that come
 * meanwhile form the next. A request is never split over two commits, so a transaction is all or nothing.
 */
export interface AppendQueue<Request, Reply> {
  /** Resolves once the request is durable; rejects with what refused it or failed. */
  submit(request: Request): Promise<Reply>;
  /** Does `work` between two commits: no append is under way meanwhile, and those that come wait. */
  alone<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves when nothing waits and nothing is under way. */
  idle(): Promise<void>;
}

export interface AppendQueueOptions<Request, Reply> {
  /** Events of a request; a batch ends before it would hold more than `batchMax` (a larger request goes alone). */
  readonly sizeOf: (request: Request) => number;
  readonly batchMax: number;
  /** Makes a batch durable. One reply for each request, in order; a refusal of one leaves the others alone. */
  readonly commit: (requests: readonly Request[]) => Promise<readonly PromiseSettledResult<Reply>[]>;
}

interface Waiting<Request, Reply> {
  readonly request: Request;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (reason: unknown) => void;
}

export function createAppendQueue<Request, Reply>(
  options: AppendQueueOptions<Request, Reply>,
): AppendQueue<Request, Reply> {
  const waiting: Waiting<Request, Reply>[] = [];
  let running: Promise<void> | undefined;
  let turn: Promise<unknown> = Promise.resolve();

  const alone = <T>(work: () => Promise<T>): Promise<T> => {
    const result = turn.then(work);
    turn = result.catch(() => undefined);
    return result;
  };
  const run = async (): Promise<void> => {
    // One turn of the event loop, so that requests that arrived in the same read share the first commit too.
    await new Promise((resume) => setImmediate(resume));
    while (waiting.length > 0) {
      await alone(() => commitBatch(waiting.splice(0, batchLength(waiting, options)), options));
    }
    running = undefined;
  };
  return {
    submit(request) {
      return new Promise((resolve, reject) => {
        waiting.push({ request, resolve, reject });
        running ??= run();
      });
    },
    alone,
    idle: () => running ?? Promise.resolve(),
  };
}

function batchLength<Request, Reply>(
  waiting: readonly Waiting<Request, Reply>[],
  { sizeOf, batchMax }: AppendQueueOptions<Request, Reply>,
): number {
  let events = 0;
  const end = waiting.findIndex(({ request }, index) => {
    events += sizeOf(request);
    return events > batchMax && index > 0;
  });
  return end < 0 ? waiting.length : end;
}

async function commitBatch<Request, Reply>(
  batch: readonly Waiting<Request, Reply>[],
  options: AppendQueueOptions<Request, Reply>,
): Promise<void> {
  try {
    const replies = await options.commit(batch.map(({ request }) => request));
    for (const [index, { resolve, reject }] of batch.entries()) {
      const reply = replies[index];
      if (reply?.status === 'fulfilled') resolve(reply.value);
      else reject(reply?.reason);
    }
  } catch (error) {
    for (const { reject } of batch) reject(error);
  }
}
