/** What every command gets: where the home is, how to say things, and one way to have things done. */
import { homePaths, resolveHome, socketAddress } from '../store/home.ts';
import { connectApi } from '../daemon/api-client.ts';
import type { Answer, Method, Params } from '../daemon/api-types.ts';
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
export function cliOf(globals: () => { home?: string }, output: Output): Cli {
  const home = (): string => resolveHome({ flag: globals().home, env: process.env });
  const session = <T>(use: (call: Call) => Promise<T>): Promise<T> => reach(home(), output, use);
  return { output, home, session, call: (method, params) => session((call) => call(method, params)) };
}

/**
 * The one code path with and without a daemon: a running memd is asked over its socket; with none running this process
 * takes the home lock, does the work with the same handlers, and releases it. A held lock without an answering socket is
 * an error, never a second writer.
 */
async function reach<T>(home: string, output: Output, use: (call: Call) => Promise<T>): Promise<T> {
  const connection = await connectApi(socketAddress(homePaths(home), process.cwd()));
  const progress = (text: string): void => output.progress(text);
  if (connection) {
    try {
      return await use((method, params) => connection.call(method, params, progress) as never);
    } finally {
      connection.close();
    }
  }
  const { openEngine } = await import('../daemon/engine.ts');
  const { handleRequest } = await import('../daemon/handlers.ts');
  const { readConfig } = await import('../daemon/config.ts');
  const engine = await openEngine({ home, daemon: false, config: readConfig(process.env), progress });
  try {
    return await use((method, params) => handleRequest(engine, method, params, progress) as never);
  } finally {
    await engine.close();
  }
}
