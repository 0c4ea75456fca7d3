/** What every command gets: where the home is, how to say things, and one way to have things done. */
import { homePaths, resolveHome, socketAddress } from '../store/home/home.ts';
import { setTimeout } from 'node:timers/promises';
import { connectApi, type ApiConnection } from '../daemon/api/api-client.ts';
import type { Answer, Method, Params } from '../daemon/api/api-types.ts';
import { configHere } from './here.ts';
import type { Engine } from '../daemon/engine.ts';
import { isOperatingError } from '../store/errors.ts';
import { lockPatience, type LockPatience } from '../store/home/lock-note.ts';
import { describeError } from '../daemon/describe-error.ts';
import type { Output } from './output.ts';

/** Does one method of the local API and gives its result. */
export type Call = <M extends Method>(method: M, params: Params<M>) => Promise<Answer<M>>;

export interface Cli {
  readonly output: Output;
  /** Absolute home folder from --home, MEMD_HOME or the default; throws where none can be determined. */
  home(): string;
  /** One request. */
  call: Call;
  /** Several requests over one connection, or under one lock. */
  session<T>(use: (call: Call) => Promise<T>): Promise<T>;
}

/** `globals` reads the parsed global options; it is called only when a command runs. */
export function cliOf(globals: () => { home?: string; offline?: boolean }, output: Output): Cli {
  const home = (): string => resolveHome({ flag: globals().home, env: process.env });
  const session = <T>(use: (call: Call) => Promise<T>): Promise<T> =>
    reach(home(), output, isOffline(globals()) ? (call) => use(offline(call)) : use);
  return { output, home, session, call: (method, params) => session((call) => call(method, params)) };
}

function isOffline({ offline: asked }: { offline?: boolean }): boolean {
  return asked === true || process.env['MEMD_OFFLINE'] === '1';
}

/** Methods that append. */
const appending: ReadonlySet<Method> = new Set(['append', 'import', 'sign.submit']);

function offline(call: Call): Call {
  return (method, params) => call(method, appending.has(method) ? { ...params, offline: true } : params);
}

/**
 * The one code path with and without a daemon: a running memd is asked over its socket; with none running this process
 * takes the home lock, does the work with the same handlers, and releases it. A held lock without an answering socket is
 * an error, never a second writer; but another command may hold it for a moment, or a memd that has just started, so it
 * is tried for a while.
 */
async function reach<T>(home: string, output: Output, use: (call: Call) => Promise<T>): Promise<T> {
  const progress = (text: string): void => output.progress(text);
  const patience = lockPatience(homePaths(home));
  for (;;) {
    const connection = await connectApi(socketAddress(homePaths(home)));
    if (connection !== undefined) return askDaemon(connection, progress, use);
    const engine = await openAlone(home, output, patience);
    if (engine === 'locked') continue;
    try {
      const { handleRequest } = await import('../daemon/api/handlers.ts');
      return await use((method, params) => handleRequest(engine, method, params, progress) as never);
    } finally {
      // What was asked for is done, or has failed for a reason of its own: what is derived follows at the next command.
      await engine.close().catch((error: unknown) => output.note(`note: ${describeError(error).message}`));
    }
  }
}

async function askDaemon<T>(
  connection: ApiConnection,
  progress: (text: string) => void,
  use: (call: Call) => Promise<T>,
): Promise<T> {
  try {
    return await use((method, params) => connection.call(method, params, progress) as never);
  } finally {
    connection.close();
  }
}

/** Opens the home in this process; `'locked'`, after a moment, while somebody else holds it and there is time left. */
async function openAlone(home: string, output: Output, patience: LockPatience): Promise<Engine | 'locked'> {
  const { openEngine } = await import('../daemon/engine.ts');
  const said = await configHere();
  try {
    const settings = 'config' in said ? said : {};
    const engine = await openEngine({ home, daemon: false, ...settings, progress: (text) => output.progress(text) });
    // Memory stays readable beside a broken settings file; memd itself does not start with one.
    if ('fault' in said) output.note(`note: ${said.fault.message}; every setting has its default`);
    return engine;
  } catch (error) {
    if (!isOperatingError(error, 'HOME_LOCKED') || patience.isOver()) throw error;
    await setTimeout(lockPollMs);
    return 'locked';
  }
}

const lockPollMs = 50;
