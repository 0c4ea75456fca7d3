/** memd: the composition root of the running daemon. Opens the engine, serves peers and the local API, keeps the schedule. */
import cron from 'node-cron';
import { pino, type Logger } from 'pino';
import { socketAddress } from '../store/home/home.ts';
import { serveApi, type ApiServer } from './api/api-server.ts';
import type { Config } from './config/config.ts';
import { defaultSync } from './config/config-file.ts';
import { onSchedule } from './cron-schedule.ts';
import { describeError } from './describe-error.ts';
import { openEngine, type Engine } from './engine.ts';
import { logOutput } from './log-output.ts';
import { handleRequest } from './api/handlers.ts';
import { sessionsOf } from './session/sessions.ts';
import { keepMaintained, maintenanceSchedule } from './maintain/schedule.ts';
import type { Notifying } from './notify/notifying.ts';
import { startNotifying } from './notify/start.ts';
import { futureClocks, newestEvents } from './queries/health.ts';
import { tipsOf } from './queries/sound-rows.ts';
import { openSshListener, type SshListener } from './peers/ssh-listener.ts';
import { runSchedule } from './peers/sync-cycle.ts';
import { keepQuiet } from './quiet.ts';
import { Refusal } from './refusal.ts';

export interface MemdOptions {
  /** Absolute home folder. */
  readonly home: string;
  /** ADDRESS:PORT; undefined takes what the config says, else what init recorded. */
  readonly listen?: string | undefined;
  /** Cron expression of the fetch schedule, with seconds; undefined takes the config's. */
  readonly sync?: string | undefined;
  /** Appends do not wait for peers that cannot be reached. */
  readonly offline?: boolean | undefined;
  /** What config.toml says; every default without it. */
  readonly config?: Config | undefined;
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

/** Spreads hosts that started together. */
const syncJitterMs = 5_000;

/** Starts the daemon. Resolves once it serves. */
export async function startMemd(options: MemdOptions): Promise<Memd> {
  const { config } = options;
  const schedule = requireSchedule(options);
  const maintainAt = maintenanceSchedule(config);
  const log = pino({ base: null, level: process.env['MEMD_LOG'] ?? 'info' }, logOutput(2));
  let follow = (): void => undefined;
  let notifying: Notifying | undefined;
  let rekeyed = (): Promise<void> => Promise.resolve();
  const engine = await openEngine({
    home: options.home,
    daemon: true,
    offline: options.offline ?? false,
    ...(config === undefined ? {} : { config }),
    log,
    onCharter: () => follow(),
    onPeers: (what) => (what === 'caught-up' ? notifying?.ready() : notifying?.look()),
    onKeys: () => rekeyed(),
  });
  const ends: (() => Promise<unknown>)[] = [() => engine.close()];
  const stop = async (): Promise<void> => {
    const end = ends.pop();
    if (end === undefined) return;
    try {
      await end();
    } finally {
      // Whatever one part fails at, the others end too, and the lock is given back.
      await stop();
    }
  };
  try {
    const ssh = await openSshListener(engine, options.listen ?? config?.ssh.listen ?? engine.identity.listen);
    ends.push(ssh.close);
    follow = () => {
      ssh.expel();
      void ssh.follow().catch((error: unknown) => log.error({ err: error }, 'cannot listen'));
    };
    engine.beliefs.onChanged(ssh.tell);
    rekeyed = () => ssh.reopen().catch((error: unknown) => log.error({ err: error }, 'cannot listen'));
    ends.push((await openApi(engine, log, ssh.piped)).close);
    notifying = startNotifying(engine, log);
    ends.push(notifying.close);
    const listenAgain = (): void =>
      void ssh.retry().catch((error: unknown) => log.warn({ err: error }, 'still cannot listen'));
    const maintained = keepMaintained(engine, maintainAt);
    ends.push(maintained.close);
    ends.push(keepSchedule(engine, { schedule, listenAgain, notifying, awake: maintained.awake, log }));
    engine.targets.start();
    const rest = (): void => {
      if (ends.length === 0) return;
      const quiet = keepQuiet({ pack: engine.beliefs.pack });
      engine.beliefs.onChanged(quiet.stir);
      ends.push(() => Promise.resolve(quiet.close()));
    };
    setImmediate(() => void warmSessions(engine, log).then(rest));
    const { host } = engine.identity;
    log.info({ host, listen: ssh.listening() }, 'memd serves');
    return { host, listen: ssh.listening(), socket: engine.home.socket, engine, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function warmSessions(engine: Engine, log: Logger): Promise<void> {
  try {
    await sessionsOf(engine).warm();
  } catch (error) {
    log.warn({ err: error }, 'cannot read the logs yet');
  }
}

function requireSchedule({ sync, config }: MemdOptions): string {
  const schedule = sync ?? config?.sync.schedule ?? defaultSync;
  if (cron.validate(schedule)) return schedule;
  throw new Refusal({
    code: sync === undefined ? 'CONFIG_INVALID' : 'BAD_REQUEST',
    message: `${sync === undefined ? `${config?.file ?? ''}: sync.schedule` : '--sync'} ${schedule} is not a cron expression`,
    hint: `for example ${defaultSync}`,
    exit: 2,
  });
}

function openApi(engine: Engine, log: Logger, serve: SshListener['piped']): Promise<ApiServer> {
  return serveApi({
    serve,
    socketPath: socketAddress(engine.home),
    handle: (method, params, progress) => handleRequest(engine, method, params, progress),
    describe: (error) => {
      const described = describeError(error);
      if (described.code === 'INTERNAL') log.error({ err: error }, 'a request failed');
      return described;
    },
  });
}

/** Cycles on the schedule and once at the start. @returns what ends it. */
function keepSchedule(
  engine: Engine,
  {
    schedule,
    listenAgain,
    notifying,
    awake,
    log,
  }: {
    readonly schedule: string;
    readonly listenAgain: () => void;
    readonly notifying: Notifying;
    readonly awake: () => void;
    readonly log: Logger;
  },
): () => Promise<unknown> {
  const slept = sleepDetector();
  const noteClocks = clockNoter(engine, log);
  const cycle = async (): Promise<void> => {
    listenAgain();
    const isAwake = slept();
    // What was missed in a sleep is fetched before anybody hears of it.
    if (isAwake) notifying.asleep();
    if (isAwake) awake();
    try {
      await runSchedule(engine, isAwake);
    } catch (error) {
      log.error({ err: error }, 'a sync cycle failed');
      // A home that may not fetch has something to tell all the same.
      notifying.ready();
    }
    notifying.look();
    noteClocks();
  };
  const work = (): void => void cycle().catch((error: unknown) => log.error({ err: error }, 'a sync cycle failed'));
  const task = onSchedule(schedule, { work, spreadMs: syncJitterMs });
  setImmediate(work);
  return async () => task.stop();
}

/** Logs once of each host that its clock, or ours, is wrong. Nothing else ever comes of it. */
function clockNoter(engine: Engine, log: Logger): () => void {
  const noted = new Set<string>();
  return () => {
    try {
      const { database } = engine.beliefs;
      for (const [host, at] of futureClocks(newestEvents(database, tipsOf(database)), Date.now())) {
        if (!noted.has(host)) log.warn({ host, at }, 'a line claims to be of the future');
        noted.add(host);
      }
    } catch (error) {
      log.debug({ err: error }, 'cannot look at the times of lines');
    }
  };
}

/** How much further the clock on the wall may run than the other one, which stands still in a sleep. A clock that is set costs one cycle. */
const sleepMinMs = 30_000;

/** Says whether this machine was suspended since it was last asked. */
function sleepDetector(): () => boolean {
  let [wall, running] = [Date.now(), performance.now()];
  return () => {
    const [wallBefore, runningBefore] = [wall, running];
    [wall, running] = [Date.now(), performance.now()];
    return wall - wallBefore - (running - runningBefore) > sleepMinMs;
  };
}
