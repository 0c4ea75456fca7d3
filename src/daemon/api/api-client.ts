/** Client end of the local API. Loads nothing but node:net: hooks start with it. */
import { connect, type Socket } from 'node:net';
import { apiLineBytesMax, apiSilenceMs } from '../../core/limits.ts';
import { lineSplitter, type ApiAnswer, type ApiError } from './protocol.ts';

/** What the daemon refused or failed at, as it said it. */
export class ApiFailure extends Error {
  readonly error: ApiError;

  constructor(error: ApiError) {
    super(error.message);
    this.name = 'ApiFailure';
    this.error = error;
  }
}

export interface ApiConnection {
  /** Sends one request. Rejects with ApiFailure for an answer that is an error, or if the connection ends first. */
  call(method: string, params: unknown, onProgress?: (text: string) => void): Promise<unknown>;
  close(): void;
}

interface Waiter {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly onProgress: ((text: string) => void) | undefined;
}

/**
 * Connects to the daemon's socket. `silenceMs`: how long it may say nothing while a request waits; then it is lost.
 * @returns undefined when nobody can be reached there. Why (no home, no daemon, a file in the way) is for whoever opens
 * the home next to say; the home lock decides whether a daemon runs, never this.
 */
export function connectApi(socketPath: string, silenceMs: number = apiSilenceMs): Promise<ApiConnection | undefined> {
  return new Promise((resolve) => {
    const socket = connect(socketPath);
    socket.once('error', () => resolve(undefined));
    socket.once('connect', () => {
      socket.removeAllListeners('error');
      resolve(speak(socket, silenceMs));
    });
  });
}

/** Whether anybody answers at the socket. */
export async function isAnswered(socketPath: string): Promise<boolean> {
  const connection = await connectApi(socketPath);
  connection?.close();
  return connection !== undefined;
}

function speak(socket: Socket, silenceMs: number): ApiConnection {
  const waiters = new Map<number, Waiter>();
  let nextId = 1;
  let ended: Error | undefined;
  const end = (error: Error): void => {
    ended ??= error;
    for (const waiter of waiters.values()) waiter.reject(ended);
    waiters.clear();
  };
  const splitter = lineSplitter(apiLineBytesMax);
  socket.on('error', (error) => end(lost(error.message)));
  socket.on('close', () => end(lost('it closed the connection')));
  // Also a daemon that was stopped (SIGSTOP) accepts connections: the kernel does that for it.
  socket.setTimeout(silenceMs, () => {
    if (waiters.size > 0) socket.destroy(new Error(`not a word for ${Math.round(silenceMs / 1_000)} s`));
  });
  socket.on('data', (chunk: Buffer) => {
    const lines = splitter.push(chunk);
    const answers = lines === 'too-long' ? undefined : lines.map(readAnswer);
    if (answers?.every((answer) => answer !== undefined) !== true) {
      return void socket.destroy(new Error('what it says is not the local API'));
    }
    for (const answer of answers) settle(waiters, answer);
  });
  return {
    call(method, params, onProgress) {
      if (ended) return Promise.reject(ended);
      const id = nextId++;
      const line = JSON.stringify({ id, method, params });
      if (Buffer.byteLength(line) > apiLineBytesMax) return Promise.reject(tooLarge(method));
      return new Promise((resolve, reject) => {
        waiters.set(id, { resolve, reject, onProgress });
        socket.write(`${line}\n`);
      });
    },
    close: () => void socket.end(),
  };
}

function readAnswer(line: string | null): ApiAnswer | undefined {
  try {
    const value: unknown = JSON.parse(line ?? '');
    return typeof value === 'object' && value !== null && 'id' in value ? (value as ApiAnswer) : undefined;
  } catch {
    return undefined;
  }
}

function settle(waiters: Map<number, Waiter>, answer: ApiAnswer): void {
  const waiter = answer.id === null ? undefined : waiters.get(answer.id);
  if (!waiter || answer.id === null) return;
  if ('progress' in answer) {
    if (answer.progress !== '') waiter.onProgress?.(answer.progress);
    return;
  }
  waiters.delete(answer.id);
  if ('error' in answer) waiter.reject(new ApiFailure(answer.error));
  else waiter.resolve(answer.result);
}

function tooLarge(method: string): ApiFailure {
  return new ApiFailure({
    code: 'REQUEST_TOO_LARGE',
    message: `${method}: more than ${apiLineBytesMax} bytes in one request; nothing was sent`,
    hint: 'split the file into several transactions',
    exit: 2,
  });
}

function lost(reason: string): ApiFailure {
  return new ApiFailure({
    code: 'DAEMON_LOST',
    message: `memd did not answer: ${reason}`,
    hint: 'it may have been stopped; whether the request was done: memctl log',
    exit: 1,
  });
}
