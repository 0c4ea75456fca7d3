/** A mesh on a network of its own, whose hosts are left to themselves: nobody asks them to fetch. */
import type { DrillContext } from './drill.ts';
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

/** Waits until `holds` is true; the sentence says of what. */
export async function until(sentence: string, holds: () => Promise<boolean>, deadlineMs = 60_000): Promise<number> {
  const start = performance.now();
  while (!(await holds())) {
    if (performance.now() - start > deadlineMs) throw new Error(`not within ${deadlineMs / 1_000} s: ${sentence}`);
    await pause(100);
  }
  return performance.now() - start;
}

/** Every host holds so many lines of every log, and all have one root. @returns that root. */
export async function untilEqual(hosts: readonly TestHost[], lines: Readonly<Record<string, number>>): Promise<string> {
  let root = '';
  await until('the hosts hold the same', async () => {
    const all = await Promise.all(hosts.map(statusOf));
    root = all[0]?.root ?? '';
    return all.every(
      (status) =>
        status.root === root && Object.entries(lines).every(([log, seq]) => (status.heads[log]?.seq ?? 0) === seq),
    );
  });
  return root;
}

export async function peerState(host: TestHost, peer: string): Promise<LivePeer | undefined> {
  return (await statusOf(host)).peers.find((one) => one.host === peer);
}
