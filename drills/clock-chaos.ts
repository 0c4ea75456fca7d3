/** Clocks that are wrong by days and by decades, and one that is set back while it runs. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { viewOn } from './lib/agreement.ts';
import type { DrillContext } from './lib/drill.ts';
import { enrol, layHost, type TestHost } from './lib/hosts.ts';
import { statusOf, until, untilEqual } from './lib/live-mesh.ts';

export const name = 'clock-chaos';
export const promise =
  'hosts whose clocks are off by days or decades, or run backwards, believe the same, and no claim wins by its time';

const dayMs = 86_400_000;
const preload = fileURLToPath(new URL('lib/shift-clock.ts', import.meta.url));
/** Milliseconds that each clock is off; delta is set back on the way. */
const offsets: Readonly<Record<string, number>> = {
  alpha: -3 * dayMs,
  beta: 3 * dayMs,
  gamma: Date.parse('2082-01-01T00:00:00Z') - Date.now(),
  delta: 0,
};
const place = ['--home', 'file:infra/FLEET.md'];

interface Clocked {
  readonly host: TestHost;
  readonly set: (offsetMs: number) => void;
}

interface Claim {
  readonly id: string;
  readonly seq: number;
}

interface Recall {
  readonly status: string;
  readonly claim?: { readonly value?: string; readonly at: string };
  readonly claims?: readonly unknown[];
}

export async function run(context: DrillContext): Promise<void> {
  context.step('four hosts: alpha 3 days slow, beta 3 days fast, gamma in 2082, delta right');
  context.evidence('the clock of each process is shifted by a preload (drills/lib/shift-clock.ts), not by the system');
  const clocked = await startHosts(context);
  const hosts = clocked.map(({ host }) => host);
  await contradict(context, hosts);
  await correct(context, hosts);
  await stepBack(context, clocked);
  await flagged(context, hosts);
  await verifyAll(context, hosts);
}

async function startHosts(context: DrillContext): Promise<readonly Clocked[]> {
  const folder = context.temporaryFolder();
  const clocked: Clocked[] = [];
  for (const [host, offset] of Object.entries(offsets)) {
    const file = join(folder, `${host}.clock`);
    const set = (offsetMs: number): void => writeFileSync(file, String(offsetMs));
    set(offset);
    const environment = { MEMD_DRILL_CLOCK: file, NODE_OPTIONS: `--import=${preload}` };
    const sync = '*/2 * * * * *';
    clocked.push({ set, host: await layHost({ folder, name: host, environment, sync, started: context.adopt }) });
  }
  const [founder, ...others] = clocked.map(({ host }) => host);
  if (founder === undefined) throw new Error('four hosts were laid out');
  const at = ['--host', founder.name, '--listen', founder.address];
  const { mesh } = await founder.json<{ mesh: string }>('init', ...at);
  await founder.start();
  for (const host of others) {
    await enrol(founder, host, mesh);
    await host.start();
  }
  return clocked;
}

const everyRecall = (hosts: readonly TestHost[], subject: string): Promise<Recall[]> =>
  Promise.all(hosts.map(async (host) => JSON.parse((await host.ctl('recall', subject, '--json')).stdout) as Recall));

async function contradict(context: DrillContext, hosts: readonly TestHost[]): Promise<void> {
  context.step('all four claim another value of one subject');
  const subject = 'ssh-route/mini';
  for (const host of hosts) await host.json('assert', subject, '--value', `by-${host.name}`, ...place);
  const root = await untilEqual(hosts, { alpha: 1, beta: 1, gamma: 1, delta: 1 });
  const answers = await everyRecall(hosts, subject);
  context.check(
    answers.every(({ status, claims, claim }) => status === 'parked' && claims?.length === 4 && claim === undefined),
    `all four answer parked with four sides: ${answers.map(({ status }) => status).join(' ')}`,
  );
  context.evidence(`parked on all four with four sides; root ${root.slice(0, 16)}`);
}

async function correct(context: DrillContext, hosts: readonly TestHost[]): Promise<void> {
  context.step('gamma claims in 2082; alpha, 3 days slow, corrects it');
  const [alpha, , gamma] = hosts;
  if (alpha === undefined || gamma === undefined) throw new Error('four hosts were laid out');
  const subject = 'endpoint/grafana';
  const wrong = await gamma.json<Claim>('assert', subject, '--value', 'nas:1', ...place);
  await untilEqual(hosts, { gamma: 2 });
  const right = ['--value', 'nas:3000', '--supersedes', wrong.id, ...place];
  await alpha.json('assert', subject, ...right);
  await untilEqual(hosts, { alpha: 2, gamma: 2 });
  const answers = await everyRecall(hosts, subject);
  context.check(
    answers.every(({ status, claim }) => status === 'served' && claim?.value === 'nas:3000'),
    `the correction is served everywhere: ${answers.map(({ claim }) => claim?.value).join(' ')}`,
  );
  context.evidence(`served on all four: nas:3000, said at ${answers[0]?.claim?.at}; what it replaces says 2082`);
}

async function stepBack(context: DrillContext, clocked: readonly Clocked[]): Promise<void> {
  context.step('the clock of delta is set back by 2 days while memd runs; it claims, and corrects itself');
  const hosts = clocked.map(({ host }) => host);
  const delta = clocked[3];
  if (delta === undefined) throw new Error('four hosts were laid out');
  const subject = 'endpoint/wiki';
  const before = await delta.host.json<Claim>('assert', subject, '--value', 'old', ...place);
  delta.set(-2 * dayMs);
  const after = await delta.host.json<Claim>('assert', subject, '--value', 'new', '--supersedes', before.id, ...place);
  context.check(after.seq === before.seq + 1, `line ${after.seq} follows line ${before.seq}`);
  await untilEqual(hosts, { delta: after.seq });
  const answers = await everyRecall(hosts, subject);
  context.check(
    answers.every(({ status, claim }) => status === 'served' && claim?.value === 'new'),
    `the later line is served, though it claims an earlier time: ${answers.map(({ claim }) => claim?.value).join(' ')}`,
  );
  context.evidence(`served on all four: new, said at ${answers[0]?.claim?.at}, two days before what it replaces`);
}

async function flagged(context: DrillContext, hosts: readonly TestHost[]): Promise<void> {
  context.step('status says which clocks are wrong, as each host sees it');
  const seen: string[] = [];
  for (const host of hosts) {
    const { warnings, line } = await host.json<{ warnings: readonly string[]; line: string }>('status');
    const future = warnings.flatMap(
      (warning) => /^the newest line of ([a-z]+) claims .* in the future/.exec(warning)?.[1] ?? [],
    );
    seen.push(`${host.name} flags ${future.join(' and ') || 'none'}`);
    context.check(/newest \d+ (?:min|h|d) ago/.test(line), `${host.name} names an age: ${line}`);
  }
  context.check(
    seen[3] === 'delta flags beta and gamma' && seen[2] === 'gamma flags none',
    `delta flags beta and gamma, and gamma, in 2082, none: ${seen.join('; ')}`,
  );
  context.evidence(seen.join('; '));
}

async function verifyAll(context: DrillContext, hosts: readonly TestHost[]): Promise<void> {
  context.step('every host restarts, and everything is verified');
  for (const host of hosts) await host.restart();
  await until('every host reaches every other again', async () => {
    const all = await Promise.all(hosts.map(statusOf));
    const down = all.flatMap(({ peers }, index) =>
      peers.filter(({ state }) => state !== 'up').map((one) => `${hosts[index]?.name}: ${one.host} is ${one.state}`),
    );
    return down.length === 0 || down.join('; ');
  });
  for (const host of hosts) {
    const { ok, problems } = await host.json<{ ok: boolean; problems: readonly string[] }>('verify', '--deep');
    context.check(ok, `${host.name} is clean: ${problems.join('; ')}`);
  }
  const roots = new Set((await Promise.all(hosts.map(statusOf))).map(({ root }) => root));
  for (const host of hosts) await host.json('index');
  const indexes = new Set(hosts.map((host) => viewOn(host, 'INDEX.md')));
  context.check(roots.size === 1 && indexes.size === 1, 'one root and one index, byte for byte, on all four');
  context.evidence(`root ${[...roots][0]?.slice(0, 16)}, INDEX.md byte-identical on all four`);
}
