/** Server end of the local API: a unix socket in the home folder, for this user only. */
import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { apiLineBytesMax } from '../core/limits.ts';
import { lineSplitter, type ApiAnswer, type ApiError, type ApiRequest } from './protocol.ts';

/** Does one request. Throws what `describe` can put into words. */
export type Handle = (method: string, params: unknown, onProgress: (text: string) => void) => Promise<unknown>;

export interface ApiServerOptions {
  readonly socketPath: string;
  readonly handle: Handle;
  /** Turns anything thrown into what a person reads. */
  readonly describe: (error: unknown) => ApiError;
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
  const connections = new Map<Socket, Promise<unknown>>();
  const server = createServer((socket) => {
    connections.set(socket, Promise.resolve());
    socket.on('close', () => connections.delete(socket));
    converse(socket, options, (work) => {
      connections.set(socket, Promise.allSettled([connections.get(socket), work]));
    });
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(socketPath, () => {
      chmodSync(socketPath, 0o600);
      resolve({
        async close() {
          const stopped = new Promise((done) => server.close(done));
          await Promise.allSettled(connections.values());
          for (const socket of connections.keys()) socket.destroySoon();
          await stopped;
        },
      });
    });
  });
}

function converse(socket: Socket, options: ApiServerOptions, track: (work: Promise<void>) => void): void {
  const send = (answer: ApiAnswer): void => {
    if (socket.writable) socket.write(`${JSON.stringify(answer)}\n`);
  };
  const splitter = lineSplitter(apiLineBytesMax);
  // A client that goes away is no event: what it asked for is done or refused all the same.
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => {
    const lines = splitter.push(chunk);
    if (lines === 'too-long') {
      send(badRequest(`a request may have at most ${apiLineBytesMax} bytes`));
      socket.end();
      return;
    }
    for (const line of lines) track(answerLine(line, options, send));
  });
}

async function answerLine(line: string, options: ApiServerOptions, send: (answer: ApiAnswer) => void): Promise<void> {
  const request = readRequest(line);
  if (!request) return send(badRequest('a request is one line {"id":NUMBER,"method":TEXT,"params":OBJECT}'));
  const { id, method, params } = request;
  try {
    send({ id, result: await options.handle(method, params, (progress) => send({ id, progress })) });
  } catch (error) {
    send({ id, error: options.describe(error) });
  }
}

function readRequest(line: string): ApiRequest | undefined {
  try {
    const value = JSON.parse(line) as Partial<ApiRequest> | null;
    if (typeof value?.id !== 'number' || typeof value.method !== 'string') return undefined;
    return { id: value.id, method: value.method, params: value.params ?? {} };
  } catch {
    return undefined;
  }
}

function badRequest(message: string): ApiAnswer {
  return { id: null, error: { code: 'BAD_REQUEST', message, exit: 2 } };
}
