/** A mesh on a network of its own, whose hosts are left to themselves: nobody asks them to fetch. */
import { DrillFailure, type DrillContext } from './drill.ts';
import { enrol, layHost, type TestHost } from './hosts.ts';
import { openNetwork, type DrillNetwork } from './network.ts';
import { pause } from './process.ts';

export interface LiveMesh {
  readonly network: DrillNetwork;
  readonly hosts: readonly TestHost[];
}

export interface LivePeer {
  readonly host: string;
  readonly state: string;
  readonly address: string;
  readonly reason?: string;
}

export interface LiveStatus {
  readonly root: string;
  readonly heads: Readonly<Record<string, { readonly seq: number }>>;
  readonly peers: readonly LivePeer[];
}

/** How often a host looks by itself, beside what its watches tell it. */
const everyTwoSeconds = '*/2 * * * * *';

/** The first of `names` founds it; memd runs on each. */
export async function startLiveMesh(
  context: DrillContext,
  names: readonly string[],
  behindNat: readonly string[] = [],
): Promise<LiveMesh> {
  const folder = context.temporaryFolder();
  const network = await openNetwork(context, { hosts: names, behindNat, folder });
  context.evidence(`on ${network.kind}`);
  const hosts: TestHost[] = [];
  for (const name of names) {
    const place = network.place(name);
    const host = await layHost({ folder, name, place, sync: everyTwoSeconds, started: context.adopt });
    network.listens(name, host.port);
    hosts.push(host);
  }
  const [founder, ...others] = hosts;
  if (founder === undefined) throw new Error('a mesh has a first host');
  const at = ['--host', founder.name, '--listen', founder.address, '--address', founder.told ?? ''];
  const { mesh } = await founder.json<{ mesh: string }>('init', ...at);
  await founder.start();
  for (const host of others) {
    await enrol(founder, host, mesh, network.urlOf(host.name, founder.name));
    await host.start();
  }
  return { network, hosts };
}

export function statusOf(host: TestHost): Promise<LiveStatus> {
  return host.json<LiveStatus>('status');
}

/** Far more than anything here takes on two busy cores: what is not so by then never will be. */
const untilMs = 120_000;

/**
 * Waits until `holds` is true; the sentence says of what. Anything else that it gives is what was seen instead, for the
 * report of a failure.
 * @returns milliseconds that it took, with the last look.
 */
export async function until(
  sentence: string,
  holds: () => Promise<boolean | string>,
  deadlineMs: number = untilMs,
): Promise<number> {
  const start = performance.now();
  for (;;) {
    const seen = await holds();
    const took = performance.now() - start;
    if (seen === true) return took;
    if (took > deadlineMs)
      throw new DrillFailure(
        `not within ${deadlineMs / 1_000} s: ${sentence}${seen === false ? '' : `; seen: ${seen}`}`,
      );
    await pause(100);
  }
}

/** Every host holds so many lines of every log, and all have one root. @returns that root. */
export async function untilEqual(hosts: readonly TestHost[], lines: Readonly<Record<string, number>>): Promise<string> {
  let root = '';
  await until('the hosts hold the same', async () => {
    const all = await Promise.all(hosts.map(statusOf));
    root = all[0]?.root ?? '';
    const equal = all.every(
      (status) =>
        status.root === root && Object.entries(lines).every(([log, seq]) => (status.heads[log]?.seq ?? 0) === seq),
    );
    return equal || all.map((one, index) => `${hosts[index]?.name} ${describe(one)}`).join('; ');
  });
  return root;
}

function describe({ root, heads }: LiveStatus): string {
  const held = Object.entries(heads).map(([log, { seq }]) => `${log}:${seq}`);
  return `${root.slice(0, 12)} ${held.join(' ')}`;
}

/** Waits until a host says of a peer that it is up. */
export async function untilUp(host: TestHost, peer: string): Promise<number> {
  return until(`${host.name} reaches ${peer}`, async () => {
    const { state, reason } = (await peerState(host, peer)) ?? { state: 'not known' };
    return state === 'up' || `${state} ${reason ?? ''}`;
  });
}

export async function peerState(host: TestHost, peer: string): Promise<LivePeer | undefined> {
  return (await statusOf(host)).peers.find((one) => one.host === peer);
}
