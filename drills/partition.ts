/** The network falls apart, everybody writes, and it comes together again, at first along one path only. */
import type { DrillContext } from './lib/drill.ts';
import type { TestHost } from './lib/hosts.ts';
import { peerState, startLiveMesh, statusOf, until, untilEqual, type LiveMesh } from './lib/live-mesh.ts';

export const name = 'partition';
export const promise =
  'hosts that cannot reach each other all go on writing; what is healed converges, over a relay too, and nothing is lost';

const home = ['--home', 'file:infra/FLEET.md'];
const shared = 'ssh-route/mini';
const writes = 4;

export async function run(context: DrillContext): Promise<void> {
  context.step('three hosts on a network of their own');
  const mesh = await startLiveMesh(context, ['alpha', 'beta', 'gamma']);
  await write(mesh.hosts, 'before');
  await untilEqual(mesh.hosts, linesOf(mesh.hosts, 1));
  await fallApart(context, mesh);
  await writeApart(context, mesh);
  await healTheRelay(context, mesh);
  await healAll(context, mesh);
  await requireAll(context, mesh);
}

type Pair = readonly [string, string];

function pairsOf(hosts: readonly TestHost[]): readonly Pair[] {
  return hosts.flatMap((one, index) => hosts.slice(index + 1).map((other): Pair => [one.name, other.name]));
}

function linesOf(hosts: readonly TestHost[], seq: number): Readonly<Record<string, number>> {
  return Object.fromEntries(hosts.map(({ name: host }) => [host, seq]));
}

/** Every host appends once, on a subject of its own. */
async function write(hosts: readonly TestHost[], word: string): Promise<void> {
  await Promise.all(
    hosts.map((host) => host.json('assert', `note/${host.name}-${word}`, '--value', `${host.name}-${word}`, ...home)),
  );
}

async function fallApart(context: DrillContext, { hosts, network }: LiveMesh): Promise<void> {
  context.step('every link is cut: packets are lost without a word');
  for (const [one, other] of pairsOf(hosts)) network.cut(one, other);
}

async function writeApart(context: DrillContext, { hosts }: LiveMesh): Promise<void> {
  context.step('each host appends on its own, and all three contradict each other');
  const started = performance.now();
  for (let round = 1; round < writes; round += 1) await write(hosts, `apart-${round}`);
  await Promise.all(hosts.map((host) => host.json('assert', shared, '--value', host.name, ...home)));
  const took = performance.now() - started;
  context.evidence(`${3 * writes} appends acknowledged in ${took.toFixed(0)} ms while nobody reached anybody`);
  for (const host of hosts) {
    const { heads } = await statusOf(host);
    const others = hosts.filter((other) => other !== host).map((other) => heads[other.name]?.seq);
    context.check(heads[host.name]?.seq === 1 + writes, `${host.name} holds all of its own`);
    context.check(
      others.every((seq) => seq === 1),
      `${host.name} holds nothing new of the others, not ${others.join(' ')}`,
    );
  }
  for (const host of hosts) await untilAll(host, 'down');
  context.evidence('every host says of both others that they are down');
}

/** Waits until a host says of every peer that it is up, or down. */
async function untilAll(host: TestHost, wanted: 'up' | 'down'): Promise<void> {
  await until(`${host.name} says of every other that it is ${wanted}`, async () => {
    const { peers } = await statusOf(host);
    return (
      peers.every(({ state }) => state === wanted) ||
      peers.map((one) => `${one.host} ${one.state} ${one.reason ?? ''}`).join('; ')
    );
  });
}

async function healTheRelay(context: DrillContext, { hosts, network }: LiveMesh): Promise<void> {
  context.step('beta is reached again by both; alpha and gamma still not by each other');
  network.heal('alpha', 'beta');
  network.heal('beta', 'gamma');
  const started = performance.now();
  const root = await untilEqual(hosts, linesOf(hosts, 1 + writes));
  const took = ((performance.now() - started) / 1_000).toFixed(1);
  const [alpha] = hosts;
  const state = alpha && (await peerState(alpha, 'gamma'))?.state;
  context.check(state === 'down', `alpha does not reach gamma, it is ${state}`);
  context.evidence(`root ${root.slice(0, 16)} on all three after ${took} s, of gamma only through beta on alpha`);
}

async function healAll(context: DrillContext, { hosts, network }: LiveMesh): Promise<void> {
  context.step('the last link is healed; one more append on each host');
  network.heal('alpha', 'gamma');
  for (const host of hosts) await untilAll(host, 'up');
  await write(hosts, 'after');
  await untilEqual(hosts, linesOf(hosts, 2 + writes));
  context.evidence('up everywhere, and news go everywhere');
}

async function requireAll(context: DrillContext, { hosts }: LiveMesh): Promise<void> {
  context.step('nothing is lost, and the contradiction is parked on every host');
  const words = ['before', 'after', ...Array.from({ length: writes - 1 }, (_, index) => `apart-${index + 1}`)];
  for (const host of hosts) {
    for (const { name: by } of hosts)
      for (const word of words) {
        const { code, stdout } = await host.ctl('recall', `note/${by}-${word}`, '--json');
        context.check(code === 0 && stdout.includes(`${by}-${word}`), `${host.name} serves what ${by} wrote ${word}`);
      }
    const { code } = await host.ctl('recall', shared, '--json');
    context.check(code === 3, `${host.name} answers parked, exit 3, not ${code}`);
    const verified = await host.ctl('verify', '--deep', '--json');
    context.check(verified.code === 0, `${host.name} is clean: ${verified.stdout}`);
  }
  context.evidence(
    `${words.length * hosts.length} claims served on each of ${hosts.length} hosts, one subject parked, verify --deep clean`,
  );
}
