/** stdin and stdout of the MCP server: the protocol and nothing else. */
import { PassThrough, Writable } from 'node:stream';

export interface ProtocolPipes {
  readonly input: PassThrough;
  readonly output: Writable;
  /** Runs a request; a client that has closed its end still gets the answers to what it asked. */
  readonly track: <T>(work: Promise<T>) => Promise<T>;
}

/**
 * Takes stdout for the protocol: from now on everything else that this process writes there, a forgotten console.log of a
 * dependency for example, goes to stderr instead of breaking the client's parser.
 */
export function takeStdio(): ProtocolPipes {
  const write = process.stdout.write.bind(process.stdout);
  const output = new Writable({
    write: (chunk: Buffer, _, done) => void write(chunk, (error) => done(error)),
    decodeStrings: true,
  });
  process.stdout.write = process.stderr.write.bind(process.stderr);
  const input = new PassThrough();
  const running = new Set<Promise<unknown>>();
  process.stdin.pipe(input, { end: false });
  process.stdin.once('end', () => void endWhenIdle(input, running));
  process.stdin.once('close', () => void endWhenIdle(input, running));
  return {
    input,
    output,
    track: (work) => {
      const settled = work.catch(() => undefined).finally(() => running.delete(settled));
      running.add(settled);
      return work;
    },
  };
}

/** The SDK drops what is under way when its input ends: it ends for the SDK when nothing is. */
async function endWhenIdle(input: PassThrough, running: ReadonlySet<Promise<unknown>>): Promise<void> {
  do {
    await Promise.all(running);
    // A request that was read last starts, and an answer is written, within a few turns of the event loop.
    for (let turn = 0; turn < turnsOfARequest; turn += 1) await new Promise((resume) => setImmediate(resume));
  } while (running.size > 0);
  input.end();
}

const turnsOfARequest = 20;
