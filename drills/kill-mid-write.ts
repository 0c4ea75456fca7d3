/**
 * SIGKILL at random moments while requests are in flight, bulk appends and packing among them: the daemon alone, its process
 * group, a git child of it, whatever that does, also of one that has just been started and reads its logs. The last quarter
 * beside a peer that writes too, most of them while its lines are being fetched.
 * `--kills=N` (default 210), `--target=memd|writer`.
 */
import type { Random } from '../test/lib/random.ts';
import { openApi } from './lib/api.ts';
import { checkAgainstLedger, checkRepository } from './lib/check-log.ts';
import { startClients, type Clients } from './lib/clients.ts';
import type { DrillContext } from './lib/drill.ts';
import { freePort } from './lib/free-port.ts';
import { huntGitChild, workOf, type GitHunt } from './lib/git-hunt.ts';
import { until } from './lib/live-mesh.ts';
import { childrenOf, killProcess, pause, processesMentioning } from './lib/process.ts';
import { createTarget, type RunningTarget, type Target } from './lib/target.ts';
import {
  addWritingPeer,
  checkBoth,
  checkCopy,
  untilBothHold,
  untilFetching,
  untilTaken,
  type WritingPeer,
} from './lib/writing-peer.ts';

export const name = 'kill-mid-write';
export const promise =
  'every acknowledged event exists exactly once after SIGKILL at any moment, also of a fetch; no torn line, no gap in seq, on any host';

const killsDefault = 210;
const clientCount = 4;
/** Above the bulk threshold of memd and of the writer, so that a git child runs. */
const bulkEvents = 2_100;
/** So many are kept as a pack by git. */
const packedEvents = 4_200;
/** An append takes 3 to 20 ms: kills fall into the first one after a start, into one of the first few, or much later. */
const appendSpreadsMs: readonly number[] = [20, 60, 400];
/** A bulk append takes 100 to 500 ms. */
const bulkSpreadMs = 300;
const checkEvery = 40;
/** Part of the kills that happens beside a peer; and of those, how many wait for a fetch. */
const peerShare = 1 / 4;
const fetchShare = 3 / 4;
/** Part of the starts in which a git child is killed: alone, and beside a peer, whose copy of the log is an older one then. */
const huntShare = { alone: 1 / 4, beside: 2 / 3 } as const;
/** How long after a start, and how long at any other time, a git child is waited for. */
const startHuntMs = 400;
const huntMs = 1_500;
/** What comes with a fetch takes a few milliseconds, or some 100 where it is many lines. */
const fetchSpreadsMs: readonly number[] = [2, 10, 60];

/** How long a request, or an answer, is waited for. */
const patienceMs = 60_000;

type Kind = 'alone' | 'group' | 'git child';

interface Tally {
  readonly kills: Record<Kind, number>;
  inFlight: number;
  duringBulk: number;
  duringMaintenance: number;
  childRefused: number;
  duringFetch: number;
  /** Git children that were killed in a start, and of those, how many kept it from serving. */
  inStart: number;
  startRefused: number;
  /** What the git children were at. */
  readonly work: Map<string, number>;
}

interface Scene {
  readonly target: Target;
  readonly running: RunningTarget;
  readonly clients: Clients;
  readonly tally: Tally;
  readonly peer: WritingPeer | undefined;
}

/**
 * Most kills are of the daemon; one in eight goes for a git child, of a bulk append or any; a third happen while a bulk
 * append runs.
 */
function chooseKill(random: Random): {
  kind: Kind;
  any: boolean;
  bulk: boolean;
  maintain: boolean;
  /** Not before something was acknowledged since the start: a slow machine would be killed in its first append each time. */
  settled: boolean;
  delayMs: number;
} {
  const draw = random.below(8);
  const kind: Kind = draw === 0 ? 'git child' : draw < 4 ? 'group' : 'alone';
  const any = kind === 'git child' && random.below(2) === 0;
  const bulk = kind === 'git child' ? !any : random.below(6) === 0;
  const maintain = kind !== 'git child' && random.below(4) === 0;
  const settled = random.below(3) === 0;
  return {
    kind,
    any,
    bulk,
    maintain,
    settled,
    delayMs: random.next() * (bulk ? bulkSpreadMs : random.pick(appendSpreadsMs)),
  };
}

async function untilInFlight(context: DrillContext, clients: Clients): Promise<void> {
  for (const start = performance.now(); clients.inFlight() === 0;) {
    context.check(performance.now() - start < patienceMs, 'no request was in flight for 60 s');
    await pause(1);
  }
}

/** A daemon that was killed goes on: without this a drill in which nothing is ever written again would pass. */
async function untilAcknowledged(context: DrillContext, { ledger }: Clients): Promise<void> {
  const before = ledger.acknowledged.size;
  for (const start = performance.now(); ledger.acknowledged.size === before;) {
    const waits = performance.now() - start < patienceMs;
    context.check(waits, `nothing was acknowledged for 60 s; last refusal: ${ledger.lastRefusal}`);
    await pause(1);
  }
}

/** Waits until the daemon has a git child that writes, at most so long. */
async function findGitChild(pid: number): Promise<number | undefined> {
  for (let tries = 0; tries < 2_000; tries += 1) {
    const child = childrenOf(pid, 'git').find((one) => workOf(one) === 'fast-import');
    if (child !== undefined) return child;
    await pause(1);
  }
  return undefined;
}

async function killGitChild(
  running: RunningTarget,
  clients: Clients,
  { tally, delayMs }: { readonly tally: Tally; readonly delayMs: number },
): Promise<number> {
  const answer = clients.bulk(bulkEvents);
  const child = await findGitChild(running.pid);
  // Spread over the life of the child: it may be gone again.
  await pause(delayMs / 5);
  const hit = child !== undefined && childrenOf(running.pid, 'git').includes(child);
  count(tally, hit ? [workOf(child) ?? 'gone'] : []);
  if (hit) killProcess(child);
  const outcome = await answer;
  if (hit && outcome === 'refused') tally.childRefused += 1;
  return hit ? 1 : 0;
}

/** Kills whatever git children come next that do more than read: of packing, or of what it has to do with its peer. @returns how many. */
async function killAnyChild(context: DrillContext, { running, clients, tally, peer }: Scene): Promise<number> {
  // Not waited for: beside clients that never rest it takes its time.
  if (peer === undefined || context.random.below(2) === 0) void askToPack(running.socket);
  await untilInFlight(context, clients);
  const killed = await huntGitChild(running.pid, context.random, { readers: false }).over(huntMs);
  count(tally, killed);
  return killed.length;
}

function count({ work }: Tally, killed: readonly string[]): void {
  for (const name of killed) work.set(name, (work.get(name) ?? 0) + 1);
}

/**
 * Starts it again; now and then git children are killed meanwhile. That may end the start, as it does under systemd; the next
 * one serves, and what is acknowledged then stands on all that was acknowledged before.
 */
async function startAgain(context: DrillContext, { target, clients, tally, peer }: Scene): Promise<RunningTarget> {
  const { random } = context;
  const share = peer === undefined ? huntShare.alone : huntShare.beside;
  if (target.name !== 'memd' || random.next() >= share) return target.start();
  let hunt: GitHunt | undefined;
  let running: RunningTarget | undefined;
  try {
    running = await target.start((pid) => (hunt = huntGitChild(pid, random)));
  } catch (error) {
    if (hunt === undefined || hunt.killed.length === 0) throw error;
    tally.startRefused += 1;
  }
  const killed = (await hunt?.over(running === undefined ? 0 : startHuntMs)) ?? [];
  count(tally, killed);
  tally.inStart += killed.length;
  tally.kills['git child'] += killed.length;
  context.check(running?.process.alive() !== false, 'the daemon ended because a git child of it was killed');
  running ??= await target.start();
  if (killed.length > 0) await untilAcknowledged(context, clients);
  return running;
}

async function killDaemon(
  context: DrillContext,
  running: RunningTarget,
  clients: Clients,
  kill: ReturnType<typeof chooseKill>,
): Promise<number> {
  if (kill.settled) await untilAcknowledged(context, clients);
  const bulk = kill.bulk ? clients.bulk(bulkEvents) : undefined;
  const packing = kill.maintain ? askToPack(running.socket) : undefined;
  await untilInFlight(context, clients);
  await pause(kill.delayMs);
  await untilInFlight(context, clients);
  const inFlight = clients.inFlight();
  if (kill.kind === 'group') running.process.kill(true);
  else killProcess(running.pid);
  await running.process.ended;
  await bulk;
  await packing;
  return inFlight;
}

/** Has memd pack its objects beside the appends; whatever comes of it. The small writer of the store refuses it. */
async function askToPack(socket: string): Promise<void> {
  try {
    const connection = await openApi(socket);
    await connection.call('maintain', { full: true }).finally(() => connection.close());
  } catch {
    // Killed meanwhile: that is what it is for.
  }
}

/** Kills it while it takes in lines of its peer, which now and then says many at once. */
async function killFetching(context: DrillContext, scene: Scene, peer: WritingPeer): Promise<RunningTarget> {
  const { target, running, clients, tally } = scene;
  const { random } = context;
  const bulk = random.below(6) === 0 ? peer.clients.bulk(bulkEvents) : undefined;
  // Killed in each first fetch after a start it would never have anything of its peer.
  if (random.below(2) === 0) await untilTaken(target, peer);
  const isFetching = await untilFetching(target);
  await pause(random.next() * random.pick(fetchSpreadsMs));
  await untilInFlight(context, clients);
  const whole = random.below(2) === 0;
  if (whole) running.process.kill(true);
  else killProcess(running.pid);
  await running.process.ended;
  tally.inFlight += 1;
  tally.kills[whole ? 'group' : 'alone'] += 1;
  if (isFetching) tally.duringFetch += 1;
  const next = await startAgain(context, scene);
  await bulk;
  return next;
}

async function killOnce(context: DrillContext, scene: Scene): Promise<RunningTarget> {
  const { running, clients, tally, peer } = scene;
  if (peer !== undefined && context.random.next() < fetchShare) return killFetching(context, scene, peer);
  const kill = chooseKill(context.random);
  if (kill.kind === 'git child') {
    const hits = kill.any
      ? await killAnyChild(context, scene)
      : await killGitChild(running, clients, { tally, delayMs: kill.delayMs });
    tally.kills['git child'] += hits;
    tally.inFlight += hits;
    context.check(running.process.alive(), 'the daemon ended because a git child of it was killed');
    return running;
  }
  tally.inFlight += (await killDaemon(context, running, clients, kill)) > 0 ? 1 : 0;
  tally.kills[kill.kind] += 1;
  if (kill.bulk) tally.duringBulk += 1;
  if (kill.maintain) tally.duringMaintenance += 1;
  return startAgain(context, scene);
}

export async function run(context: DrillContext): Promise<void> {
  const kills = Number(context.options.get('kills') || killsDefault);
  const folder = context.temporaryFolder();
  const address = `127.0.0.1:${await freePort()}`;
  const target = createTarget(context, folder, address);
  // Children of the daemon are in groups of their own, so they are looked for by the folder in their command line.
  context.onCleanup(() => processesMentioning(folder).forEach(killProcess));
  context.step(`start ${target.name} and ${clientCount} clients; ${kills} kills`);
  let running = await target.start();
  const clients = startClients({ socket: running.socket, count: clientCount, random: context.random });
  const tally: Tally = {
    kills: { alone: 0, group: 0, 'git child': 0 },
    inFlight: 0,
    duringBulk: 0,
    duringMaintenance: 0,
    childRefused: 0,
    duringFetch: 0,
    inStart: 0,
    startRefused: 0,
    work: new Map(),
  };
  let peer: WritingPeer | undefined;
  // What is packed is read through a git child: from now on every start has one.
  await clients.bulk(packedEvents);
  const done = (): number => tally.kills.alone + tally.kills.group + tally.kills['git child'];
  for (let [checked, known] = [0, 0]; done() < kills;) {
    if (peer === undefined && target.name === 'memd' && done() >= kills * (1 - peerShare)) {
      context.step(`${done()} kills; a peer is enrolled, and writes from now on`);
      peer = await addWritingPeer(context, target, { folder, address });
    }
    running = await killOnce(context, { target, running, clients, tally, peer });
    if (done() < checked + checkEvery) continue;
    checked = done();
    const { size } = clients.ledger.acknowledged;
    context.check(size > known, `nothing was acknowledged meanwhile; last refusal: ${clients.ledger.lastRefusal}`);
    known = size;
    const lines = checkAgainstLedger(context, target, clients.ledger, { every: false });
    const copied = peer === undefined ? '' : `; ${checkCopy(context, target, peer)} lines of its peer`;
    context.step(`${checked} kills: ${size} acknowledged, ${lines} lines, all there once${copied}`);
  }
  await clients.stop();
  if (peer !== undefined) {
    await peer.clients.stop();
    context.step('both hosts fetch what the other has');
    await untilBothHold(target, peer, folder);
    await peer.host.halt();
  }
  await finish(context, { target, running, clients, tally, peer });
}

async function finish(context: DrillContext, scene: Scene): Promise<void> {
  const { target, running, clients, tally, peer } = scene;
  const { ledger } = clients;
  context.step('stop, then read the log with stock git and verify every signature');
  running.process.signal('SIGTERM');
  if (target.name === 'writer') running.process.kill(true);
  await running.process.ended;
  const lines = checkAgainstLedger(context, target, ledger, { every: true });
  checkRepository(target.home);
  const { alone, group, 'git child': child } = tally.kills;
  const all = alone + group + child;
  context.check(tally.inFlight === all - tally.inStart, 'every kill of what serves met a request in flight');
  context.evidence(
    `${all} kills, all but ${tally.inStart} in a start with a request in flight: ${alone} daemon alone, ${group} process group, ${child} git child; ${tally.duringBulk} of the daemon during a bulk append, ${tally.duringMaintenance} after it was asked to pack its objects`,
  );
  context.evidence(
    `${tally.childRefused} of the killed git children made their bulk append fail with an error, ${tally.startRefused} the start of the daemon, which then served at the next; the others it lived on without`,
  );
  const work = [...tally.work].toSorted(([left], [right]) => (left < right ? -1 : 1));
  context.evidence(`what they were at: ${work.map(([name, times]) => `${name} ${times}`).join(', ')}`);
  context.evidence(
    `${ledger.acknowledged.size} events acknowledged, each in the log once; ${ledger.unknown.size} without an answer, of which ${lines - ledger.acknowledged.size} are in the log once, the others not at all`,
  );
  context.evidence(
    `${lines} lines, seq 1 to ${lines} without a gap, every host signature good, git fsck --strict clean`,
  );
  if (peer !== undefined) {
    checkBoth(context, target, peer);
    context.check(tally.duringFetch > 0, 'no kill met a fetch');
    context.check(tally.inStart > 0, 'no git child was killed in a start');
    context.evidence(`${tally.duringFetch} of the kills while lines of a peer were being fetched`);
  }
  await until('no process is left behind', async () => {
    const left = processesMentioning(target.home);
    return left.length === 0 || left.join(', ');
  });
}
