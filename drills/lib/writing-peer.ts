/** A second host that writes and is left alone while the first one is killed: what they fetch from each other is at stake. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkAgainstLedger, checkRepository, readLogWithGit } from './check-log.ts';
import { startClients, type Clients } from './clients.ts';
import type { DrillContext } from './drill.ts';
import { isolated, layHost, runMemctl, type TestHost } from './hosts.ts';
import { until } from './live-mesh.ts';
import { pause } from './process.ts';
import type { Target } from './target.ts';

export interface WritingPeer {
  readonly host: TestHost;
  readonly clients: Clients;
}

/** Between two requests of its only client. */
const everyMs = 15;

/** Enrols it with the target, which runs, and starts it. `address`: where the target listens. */
export async function addWritingPeer(
  context: DrillContext,
  target: Target,
  { folder, address }: { readonly folder: string; readonly address: string },
): Promise<WritingPeer> {
  const host = await layHost({ folder, name: 'beta', started: context.adopt });
  const { line } = await host.json<{ line: string }>('host', 'request', '--host', 'beta', '--listen', host.address);
  await onTarget(target, folder, 'host', 'add', line, '--yes');
  await host.json('join', `ssh://${address}`, '--mesh', target.meshId());
  await host.start();
  const socket = join(host.home, 'memd.sock');
  const clients = startClients({ socket, count: 1, random: context.random, name: 'peer', everyMs });
  return { host, clients };
}

async function onTarget(target: Target, folder: string, ...args: readonly string[]): Promise<unknown> {
  const options = { env: isolated(folder), bound: true };
  const { code, stdout, stderr } = await runMemctl(['--home', target.home, ...args, '--json'], options);
  if (code !== 0) throw new Error(`memctl ${args.join(' ')} on ${target.host}: exit ${code}: ${stderr}${stdout}`);
  return JSON.parse(stdout) as unknown;
}

/** How long a fetch is waited for. */
const fetchMs = 1_500;

/** Resolves while the target takes something in from its peer. @returns false when it fetched nothing for so long. */
export async function untilFetching(target: Target): Promise<boolean> {
  const quarantine = join(target.home, 'repo.git', 'quarantine');
  for (const start = performance.now(); performance.now() - start < fetchMs;) {
    if (readdirSync(quarantine).length > 0) return true;
    await pause(1);
  }
  return false;
}

/** Resolves once the target has taken lines of its peer since the call, or took none for so long. */
export async function untilTaken(target: Target, { host }: WritingPeer): Promise<void> {
  const before = branchOf(target, host);
  for (const start = performance.now(); performance.now() - start < fetchMs;) {
    if (branchOf(target, host) !== before) return;
    await pause(1);
  }
}

/** Commit of the peer's log as the target holds it; '' while there is none, or once it is packed. */
function branchOf(target: Target, { name }: TestHost): string {
  const file = join(target.home, 'repo.git/refs/heads/log', name);
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

/** Fails unless what the target holds of its peer's log is the beginning of it, byte for byte. @returns its lines. */
export function checkCopy(context: DrillContext, target: Target, { host }: WritingPeer): number {
  // Killed in every fetch so far, it holds none.
  if (branchOf(target, host) === '') return 0;
  const copy = readLogWithGit(target.home, host.name);
  const log = readLogWithGit(host.home, host.name);
  context.check(
    copy.length <= log.length,
    `${target.host} holds ${copy.length} lines of ${log.length} of ${host.name}`,
  );
  const other = copy.findIndex((text, index) => text !== log[index]);
  context.check(other < 0, `line ${other + 1} of ${host.name} is another one on ${target.host}`);
  return copy.length;
}

/** Waits until both hold all of both; the target runs, and nobody writes any more. */
export async function untilBothHold(target: Target, peer: WritingPeer, folder: string): Promise<void> {
  type Status = { readonly root: string; readonly heads: Readonly<Record<string, { readonly seq: number }>> };
  const names = [target.host, peer.host.name];
  await until('both hosts hold the same', async () => {
    await peer.host.ctl('fetch');
    const theirs = await peer.host.json<Status>('status');
    const ours = (await onTarget(target, folder, 'status')) as Status;
    const equal = names.every((name) => ours.heads[name]?.seq === theirs.heads[name]?.seq);
    return (equal && ours.root === theirs.root) || JSON.stringify([ours.heads, theirs.heads]);
  });
}

/** At the end, with nobody running: both logs are the same on both hosts, and all that the peer acknowledged is there once. */
export function checkBoth(context: DrillContext, target: Target, { host, clients }: WritingPeer): void {
  for (const log of [target.host, host.name]) {
    const [ours, theirs] = [target.home, host.home].map((home) => readLogWithGit(home, log));
    context.check(ours?.join('\n') === theirs?.join('\n'), `log ${log} is the same on both hosts, byte for byte`);
  }
  const at = { ...target, host: host.name, home: host.home };
  const lines = checkAgainstLedger(context, at, clients.ledger, { every: true });
  checkRepository(host.home);
  context.evidence(
    `${clients.ledger.acknowledged.size} events acknowledged by ${host.name} meanwhile, each there once; its ${lines} lines and those of ${target.host} are the same on both hosts, byte for byte`,
  );
}
