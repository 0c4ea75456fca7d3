/** memd: the composition root of the running daemon. Opens the engine, serves peers and the local API, keeps the schedule. */
import cron from 'node-cron';
import { pino, type Logger } from 'pino';
import { socketAddress } from '../store/home.ts';
import { serveApi, type ApiServer } from './api-server.ts';
import { describeError } from './describe-error.ts';
import { openEngine, type Engine } from './engine.ts';
import { handleRequest } from './handlers.ts';
import { openSshListener } from './ssh-listener.ts';
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
  let follow = (): void => undefined;
  const engine = await openEngine({ home: options.home, daemon: true, log, onCharter: () => follow() });
  const ends: (() => Promise<unknown>)[] = [() => engine.close()];
  const stop = async (): Promise<void> => {
    for (const end of ends.splice(0).toReversed()) await end();
  };
  try {
    const ssh = await openSshListener(engine, options.listen ?? engine.identity.listen);
    ends.push(ssh.close);
    follow = () => void ssh.follow().catch((error: unknown) => log.error({ err: error }, 'cannot listen'));
    ends.push((await openApi(engine, log)).close);
    ends.push(keepSchedule(engine, schedule, log));
    const { host } = engine.identity;
    log.info({ host, listen: ssh.listening() }, 'memd serves');
    return { host, listen: ssh.listening(), socket: engine.home.socket, engine, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function openApi(engine: Engine, log: Logger): Promise<ApiServer> {
  return serveApi({
    socketPath: socketAddress(engine.home, process.cwd()),
    handle: (method, params, progress) => handleRequest(engine, method, params, progress),
    describe: (error) => {
      const described = describeError(error);
      if (described.code === 'INTERNAL') log.error({ err: error }, 'a request failed');
      return described;
    },
  });
}

/** Cycles on the schedule and once at the start. @returns what ends it. */
function keepSchedule(engine: Engine, schedule: string, log: Logger): () => Promise<unknown> {
  const cycle = (): void => {
    runCycle(engine).catch((error: unknown) => log.error({ err: error }, 'a sync cycle failed'));
  };
  const task = cron.schedule(schedule, cycle, { noOverlap: true, maxRandomDelay: syncJitterMs });
  setImmediate(cycle);
  return async () => task.stop();
}
