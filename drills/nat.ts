/** A laptop behind NAT: it dials, nobody can dial it, and it is one of the mesh like every other host. */
import type { DrillContext } from './lib/drill.ts';
import type { TestHost } from './lib/hosts.ts';
import { peerState, startLiveMesh, statusOf, until, untilEqual, untilUp, type LiveMesh } from './lib/live-mesh.ts';

export const name = 'nat';
export const promise =
  'a host that nobody can dial is heard and hears at once, knows that its appends are held elsewhere, and comes back by itself; so does one that gets another address';

const home = ['--home', 'file:infra/FLEET.md'];

export async function run(context: DrillContext): Promise<void> {
  context.step('alpha and beta can be dialled; gamma listens where nobody can reach it, and tells no address');
  const mesh = await startLiveMesh(context, ['alpha', 'beta', 'gamma'], ['gamma']);
  const [alpha, beta, gamma] = mesh.hosts;
  if (alpha === undefined || beta === undefined || gamma === undefined) throw new Error('three hosts were laid out');
  await untilHeard(context, mesh);
  await writeBehind(context, { alpha, beta, gamma });
  await restart(context, { alpha, beta, gamma });
  await move(context, mesh, { alpha, beta, gamma });
  await verifyAll(context, mesh.hosts);
}

interface Hosts {
  readonly alpha: TestHost;
  readonly beta: TestHost;
  readonly gamma: TestHost;
}

async function untilHeard(context: DrillContext, { hosts }: LiveMesh): Promise<void> {
  context.step('without a command, alpha and beta reach gamma over the connections that gamma opened');
  for (const host of hosts.slice(0, 2)) {
    await untilUp(host, 'gamma');
    const address = (await host.json<{ host: string; address: string }[]>('host', 'list')).find(
      (one) => one.host === 'gamma',
    )?.address;
    context.check(address === '', `the charter on ${host.name} has no address of gamma, not ${address}`);
  }
  context.evidence('gamma is up on both; the charter has no address of it');
}

async function writeBehind(context: DrillContext, { alpha, beta, gamma }: Hosts): Promise<void> {
  context.step('gamma appends and waits until both others hold it; then alpha appends');
  const started = performance.now();
  const claim = ['ssh-route/mini', '--value', 'bastion', ...home];
  const wait = ['--sync=2', '--timeout', '120s'];
  const said = await gamma.json<{ replicated: number; peers: number }>('assert', ...claim, ...wait);
  const took = performance.now() - started;
  context.check(said.replicated === 2, `held by 2 of 2, not by ${said.replicated}`);
  context.evidence(
    `memctl assert --sync=2 on gamma: held by ${said.replicated} of ${said.peers}, ${took.toFixed(0)} ms with the command`,
  );
  await alpha.json('assert', 'ssh-route/max', '--value', 'direct', ...home);
  const root = await untilEqual([alpha, beta, gamma], { alpha: 1, gamma: 1 });
  context.evidence(`root ${root.slice(0, 16)} on all three, nobody was told to fetch`);
}

async function restart(context: DrillContext, { alpha, beta, gamma }: Hosts): Promise<void> {
  context.step('alpha is killed and started again while gamma goes on writing');
  await untilUp(gamma, 'alpha');
  const memd = await alpha.restart();
  await gamma.json('assert', 'ssh-route/mid', '--value', 'bastion', ...home);
  context.check(memd.alive(), 'alpha serves again');
  const took = await until('alpha holds what gamma wrote meanwhile', async () => {
    const { heads } = await statusOf(alpha);
    return heads['gamma']?.seq === 2 || `line ${heads['gamma']?.seq}`;
  });
  await untilEqual([alpha, beta, gamma], { alpha: 1, gamma: 2 });
  context.evidence(`alpha heard gamma again ${(took / 1_000).toFixed(1)} s after gamma wrote`);
}

/** The charter keeps the old address; nobody changes a configuration. */
async function move(context: DrillContext, { network }: LiveMesh, { alpha, beta, gamma }: Hosts): Promise<void> {
  if (network.move === undefined) return context.evidence('hosts have no address of their own here: none moves');
  context.step('the machine of beta gets another address, and beta goes on writing');
  const url = network.move('beta');
  await beta.json('assert', 'ssh-route/max-2', '--value', 'direct', ...home);
  await untilEqual([alpha, beta, gamma], { alpha: 1, beta: 1, gamma: 2 });
  await until('alpha and gamma dial beta at its new address', async () => {
    const peers = await Promise.all([peerState(alpha, 'beta'), peerState(gamma, 'beta')]);
    const all = peers.every((peer) => peer?.state === 'up' && peer.address === url);
    return all || peers.map((peer) => `${peer?.state} ${peer?.address}`).join('; ');
  });
  context.evidence(`alpha and gamma dial beta at ${url}; its host-add still says another address`);
}

async function verifyAll(context: DrillContext, hosts: readonly TestHost[]): Promise<void> {
  context.step('verify --deep on every host');
  for (const host of hosts) {
    const { code, stdout } = await host.ctl('verify', '--deep', '--json');
    context.check(code === 0, `${host.name} is clean: ${stdout}`);
  }
  context.evidence('clean on all three');
}
