/**
 * SIGKILL at random moments while requests are in flight, bulk appends and packing among them: the daemon alone, its process
 * group, a git child of it.
 * `--kills=N` (default 210), `--target=memd|writer`.
 */
import type { Random } from '../test/lib/random.ts';
import { openApi } from './lib/api.ts';
import { checkAgainstLedger, checkRepository } from './lib/check-log.ts';
import { startClients, type Clients } from './lib/clients.ts';
import type { DrillContext } from './lib/drill.ts';
import { childrenOf, killProcess, pause, processesMentioning } from './lib/process.ts';
import { createTarget, type RunningTarget, type Target } from './lib/target.ts';

export const name = 'kill-mid-write';
export const promise =
  'every acknowledged event exists exactly once after SIGKILL at any moment; no torn line, no gap in seq';

const killsDefault = 210;
const clientCount = 4;
/** Above the bulk threshold of memd and of the writer, so that a git child runs. */
const bulkEvents = 2_100;
/** An append takes 3 to 20 ms: kills fall into the first one after a start, into one of the first few, or much later. */
const appendSpreadsMs: readonly number[] = [20, 60, 400];
/** A bulk append takes 100 to 500 ms. */
const bulkSpreadMs = 300;
const checkEvery = 40;

type Kind = 'alone' | 'group' | 'git child';

interface Tally {
  readonly kills: Record<Kind, number>;
  inFlight: number;
  duringBulk: number;
  duringMaintenance: number;
  childRefused: number;
}

/** Most kills are of the daemon; one in eight goes for a git child; a third happen while a bulk append runs. */
function chooseKill(random: Random): {
  kind: Kind;
  bulk: boolean;
  maintain: boolean;
  /** Not before something was acknowledged since the start: a slow machine would be killed in its first append each time. */
  settled: boolean;
  delayMs: number;
} {
  const draw = random.below(8);
  const kind: Kind = draw === 0 ? 'git child' : draw < 4 ? 'group' : 'alone';
  const bulk = kind === 'git child' || random.below(6) === 0;
  const maintain = kind !== 'git child' && random.below(4) === 0;
  const settled = random.below(3) === 0;
  return {
    kind,
    bulk,
    maintain,
    settled,
    delayMs: random.next() * (bulk ? bulkSpreadMs : random.pick(appendSpreadsMs)),
  };
}

async function untilInFlight(context: DrillContext, clients: Clients): Promise<void> {
  for (let tries = 0; clients.inFlight() === 0; tries += 1) {
    context.check(tries < 10_000, 'no request was in flight for 10 s');
    await pause(1);
  }
}

/** A daemon that was killed goes on: without this a drill in which nothing is ever written again would pass. */
async function untilAcknowledged(context: DrillContext, { ledger }: Clients): Promise<void> {
  const before = ledger.acknowledged.size;
  for (let tries = 0; ledger.acknowledged.size === before; tries += 1) {
    context.check(tries < 60_000, `nothing was acknowledged for 60 s; last refusal: ${ledger.lastRefusal}`);
    await pause(1);
  }
}

/** Waits until the daemon has a git child that writes, at most so long. */
async function findGitChild(pid: number): Promise<number | undefined> {
  for (let tries = 0; tries < 2_000; tries += 1) {
    const [child] = childrenOf(pid, 'git');
    if (child !== undefined) return child;
    await pause(1);
  }
  return undefined;
}

async function killGitChild(
  running: RunningTarget,
  clients: Clients,
  delayMs: number,
): Promise<'killed' | 'refused' | 'missed'> {
  const answer = clients.bulk(bulkEvents);
  const child = await findGitChild(running.pid);
  // Spread over the life of the child: it may be gone again.
  await pause(delayMs / 5);
  const hit = child !== undefined && childrenOf(running.pid, 'git').includes(child);
  if (hit) killProcess(child);
  const outcome = await answer;
  return hit ? (outcome === 'refused' ? 'refused' : 'killed') : 'missed';
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

async function killOnce(
  context: DrillContext,
  state: { target: Target; running: RunningTarget; clients: Clients; tally: Tally },
): Promise<RunningTarget> {
  const { target, running, clients, tally } = state;
  const kill = chooseKill(context.random);
  if (kill.kind === 'git child') {
    const hit = await killGitChild(running, clients, kill.delayMs);
    if (hit === 'missed') return running;
    tally.kills['git child'] += 1;
    tally.inFlight += 1;
    if (hit === 'refused') tally.childRefused += 1;
    context.check(running.process.alive(), 'the daemon ended because a git child of it was killed');
    return running;
  }
  tally.inFlight += (await killDaemon(context, running, clients, kill)) > 0 ? 1 : 0;
  tally.kills[kill.kind] += 1;
  if (kill.bulk) tally.duringBulk += 1;
  if (kill.maintain) tally.duringMaintenance += 1;
  return target.start();
}

export async function run(context: DrillContext): Promise<void> {
  const kills = Number(context.options.get('kills') || killsDefault);
  const folder = context.temporaryFolder();
  const target = createTarget(context, folder);
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
  };
  const done = (): number => tally.kills.alone + tally.kills.group + tally.kills['git child'];
  for (let [checked, known] = [0, 0]; done() < kills;) {
    running = await killOnce(context, { target, running, clients, tally });
    if (done() < checked + checkEvery) continue;
    checked = done();
    const { size } = clients.ledger.acknowledged;
    context.check(size > known, `nothing was acknowledged meanwhile; last refusal: ${clients.ledger.lastRefusal}`);
    known = size;
    const lines = checkAgainstLedger(context, target, clients.ledger, { every: false });
    context.step(`${checked} kills: ${size} acknowledged, ${lines} lines, all there once`);
  }
  await clients.stop();
  await finish(context, { target, running, clients, tally });
}

async function finish(
  context: DrillContext,
  state: { target: Target; running: RunningTarget; clients: Clients; tally: Tally },
): Promise<void> {
  const { target, running, clients, tally } = state;
  const { ledger } = clients;
  context.step('stop, then read the log with stock git and verify every signature');
  running.process.signal('SIGTERM');
  if (target.name === 'writer') running.process.kill(true);
  await running.process.ended;
  const lines = checkAgainstLedger(context, target, ledger, { every: true });
  checkRepository(target.home);
  const { alone, group, 'git child': child } = tally.kills;
  context.check(tally.inFlight === alone + group + child, 'every kill met a request in flight');
  context.evidence(
    `${alone + group + child} kills with a request in flight: ${alone} daemon alone, ${group} process group, ${child} git child; ${tally.duringBulk} of the daemon during a bulk append, ${tally.duringMaintenance} after it was asked to pack its objects`,
  );
  context.evidence(
    `${tally.childRefused} of ${child} killed git children made their request fail with an error; the daemon lived on each time`,
  );
  context.evidence(
    `${ledger.acknowledged.size} events acknowledged, each in the log once; ${ledger.unknown.size} without an answer, of which ${lines - ledger.acknowledged.size} are in the log once, the others not at all`,
  );
  context.evidence(
    `${lines} lines, seq 1 to ${lines} without a gap, every host signature good, git fsck --strict clean`,
  );
  const left = processesMentioning(target.home);
  context.check(left.length === 0, `processes left behind: ${left.join(', ')}`);
}
