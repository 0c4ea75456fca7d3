/** Real hosts on this machine: a home each, memctl as a process, memd as a process, ssh on loopback. */
import { spawn } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from './free-port.ts';
import type { Place } from './network.ts';
import { pause, processesMentioning, startProcess, type DrillProcess } from './process.ts';

const bin = fileURLToPath(new URL('../../bin/', import.meta.url));

/** What one run of memctl gave. */
export interface CtlResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly input?: string | Uint8Array;
  /** Over the environment of this process; undefined takes a variable away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** As a person runs it: a copied home finds out that it is one. */
  readonly bound?: boolean;
  /** Runs as this user and group; only root can. */
  readonly uid?: number;
  /** Words before the command: `ip netns exec NAME`. */
  readonly within?: readonly string[];
}

export interface TestHost {
  readonly name: string;
  readonly home: string;
  readonly port: number;
  readonly address: string;
  /** What others are told of where it is; undefined: what memctl makes of its listen address. */
  readonly told: string | undefined;
  /** Runs memctl for this home with a closed stdin; any exit code is a result. */
  ctl(...args: readonly string[]): Promise<CtlResult>;
  /** Runs memctl --json, requires exit 0, and gives its document. */
  json<T>(...args: readonly string[]): Promise<T>;
  /**
   * Starts memd, at another address for a copy of another host's home, and waits until it serves. Its schedule is slow:
   * cycles are asked for by `fetch`.
   */
  start(at?: string): Promise<DrillProcess>;
  /** Asks the memd that was started last to end. @returns its exit code; 0 where none was started. */
  stop(): Promise<number>;
  /** Kills the memd that was started last; nothing of it writes in the home any more. */
  halt(): Promise<void>;
  /** Kills the memd that was started last, and starts another. */
  restart(): Promise<DrillProcess>;
}

export interface HostOptions {
  /** Folder that holds every home and the configuration of this test. */
  readonly folder: string;
  readonly name: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** In a network of its own. */
  readonly place?: Place;
  /** Cron expression of its schedule; never if not given. */
  readonly sync?: string;
  /** Is told of every memd that starts, so that somebody ends it. */
  readonly started: (process: DrillProcess) => void;
}

/** Two busy cores: a memd that starts in half a second when it is alone. */
const startDeadlineMs = 60_000;
/** How long a child of a memd that was killed may live on. */
const goneDeadlineMs = 60_000;
/** Hosts that fetch from each other have all there is by then, also where a connection has to be made once more. */
const convergeDeadlineMs = 60_000;

/** A cron expression that never comes while a drill runs. */
const neverSync = '0 0 0 1 1 *';

/** Lays out a host; nothing runs yet. */
export async function layHost(options: HostOptions): Promise<TestHost> {
  const { folder, name, place, sync = neverSync } = options;
  const home = join(folder, name);
  const address = place?.listen ?? `127.0.0.1:${await freePort()}`;
  const port = Number(address.slice(address.lastIndexOf(':') + 1));
  const env = { ...isolated(folder), ...place?.environment, ...options.environment };
  const within = place?.within ?? [];
  const ctl = (...args: readonly string[]): Promise<CtlResult> => runMemctl(['--home', home, ...args], { env, within });
  let last: DrillProcess | undefined;
  const start = async (at = address): Promise<DrillProcess> => {
    unbind(home);
    const words = [join(bin, 'memd'), '--home', home, '--listen', at, '--sync', sync, '--json'];
    const [command = '', ...args] = [...within, process.execPath, ...words];
    const memd = startProcess({ command, args, env });
    options.started(memd);
    last = memd;
    await memd.line(/"ready":true/, startDeadlineMs);
    return memd;
  };
  return {
    name,
    home,
    port,
    address,
    told: place?.told,
    ctl,
    async json<T>(...args: readonly string[]) {
      const { code, stdout, stderr } = await ctl(...args, '--json');
      if (code !== 0) throw new Error(`memctl ${args.join(' ')} on ${name}: exit ${code}: ${stderr}${stdout}`);
      return JSON.parse(stdout) as T;
    },
    start,
    async stop() {
      last?.signal('SIGTERM');
      return (await last?.ended) ?? 0;
    },
    async halt() {
      await last?.end();
      await untilGone(home);
    },
    async restart() {
      await last?.end();
      return start();
    },
  };
}

/** Children of a memd that was killed are in groups of their own, and go on until they find that nobody hears them. */
async function untilGone(home: string): Promise<void> {
  const start = performance.now();
  for (;;) {
    const left = processesMentioning(`${home}/`);
    if (left.length === 0) return;
    if (performance.now() - start > goneDeadlineMs) throw new Error(`still at work in ${home}: ${left.join(', ')}`);
    await pause(10);
  }
}

/** Environment without anything of the person who runs the test. */
export function isolated(folder: string): Record<string, string> {
  return {
    XDG_CONFIG_HOME: join(folder, 'config'),
    XDG_CACHE_HOME: join(folder, 'cache'),
    HOME: folder,
    MEMD_HOME: '',
    SSH_AUTH_SOCK: '',
    // Peers of a test come and go; what waits for them is tested where it is meant.
    MEMD_OFFLINE: '1',
  };
}

/** Tests put homes back from copies all the time; one without its marker takes the place where it is for its own. */
function unbind(home: string): void {
  const marker = join(home, 'machine.marker');
  if (existsSync(marker)) rmSync(marker);
}

/** Runs memctl to its end, at most two minutes, with exactly these arguments. Without input its stdin is closed. */
export function runMemctl(args: readonly string[], options: RunOptions): Promise<CtlResult> {
  const { input, cwd, env, uid, within = [] } = options;
  const [command = '', ...words] = [...within, process.execPath, join(bin, 'memctl'), ...args];
  const home = args[args.indexOf('--home') + 1];
  if (args.includes('--home') && options.bound !== true) unbind(home ?? '');
  return new Promise((resolve, reject) => {
    const child = spawn(command, words, {
      cwd,
      ...(uid === undefined ? {} : { uid, gid: uid }),
      env: { ...process.env, ...env },
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      timeout: 120_000,
    });
    let [stdout, stderr] = ['', ''];
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    // A command that refuses before it has read everything closes the pipe.
    child.stdin?.on('error', () => undefined).end(input);
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? 255, stdout, stderr }));
  });
}

/** Starts a mesh: the first host founds it, the others are enrolled over ssh; every memd runs. @returns the mesh id. */
export async function formMesh(hosts: readonly TestHost[]): Promise<string> {
  const [founder, ...others] = hosts;
  if (founder === undefined) throw new Error('a mesh has a first host');
  const { mesh } = await founder.json<{ mesh: string }>('init', '--host', founder.name, '--listen', founder.address);
  await founder.start();
  for (const host of others) {
    await enrol(founder, host, mesh);
    await host.start();
  }
  return mesh;
}

/** The three steps of enrolment, as people do them. `url`: where the founder is reached. @returns the id of the host-add. */
export async function enrol(
  founder: TestHost,
  host: TestHost,
  mesh: string,
  url: string = `ssh://${founder.address}`,
): Promise<string> {
  const told = host.told === undefined ? [] : ['--address', host.told];
  const listen = ['--listen', host.address];
  const { line } = await host.json<{ line: string }>('host', 'request', '--host', host.name, ...listen, ...told);
  const { id } = await founder.json<{ id: string }>('host', 'add', line, '--yes');
  await host.json('join', url, '--mesh', mesh);
  return id;
}

/** Every host fetches from every other, until nobody learns anything new. */
export async function converge(hosts: readonly TestHost[]): Promise<void> {
  const start = performance.now();
  for (let round = 0; ; round += 1) {
    const left = await fetchRound(hosts);
    if (left.length === 0) return;
    if (round > 1 && performance.now() - start > convergeDeadlineMs)
      throw new Error(`the hosts did not converge in ${round + 1} rounds: ${left.join('; ')}`);
  }
}

/** A host fetches from a peer that has just started or come back; at the first try nobody may answer yet. */
export async function fetchUp(host: TestHost, peer: string): Promise<void> {
  for (const start = performance.now(); ;) {
    const [{ state, reason = '' } = { state: 'not known' }] = await fetchedBy(host, peer);
    if (state === 'up') return;
    if (performance.now() - start > convergeDeadlineMs)
      throw new Error(`${host.name} does not reach ${peer}: ${state} ${reason}`);
  }
}

/** @returns what keeps them from being of one mind. */
async function fetchRound(hosts: readonly TestHost[]): Promise<readonly string[]> {
  const left: string[] = [];
  for (const host of hosts)
    for (const { peer, state, new: count, reason = '' } of await fetchedBy(host))
      if (state !== 'up' || count > 0) left.push(`${host.name}: ${peer} is ${state}, ${count} new ${reason}`);
  return left;
}

/** Exit code 1: no peer could be reached this time. */
async function fetchedBy(host: TestHost, ...peer: readonly string[]): Promise<readonly Fetched[]> {
  const { code, stdout, stderr } = await host.ctl('fetch', ...peer, '--json');
  const peers = JSON.parse(stdout) as unknown;
  if (!Array.isArray(peers)) throw new Error(`memctl fetch on ${host.name}: exit ${code}: ${stderr}${stdout}`);
  return peers as readonly Fetched[];
}

interface Fetched {
  readonly peer: string;
  readonly state: string;
  readonly new: number;
  readonly reason?: string;
}
