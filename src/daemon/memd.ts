/** memd: the composition root of the running daemon. Opens the engine, serves peers and the local API, keeps the schedule. */
import cron from 'node-cron';
import { pino, type Logger } from 'pino';
import { socketAddress } from '../store/home.ts';
import { startSshServer, type SshServer } from '../mesh/ssh-server.ts';
import { serveApi } from './api-server.ts';
import { describeError } from './describe-error.ts';
import { openEngine, type Engine } from './engine.ts';
import { handleRequest } from './handlers.ts';
import { chooseListen, type ListenAddress } from './listen-address.ts';
import { headsLine } from './heads-line.ts';
import { runCycle } from './sync-cycle.ts';
import { Refusal } from './refusal.ts';

export interface MemdOptions {
  /** Absolute home folder. */
  readonly home: string;
  /** ADDRESS:PORT; undefined takes what init recorded. */
  readonly listen?: string | undefined;
  /** Cron expression of the fetch schedule, with seconds. */
  readonly sync?: string | undefined;
}

export interface Memd {
  readonly host: string;
  /** ADDRESS:PORT that the ssh server really listens on. */
  readonly listen: string;
  readonly socket: string;
  readonly engine: Engine;
  /** Finishes the running append, tells nobody new, releases the lock. */
  stop(): Promise<void>;
}

/** Every half minute; the jitter spreads hosts that started together. */
export const defaultSync = '*/30 * * * * *';
const syncJitterMs = 5_000;

/** Starts the daemon. Resolves once it serves. */
export async function startMemd(options: MemdOptions): Promise<Memd> {
  const schedule = options.sync ?? defaultSync;
  if (!cron.validate(schedule)) {
    throw new Refusal({
      code: 'BAD_REQUEST',
      message: `--sync ${schedule} is not a cron expression`,
      hint: `for example --sync '${defaultSync}'`,
      exit: 2,
    });
  }
  const log = pino({ base: null, level: process.env['MEMD_LOG'] ?? 'info' }, pino.destination(2));
  const engine = await openEngine({ home: options.home, daemon: true, log });
  try {
    return await serve(engine, { schedule, listen: options.listen ?? engine.identity.listen, log });
  } catch (error) {
    await engine.close();
    throw error;
  }
}

async function serve(engine: Engine, options: { schedule: string; listen: string | null; log: Logger }): Promise<Memd> {
  const { log } = options;
  const ssh = await openSshServer(engine, chooseListen(options.listen, engine.charter().hosts.size), log);
  const socket = socketAddress(engine.home, process.cwd());
  const listen = `${ssh.address.includes(':') ? `[${ssh.address}]` : ssh.address}:${ssh.port}`;
  engine.listening(listen);
  const api = await serveApi({
    socketPath: socket,
    handle: (method, params, progress) => handleRequest(engine, method, params, progress),
    describe: (error) => {
      const described = describeError(error);
      if (described.code === 'INTERNAL') log.error({ err: error }, 'a request failed');
      return described;
    },
  });
  const cycle = (): void => {
    runCycle(engine).catch((error: unknown) => log.error({ err: error }, 'a sync cycle failed'));
  };
  const task = cron.schedule(options.schedule, cycle, { noOverlap: true, maxRandomDelay: syncJitterMs });
  setImmediate(cycle);
  log.info({ host: engine.identity.host, listen }, 'memd serves');
  return {
    host: engine.identity.host,
    listen,
    socket: engine.home.socket,
    engine,
    async stop() {
      await task.stop();
      await api.close();
      await ssh.close();
      await engine.close();
      log.info('memd stopped');
    },
  };
}

function openSshServer(engine: Engine, listen: ListenAddress, log: Logger): Promise<SshServer> {
  return startSshServer({
    hostKey: engine.keys.ssh.pem,
    repositoryDir: engine.home.repository,
    listen,
    charterHosts: () => engine.charter().hosts,
    heads: () => headsLine(engine),
    onNote: (note) => log.warn(note, 'ssh'),
  });
}
