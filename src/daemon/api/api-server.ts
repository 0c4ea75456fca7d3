/** Server end of the local API: a unix socket in the home folder, for this user only. */
import { chmodSync, rmSync } from 'node:fs';
import { createServer, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { apiHeartbeatMs, apiLineBytesMax, apiRequestsMax, socketBacklogBytesMax } from '../../core/limits.ts';
import { parsePlainJson } from '../../crypto/plain-json.ts';
import { lineSplitter, type ApiAnswer, type ApiError, type ApiRequest } from './protocol.ts';

/** Does one request. Throws what `describe` can put into words. */
export type Handle = (method: string, params: unknown, onProgress: (text: string) => void) => Promise<unknown>;

export interface ApiServerOptions {
  readonly socketPath: string;
  readonly handle: Handle;
  /** Turns anything thrown into what a person reads. */
  readonly describe: (error: unknown) => ApiError;
  /**
   * Takes the connection of a client whose first request is `serve`: what follows the answer is a peer that came through a
   * plain sshd, no request any more. undefined while nobody is served.
   */
  readonly serve?: () => ((stream: Duplex, from: string) => void) | undefined;
}

export interface ApiServer {
  /** Stops listening, waits for the requests under way, ends the connections. */
  readonly close: () => Promise<void>;
}

/**
 * Listens on `socketPath`. The caller holds the home lock, so a socket file that exists was left by a dead daemon and is
 * removed.
 */
export function serveApi(options: ApiServerOptions): Promise<ApiServer> {
  const { socketPath } = options;
  rmSync(socketPath, { force: true });
  const connections = new Set<Socket>();
  const running = new Set<Promise<void>>();
  let stopping = false;
  const work: Work = (line, send) => {
    const done = answerLine(line, stopping ? refuseAll : options, send).finally(() => running.delete(done));
    running.add(done);
    return done;
  };
  const server = createServer((socket) => {
    connections.add(socket);
    socket.on('close', () => connections.delete(socket));
    const takeOver = (line: string | null): boolean => !stopping && handOver(line, socket, options);
    converse(socket, work, takeOver);
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(socketPath, () => {
      chmodSync(socketPath, 0o600);
      // From here on an error is a connection that could not be taken (EMFILE): that client's loss, not the daemon's end.
      server.removeListener('error', reject);
      server.on('error', () => undefined);
      resolve({
        async close() {
          const stopped = new Promise((done) => server.close(done));
          stopping = true;
          while (running.size > 0) await Promise.all(running);
          for (const socket of connections) socket.destroySoon();
          await stopped;
        },
      });
    });
  });
}

/** Does one line and answers it; never rejects. */
type Work = (line: string | null, send: (answer: ApiAnswer) => void) => Promise<void>;

/** What is asked of a daemon that is on its way out is not begun. */
const refuseAll: Pick<ApiServerOptions, 'handle' | 'describe'> = {
  handle: () => Promise.reject(new Error('stopping')),
  describe: () => ({ code: 'STOPPING', message: 'memd is stopping; nothing was done', hint: 'try again', exit: 1 }),
};

/** Whether the connection is somebody else's from now on. */
function handOver(line: string | null, socket: Socket, { serve }: ApiServerOptions): boolean {
  const request = line === null || serve === undefined ? undefined : readRequest(line);
  if (request?.method !== 'serve') return false;
  const { from } = request.params as { readonly from?: unknown };
  for (const event of ['data', 'drain', 'error']) socket.removeAllListeners(event);
  socket.on('error', () => socket.destroy());
  const take = serve?.();
  if (take === undefined) {
    socket.destroy();
    return true;
  }
  socket.write(`${answerText({ id: request.id, result: {} })}\n`);
  take(socket, typeof from === 'string' && isIP(from) !== 0 ? from : 'unknown');
  return true;
}

function converse(socket: Socket, work: Work, takeOver: (line: string | null) => boolean): void {
  let first = true;
  const waiting: (string | null)[] = [];
  let underWay = 0;
  const send = (answer: ApiAnswer): void => {
    if (socket.writable) socket.write(`${answerText(answer)}\n`);
  };
  /** Begins what may begin. A client that asks faster than it is answered, or does not read its answers, has to wait. */
  const proceed = (): void => {
    while (waiting.length > 0 && underWay < apiRequestsMax && socket.writableLength <= socketBacklogBytesMax) {
      underWay += 1;
      void work(waiting.shift() ?? null, send).then(() => {
        underWay -= 1;
        proceed();
      });
    }
    if (waiting.length > 0) socket.pause();
    else socket.resume();
  };
  const splitter = lineSplitter(apiLineBytesMax);
  // A client that goes away is no event: what it asked for is done or refused all the same.
  socket.on('error', () => socket.destroy());
  socket.on('drain', proceed);
  socket.on('data', (chunk: Buffer) => {
    const lines = splitter.push(chunk);
    if (lines === 'too-long') {
      send(badRequest(`a request may have at most ${apiLineBytesMax} bytes`));
      socket.destroySoon();
      return;
    }
    if (first && lines.length === 1 && takeOver(lines[0] ?? null)) return;
    first &&= lines.length === 0;
    for (const line of lines) waiting.push(line);
    proceed();
  });
}

async function answerLine(
  line: string | null,
  options: Pick<ApiServerOptions, 'handle' | 'describe'>,
  send: (answer: ApiAnswer) => void,
): Promise<void> {
  const request = line === null ? undefined : readRequest(line);
  if (!request)
    return send(
      badRequest('a request is one line of UTF-8: {"id":INTEGER,"method":TEXT,"params":OBJECT}, no key twice'),
    );
  const { id, method, params } = request;
  const heartbeat = setInterval(() => send({ id, progress: '' }), apiHeartbeatMs);
  try {
    send({ id, result: await options.handle(method, params, (progress) => send({ id, progress })) });
  } catch (error) {
    send({ id, error: options.describe(error) });
  } finally {
    clearInterval(heartbeat);
  }
}

function answerText(answer: ApiAnswer): string {
  const text = JSON.stringify(answer);
  const bytes = Buffer.byteLength(text);
  if (bytes <= apiLineBytesMax) return text;
  const message = `the answer has ${bytes} bytes; ${apiLineBytesMax} are the most`;
  return JSON.stringify({ id: answer.id, error: { code: 'ANSWER_TOO_LARGE', message, hint: 'ask for less', exit: 2 } });
}

function readRequest(line: string): ApiRequest | undefined {
  const read = parsePlainJson(line);
  if (!read.ok) return undefined;
  const value = read.value as Partial<ApiRequest> | null;
  if (!Number.isSafeInteger(value?.id) || typeof value?.method !== 'string') return undefined;
  return { id: value.id as number, method: value.method, params: value.params ?? {} };
}

function badRequest(message: string): ApiAnswer {
  return { id: null, error: { code: 'BAD_REQUEST', message, exit: 2 } };
}
