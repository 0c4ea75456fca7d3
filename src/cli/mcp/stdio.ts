/** stdin and stdout of the MCP server: the protocol and nothing else. */
import { PassThrough, Transform, Writable } from 'node:stream';
import { parsePlainJson } from '../../crypto/plain-json.ts';

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
  const read = unambiguous((text) => write(`${text}\n`));
  process.stdin.pipe(read).pipe(input, { end: false });
  read.once('end', () => void endWhenIdle(input, running));
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

/**
 * Passes lines on, but for those in which a key stands twice: the SDK would take the last, so they are answered here. What is
 * no JSON at all, or has no end, is the business of the SDK.
 */
function unambiguous(answer: (text: string) => void): Transform {
  let held: Buffer[] = [];
  const refused = (line: Buffer): boolean => {
    const text = line.toString('utf8');
    const parsed = parsePlainJson(text);
    if (parsed.ok || parsed.code !== 'REPEATED_KEY') return false;
    const { id } = JSON.parse(text) as { readonly id?: unknown };
    const error = { code: invalidRequest, message: 'a key stands twice in the request: nothing was done' };
    answer(JSON.stringify({ jsonrpc: '2.0', id: typeof id === 'number' || typeof id === 'string' ? id : null, error }));
    return true;
  };
  return new Transform({
    transform(chunk: Buffer, _, done) {
      let from = 0;
      for (let at = chunk.indexOf(0x0a); at >= 0; at = chunk.indexOf(0x0a, from)) {
        const line = Buffer.concat([...held, chunk.subarray(from, at + 1)]);
        held = [];
        if (!refused(line)) this.push(line);
        from = at + 1;
      }
      if (from < chunk.length) held.push(chunk.subarray(from));
      done();
    },
    flush(done) {
      if (held.length > 0) this.push(Buffer.concat(held));
      done();
    },
  });
}

/** JSON-RPC 2.0: Invalid Request. */
const invalidRequest = -32_600;

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
