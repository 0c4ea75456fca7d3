/** An enrolled host that is an enemy, as server and as client: refused, bounded, named, and nobody else is disturbed. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { dataPacket, delimiterPacket, flushPacket } from '../src/mesh/fetch/pkt-line.ts';
import { initRepository, type Repository } from '../src/store/git/repository.ts';
import { openApi, type ApiConnection } from './lib/api.ts';
import { DrillFailure, type DrillContext } from './lib/drill.ts';
import {
  bombs,
  layLongHistory,
  longHistories,
  manyLines,
  nonsense,
  oddLogs,
  type Attempt,
} from './lib/hostile-attempts.ts';
import { exec, formHostileMesh, packing, saying, serving, type HostileHost } from './lib/hostile-host.ts';
import { layHost, type TestHost } from './lib/hosts.ts';
import { until } from './lib/live-mesh.ts';
import { canWatchMemory, watchMemory, type MemoryWatch } from './lib/process-memory.ts';

export const name = 'hostile-peer';
export const promise =
  'whatever an enrolled enemy serves or asks: refused and named, memd grows by 64 MiB at most, a child has 64 MiB at most, nothing is left on disk, and a sound peer is served meanwhile';

const memdGrowthMibMax = 64;
const childMibMax = 64;
/** In one of so many attempts the sound peer is asked at the same time. */
const honestEvery = 3;
const vectors = fileURLToPath(new URL('../../shared/vectors/', import.meta.url));

interface World {
  readonly context: DrillContext;
  readonly alpha: TestHost;
  readonly beta: TestHost;
  readonly gamma: TestHost;
  readonly enemy: HostileHost;
  readonly memory: MemoryWatch;
  /** The victim's socket, and the sound peer's. */
  readonly api: ApiConnection;
  readonly betaApi: ApiConnection;
  readonly odd: Repository;
  readonly worst: { growth: number; child: number; held: number; honestMs: number; attempts: number };
}

export async function run(context: DrillContext): Promise<void> {
  if (!canWatchMemory()) context.skip('/proc does not tell what a process uses');
  const world = await start(context);
  try {
    await asServer(world);
    await asClient(world);
    await atTheEnd(world);
  } finally {
    world.memory.stop();
    world.api.close();
    world.betaApi.close();
    await world.enemy.close();
  }
}

async function start(context: DrillContext): Promise<World> {
  const folder = context.temporaryFolder();
  const lay = (host: string): Promise<TestHost> => layHost({ folder, name: host, started: context.adopt });
  context.step('alpha founds a mesh; beta and gamma are enrolled; gamma is an enemy and runs no memd');
  const { alpha, beta, gamma, memd, enemy } = await formHostileMesh(lay);
  const odd = await initRepository(join(folder, 'odd.git'), { host: 'gamma' });
  const api = await openApi(join(alpha.home, 'memd.sock'));
  const betaApi = await openApi(join(beta.home, 'memd.sock'));
  const memory = watchMemory(memd.pid);
  const worst = { growth: 0, child: 0, held: 0, honestMs: 0, attempts: 0 };
  const world = { context, alpha, beta, gamma, enemy, memory, api, betaApi, odd, worst };
  const events = Array.from({ length: 4_000 }, (_, index) =>
    lesson(`lesson/before-${index}`, randomBytes(300).toString('base64')),
  );
  await betaApi.call('append', { events });
  for (let round = 0; round < 20; round += 1) await honestCycle(world);
  world.worst.honestMs = 0;
  return world;
}

function lesson(subject: string, content: string): object {
  return { kind: 'lesson', subject, content };
}

interface Fetched {
  readonly peer: string;
  readonly state: string;
  readonly new: number;
  readonly reason?: string;
}

async function fetchFrom(api: ApiConnection, peer: string): Promise<Fetched> {
  const { result, error } = await api.call('fetch', { peer });
  const one = (result as { peers: Fetched[] } | undefined)?.peers[0];
  if (one === undefined) throw new Error(`fetch from ${peer}: ${error?.message ?? 'no answer'}`);
  return one;
}

let said = 0;

/** beta says something, and alpha has it. */
async function honestCycle({ api, betaApi, worst }: World): Promise<void> {
  said += 1;
  await betaApi.call('append', { events: [lesson(`lesson/honest-${said}`, `rule ${said}`)] });
  const started = performance.now();
  const { state, reason } = await fetchFrom(api, 'beta');
  worst.honestMs = Math.max(worst.honestMs, performance.now() - started);
  must(state === 'up', `beta is ${state}: ${reason}`);
}

function must(holds: boolean, sentence: string): void {
  if (!holds) throw new DrillFailure(sentence);
}

async function attempt(world: World, { what, lines, pack, heads, oid, reason }: Attempt): Promise<void> {
  const { alpha, api, enemy, memory, worst } = world;
  worst.attempts += 1;
  enemy.answers.pack = pack;
  enemy.answers.heads = heads;
  const made = worst.attempts.toString(16).padStart(40, 'c');
  enemy.claim({ gamma: { oid: oid ?? made, seq: lines, link: made.padEnd(64, 'd') } });
  memory.reset();
  const quarantine = join(alpha.home, 'repo.git', 'quarantine');
  const held = watchFolder(quarantine);
  const [outcome] = await Promise.all([
    fetchFrom(api, 'gamma'),
    worst.attempts % honestEvery === 0 ? honestCycle(world) : undefined,
  ]);
  worst.held = Math.max(worst.held, held.stop());
  const growth = memory.growth();
  const child = memory.child();
  worst.growth = Math.max(worst.growth, growth);
  worst.child = Math.max(worst.child, child.mib);
  const words = outcome.reason ?? '';
  must(outcome.state !== 'up' && outcome.new === 0, `${what}: ${outcome.state}, ${outcome.new} new`);
  must(reason.test(words), `${what}: refused as ${words}`);
  must(/^[\u0020-\u007e…]*$/.test(words), `${what}: its words are fit for a terminal: ${words}`);
  must(growth <= memdGrowthMibMax, `${what}: memd grew by ${growth.toFixed(0)} MiB`);
  must(child.mib <= childMibMax, `${what}: ${child.command} took ${child.mib.toFixed(0)} MiB`);
  await untilEmpty(quarantine, what);
  must(!existsSync(join(alpha.home, 'repo.git/refs/heads/log/gamma')), `${what}: it is no log`);
}

/** What beta says is fetched through there too, whenever it says something. */
async function untilEmpty(folder: string, what: string): Promise<void> {
  await until(`${what}: nothing is left in the quarantine`, async () => {
    const left = readdirSync(folder);
    return left.length === 0 || left.join();
  });
}

/** MiB that a folder held at most. */
function watchFolder(folder: string): { stop(): number } {
  let most = 0;
  const look = (): void => void (most = Math.max(most, sizeOf(folder)));
  const timer = setInterval(look, 20);
  return {
    stop() {
      clearInterval(timer);
      return most / 1_048_576;
    },
  };
}

function sizeOf(path: string): number {
  try {
    const stat = statSync(path);
    if (!stat.isDirectory()) return stat.size;
    return readdirSync(path).reduce((sum, entry) => sum + sizeOf(join(path, entry)), 0);
  } catch {
    return 0;
  }
}

async function asServer(world: World): Promise<void> {
  const { context, worst } = world;
  context.step('gamma announces a million lines, and sends a history as long as one answer or one fetch may be');
  for (const one of longHistories(world.odd)) await attempt(world, one);
  report(world);
  context.step('gamma answers with nonsense, with nothing, and without an end');
  for (const one of nonsense()) await attempt(world, one);
  report(world);
  context.step('gamma sends bombs: small packs, large objects');
  for (const one of bombs()) await attempt(world, one);
  report(world);
  context.step('gamma sends trees and lines that are no log: a line of 10 MB, deep nesting, links, odd names');
  for (const one of await oddLogs(world.odd)) await attempt(world, one);
  report(world);
  await outside(world);
  context.evidence(
    `${worst.attempts} attempts in all; a cycle with beta meanwhile took ${worst.honestMs.toFixed(0)} ms at most`,
  );
}

function report({ context, worst }: World): void {
  const [growth, child, held] = [worst.growth, worst.child, worst.held].map((mib) => mib.toFixed(0));
  context.evidence(
    `${worst.attempts} attempts so far: memd grew by ${growth} MiB at most, the largest child had ${child} MiB, the quarantine held ${held} MiB at most and is empty`,
  );
}

/** Data of outside makers, where it lies beside the checkout. */
async function outside(world: World): Promise<void> {
  const { context } = world;
  const folder = join(vectors, 'git');
  if (!existsSync(folder)) return context.evidence('NOT RUN: ../shared/vectors/git is not here');
  const packs = readdirSync(join(folder, 'packs'));
  context.step(
    `gamma sends the ${packs.length} packs of ../shared/vectors/git, unpacked and kept, and its repositories`,
  );
  for (const file of packs) {
    const pack = packing(readFileSync(join(folder, 'packs', file)));
    for (const lines of [1, manyLines]) await attempt(world, { what: file, lines, pack, reason: /./ });
  }
  const into = context.temporaryFolder();
  let repositories = 0;
  for (const file of readdirSync(join(folder, 'repos'))) {
    const repository = join(into, file.replace(/\.tar\.gz$/, ''));
    mkdirSync(into, { recursive: true });
    execFileSync('tar', ['-xzf', join(folder, 'repos', file), '-C', into, '--no-same-owner']);
    const main = join(repository, 'refs/heads/main');
    if (!existsSync(main)) continue;
    repositories += 1;
    const oid = readFileSync(main, 'utf8').trim();
    await attempt(world, { what: file, lines: manyLines, oid, pack: serving(repository), reason: /./ });
  }
  report(world);
  context.evidence(`${packs.length} packs twice and ${repositories} repositories, each refused with a reason`);
}

async function asClient(world: World): Promise<void> {
  const { context, memory } = world;
  context.step('gamma opens what it never uses: 60 sockets that say nothing or a byte a second, 1 MiB of greeting');
  memory.reset();
  const sockets = Array.from({ length: 60 }, (_, index) => openSocket(world.alpha.port, index));
  await honestCycle(world);
  await Promise.all(sockets);
  await honestCycle(world);
  requireBounds(world, 'sockets that are not used');
  context.evidence('every one of them was ended within the login time; beta was served before and after');

  context.step('gamma logs in with its key and runs what is not offered');
  const client = await world.enemy.logIn(world.alpha);
  const commands = outsideCommands();
  memory.reset();
  for (const command of commands) {
    const code = await codeOf(world, command);
    must(code !== 0, `"${command.slice(0, 40)}" is refused`);
  }
  requireBounds(world, 'commands that are not offered');
  context.evidence(`${commands.length} commands refused`);
  client.end();
  await askForTooMuch(world);
  await packFlood(world);
}

/** Resolves when the other side has ended it. */
function openSocket(port: number, index: number): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const timer = setInterval(() => index % 3 === 1 && socket.write('S'), 1_000);
    socket.on('connect', () => index % 3 === 2 && socket.write(`SSH-2.0-${'a'.repeat(1_048_576)}`));
    socket.on('error', () => undefined).resume();
    socket.on('close', () => {
      clearInterval(timer);
      resolve();
    });
  });
}

function outsideCommands(): readonly string[] {
  const own = ["git-receive-pack '/log'", "git-upload-pack '/log'; id", 'sh', 'memd', "git-upload-pack '../log'"];
  const file = join(vectors, 'ssh2', 'exec-commands.json');
  if (!existsSync(file)) return own;
  const { exec_commands: listed } = JSON.parse(readFileSync(file, 'utf8')) as {
    exec_commands: { cmd: string; right: string }[];
  };
  return [...own, ...listed.filter(({ right }) => right.startsWith('refuse:')).map(({ cmd }) => cmd)];
}

async function codeOf({ enemy, alpha }: World, command: string): Promise<number | null> {
  const client = await enemy.logIn(alpha);
  const channel = await exec(client, command).catch(() => undefined);
  const code = channel === undefined ? null : await endOf(channel);
  client.end();
  return code;
}

/** alpha holds a history longer than one answer may be; gamma asks for all of it, and then as a sound host would. */
async function askForTooMuch(world: World): Promise<void> {
  const { context, memory, alpha, enemy } = world;
  context.step('gamma asks for 180 000 objects in one answer');
  const oid = layLongHistory(join(alpha.home, 'repo.git'), 60_000);
  memory.reset();
  const asked = [`want ${oid}\n`, 'deepen 10000\n', 'done\n'];
  for (const whole of [true, false]) {
    const client = await enemy.logIn(alpha);
    let bytes = 0;
    const code = await new Promise<number | null>((resolve, reject) => {
      const command = exec(client, "git-upload-pack '/log'", resolve);
      command.then((channel) => {
        channel.on('data', (chunk: Buffer) => (bytes += chunk.length));
        const lines = whole ? asked.filter((line) => !line.startsWith('deepen')) : asked;
        const request = ['command=fetch\n', 'object-format=sha1\n'].map(dataPacket);
        channel.end(Buffer.concat([...request, delimiterPacket, ...lines.map(dataPacket), flushPacket]));
      }, reject);
    });
    client.end();
    requireBounds(world, whole ? 'everything asked for at once' : 'a part asked for');
    must((code === 0) === !whole, `${whole ? 'everything' : 'a part'}: exit code ${code}, ${bytes} bytes`);
  }
  context.evidence(
    `everything at once is refused, 10 000 commits are served; the largest child had ${memory.child().mib.toFixed(0)} MiB`,
  );
}

function endOf(channel: {
  resume(): unknown;
  once(event: 'close', told: (code?: number | null) => void): unknown;
}): Promise<number | null> {
  return new Promise((resolve) => {
    channel.resume();
    channel.once('close', (code) => resolve(code ?? null));
  });
}

/** As many fetches at once as it likes, which it never reads; and beta fetches meanwhile. */
async function packFlood(world: World): Promise<void> {
  const { context, memory, enemy, alpha, betaApi } = world;
  context.step('gamma asks for 32 fetches at once and reads none of them');
  memory.reset();
  const busy: (number | null)[] = [];
  for (let connection = 0; connection < 8; connection += 1) {
    const client = await enemy.logIn(alpha);
    for (let at = 0; at < 4; at += 1) {
      await exec(client, "git-upload-pack '/log'", (code) => busy.push(code));
    }
  }
  await world.api.call('append', { events: [lesson('lesson/of-alpha', 'said while it was flooded')] });
  const { state, reason } = await fetchFrom(betaApi, 'alpha');
  // The nudge may have brought it before.
  const held = (await betaApi.call('recall', { subject: 'lesson/of-alpha' })).result as { readonly status: string };
  must(state === 'up' && held.status === 'served', `beta meanwhile: alpha ${state} ${reason ?? ''}, ${held.status}`);
  await until('28 of 32 are turned away', async () => busy.length >= 28 || `${busy.length} of 32`);
  requireBounds(world, 'a flood of fetches');
  context.evidence(
    `${busy.filter((code) => code === 75).length} of 32 told to come back later; beta was served meanwhile`,
  );
}

function requireBounds({ memory, worst }: World, what: string): void {
  const growth = memory.growth();
  const child = memory.child();
  worst.growth = Math.max(worst.growth, growth);
  worst.child = Math.max(worst.child, child.mib);
  must(growth <= memdGrowthMibMax, `${what}: memd grew by ${growth.toFixed(0)} MiB`);
  must(child.mib <= childMibMax, `${what}: ${child.command} took ${child.mib.toFixed(0)} MiB`);
}

async function atTheEnd(world: World): Promise<void> {
  const { context, alpha } = world;
  context.step('what alpha says of it');
  await attempt(world, { what: 'garbage once more', lines: 1, pack: saying(Buffer.from('zzzz')), reason: /^PROTOCOL/ });
  const status = await alpha.json<{ peers: { host: string; state: string; reason?: string }[] }>('status');
  const [beta, gamma] = ['beta', 'gamma'].map((host) => status.peers.find((peer) => peer.host === host));
  must(beta?.state === 'up', 'beta is up');
  must(gamma?.state === 'refused' && (gamma.reason ?? '') !== '', `gamma is ${gamma?.state}`);
  const { ok, problems } = await alpha.json<{ ok: boolean; problems: string[] }>('verify', '--deep');
  must(ok, `verify --deep: ${problems.join('; ')}`);
  report(world);
  context.evidence(`gamma is refused (${gamma?.reason}); beta is up; verify --deep is clean`);
}
