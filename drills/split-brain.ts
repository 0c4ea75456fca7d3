/** Two hosts say opposite things: nobody hears one confident answer, and a person hears of it once. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { DrillContext } from './lib/drill.ts';
import { formMesh, layHost, type TestHost } from './lib/hosts.ts';
import { until, untilEqual, untilUp } from './lib/live-mesh.ts';
import { pause } from './lib/process.ts';

export const name = 'split-brain';
export const promise =
  'opposite facts of two hosts are parked on all three within one cycle, and whoever runs the mesh hears of it once, and once of its end';

const subject = 'ssh-route/mini';
const place = ['--home', 'file:infra/FLEET.md#mini'];
/** Seconds that each further host waits; 30 by default, which would make a long drill. More than the 5 s that notes of a silent host are waited for, or two ranks are due at once. */
const waitSeconds = 6;
/** The schedule of every host; one cycle is over within it and its jitter of 5 s. */
const sync = '*/2 * * * * *';
const cycleMs = 7_000;

interface Told {
  readonly by: string;
  readonly title: string;
  readonly text: string;
}

type Hosts = readonly [alpha: TestHost, beta: TestHost, gamma: TestHost];

export async function run(context: DrillContext): Promise<void> {
  const told: Told[] = [];
  const hosts = await startHosts(context, await listen(context, told));
  await allUp(context, { hosts, told });
  await firstDown(context, { hosts, told });
}

/** The web server of the person: every host posts to a path of its own. */
async function listen(context: DrillContext, told: Told[]): Promise<string> {
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      const { title, text } = JSON.parse(body) as Told;
      told.push({ by: (request.url ?? '').slice(1), title, text });
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.onCleanup(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function startHosts(context: DrillContext, url: string): Promise<Hosts> {
  context.step('three hosts, each with a notifier of its own');
  const folder = context.temporaryFolder();
  const lay = async (host: string): Promise<TestHost> => {
    const config = join(folder, `config-${host}`);
    mkdirSync(join(config, 'memd'), { recursive: true });
    const notifier = `[[notifier]]\nname = "person"\nkind = "webhook"\nurl = "${url}/${host}"\n`;
    writeFileSync(join(config, 'memd', 'config.toml'), notifier);
    const environment = { XDG_CONFIG_HOME: config };
    return layHost({ folder, name: host, environment, sync, started: context.adopt });
  };
  const hosts = [await lay('alpha'), await lay('beta'), await lay('gamma')] as const;
  await formMesh(hosts);
  await hosts[0].json('policy', 'set', 'notify.wait', String(waitSeconds), '--yes');
  const trust = async (host: TestHost): Promise<string> => (await host.json<{ trust: string }>('status')).trust;
  await until('every host knows the policy', async () => new Set(await Promise.all(hosts.map(trust))).size === 1);
  // Who cannot be asked what it has told is not waited for.
  for (const host of hosts) for (const peer of hosts) if (peer !== host) await untilUp(host, peer.name);
  return hosts;
}

interface Scene {
  readonly hosts: Hosts;
  readonly told: readonly Told[];
}

async function isParked(host: TestHost): Promise<boolean> {
  return (await host.ctl('recall', subject)).code === 3;
}

/** Beta and gamma contradict each other. @returns milliseconds from the second claim until all of `on` have it parked, and those of one look at all of them. */
async function contradict({ hosts }: Scene, on: readonly TestHost[]): Promise<{ tookMs: number; lookMs: number }> {
  const [, beta, gamma] = hosts;
  const before = performance.now();
  await Promise.all(on.map(isParked));
  const lookMs = performance.now() - before;
  await Promise.all([
    beta.json('assert', subject, '--value', 'direct', ...place),
    gamma.json('assert', subject, '--value', 'bastion', ...place),
  ]);
  const tookMs = await until('parked everywhere', async () => (await Promise.all(on.map(isParked))).every(Boolean));
  return { tookMs, lookMs };
}

const shown = (told: readonly Told[]): string => told.map(({ by, title }) => `${by}: ${title}`).join('; ') || 'nothing';

/** Long enough for every rank to have had its turn, and one more. */
const everyRankMs = 4 * waitSeconds * 1_000;

async function expectTold(context: DrillContext, told: readonly Told[], all: readonly string[]): Promise<void> {
  await until('the person hears of it', () => Promise.resolve(told.length >= all.length || `heard: ${shown(told)}`));
  context.check(shown(told) === all.join('; '), `heard, in all: ${all.join('; ')}; not: ${shown(told)}`);
}

const raised = `memd: ${subject} is UNRESOLVED`;
const settled = `memd: ${subject} is settled`;

async function allUp(context: DrillContext, scene: Scene): Promise<void> {
  const { hosts, told } = scene;
  context.step('beta and gamma claim opposite facts about one route at the same moment');
  const { tookMs, lookMs } = await contradict(scene, hosts);
  // A look that came a moment too early, and the one that saw it.
  const boundMs = cycleMs + 2 * lookMs;
  context.check(tookMs < boundMs, `parked on all three within one cycle, not after ${tookMs.toFixed(0)} ms`);
  await untilEqual(hosts, { beta: 1, gamma: 1 });
  context.evidence(
    `parked on all three after ${tookMs.toFixed(0)} ms, with the looks at it (${lookMs.toFixed(0)} ms each); one root`,
  );
  await expectTold(context, told, [`alpha: ${raised}`]);
  const text = told[0]?.text ?? '';
  const whole = ['beta, session cli', '= direct', 'gamma, session cli', '= bastion', `memctl sign ${subject}`];
  context.check(
    whole.every((part) => text.includes(part)),
    `it names machine, session, both sides and the command: ${text}`,
  );
  context.step(`gamma takes its side back; afterwards nothing more is heard for ${everyRankMs / 1_000} s`);
  await hosts[2].json('retract', subject, 'measured from the wrong network');
  await expectTold(context, told, [`alpha: ${raised}`, `alpha: ${settled}`]);
  await pause(everyRankMs);
  await expectTold(context, told, [`alpha: ${raised}`, `alpha: ${settled}`]);
  context.evidence(`heard in all: ${shown(told)}`);
}

/** The same with alpha down: the next by name tells, and alpha, back again, knows that it was told. */
async function firstDown(context: DrillContext, scene: Scene): Promise<void> {
  const { hosts, told } = scene;
  const [alpha, beta, gamma] = hosts;
  context.step('alpha, which tells first, is down; gamma claims its side again');
  const before = told.length;
  await alpha.halt();
  await gamma.json('assert', subject, '--value', 'bastion', ...place);
  await until('parked on both', async () => (await isParked(beta)) && isParked(gamma));
  await until('beta tells', () => Promise.resolve(told.length > before));
  context.step('alpha comes back');
  await alpha.start();
  await until('parked on alpha too', () => isParked(alpha));
  await pause(everyRankMs / 2);
  context.check(shown(told.slice(before)) === `beta: ${raised}`, `heard once, from beta: ${shown(told.slice(before))}`);
  context.evidence(`heard while alpha was down, and since: ${shown(told.slice(before))}`);
}
