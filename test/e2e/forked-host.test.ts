/**
 * One identity on two machines: D2, what a third host makes of it in the one sync in which it sees both; D4, who goes on
 * meanwhile, and what ends it. One story, in order.
 */
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { readLogWithGit } from '../../drills/lib/check-log.ts';
import { converge, formMesh } from '../../drills/lib/hosts.ts';
import { charterHost, forkAlarms, servedOn, statusOf } from '../../drills/lib/recovery.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

const bench = openBench();
let alpha: BenchHost;
let beta: BenchHost;
let gamma: BenchHost;
/** Another machine that has everything of beta. */
let clone: BenchHost;

const onBeta = [1, 2, 3].map((n) => `lesson/beta-${n}`);
const onClone = [1, 2, 3].map((n) => `lesson/clone-${n}`);
const signer = (): string[] => ['--key', join(bench.folder(), 'config', 'memd', 'operator_ed25519'), '--yes'];

/** Beta has one line that all hold. Then it is copied, and both say three things without hearing of each other. */
beforeAll(async () => {
  [alpha, beta, gamma, clone] = [
    await bench.lay('alpha'),
    await bench.lay('beta'),
    await bench.lay('gamma'),
    await bench.lay('clone'),
  ];
  await formMesh([alpha, beta, gamma]);
  await beta.json('lesson', 'lesson/before', 'said before the copy');
  await converge([alpha, beta, gamma]);
  await Promise.all([alpha, beta, gamma].map((host) => host.stop()));
  cpSync(beta.home, clone.home, { recursive: true });
  for (const subject of onBeta) await beta.json('lesson', subject, 'said on beta');
  for (const subject of onClone) await clone.json('lesson', subject, 'said on the clone');
}, 60_000);

/** Everything that a host keeps beside its logs. */
function sidesKept(host: BenchHost): string {
  const folder = join(host.home, 'forks');
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('');
}

test('D2: whoever syncs with both sees it in that sync: the first line that differs, both sides kept, neither served', async () => {
  await Promise.all([gamma.start(), beta.start()]);
  await gamma.json('fetch', 'beta');
  expect(await Promise.all(onBeta.map((subject) => servedOn(gamma, subject)))).toEqual([true, true, true]);
  await beta.stop();
  await clone.startAt(beta.address);
  await gamma.ctl('fetch', 'beta');

  await expect.poll(() => forkAlarms(gamma)).toEqual([expect.stringMatching(/^LOG_FORKED .*beta.*\b2\b/)]);
  expect(await charterHost(gamma, 'beta')).toMatchObject({ status: 'forked', end: 1 });
  expect(readdirSync(join(gamma.home, 'forks'))).toEqual([expect.stringMatching(/^beta-2-[0-9a-f]+\.jsonl$/)]);
  for (const subject of onClone) expect(sidesKept(gamma)).toContain(`"${subject}"`);
  const held = readLogWithGit(gamma.home, 'beta').join('\n');
  for (const subject of onBeta) expect(held).toContain(`"${subject}"`);
  for (const subject of [...onBeta, ...onClone]) expect(await servedOn(gamma, subject)).toBe(false);
  expect(await servedOn(gamma, 'lesson/before')).toBe(true);
  await clone.stop();
}, 60_000);

test('D4: the fork stops the forked log alone: the others write and hear each other, and beta hears them', async () => {
  await Promise.all([alpha.start(), beta.start()]);
  for (const host of [alpha, gamma]) await host.json('lesson', `lesson/while-${host.name}`, 'work goes on');
  for (const host of [alpha, gamma, beta, alpha]) await host.ctl('fetch');
  for (const host of [alpha, beta, gamma]) {
    for (const name of ['alpha', 'gamma']) await expect.poll(() => servedOn(host, `lesson/while-${name}`)).toBe(true);
    await expect.poll(() => charterHost(host, 'beta')).toMatchObject({ status: 'forked', end: 1 });
  }
  const refused = await beta.refused(6, ['lesson', 'lesson/stuck', 'x']);
  expect(refused).toMatchObject({ code: 'HOST_FORKED', hint: expect.stringContaining('memctl host recover') });
  const roots = await Promise.all([alpha, beta, gamma].map(async (host) => (await statusOf(host)).root));
  expect(new Set(roots).size).toBe(1);
}, 60_000);

test('D4: one act of a signer ends it: the log goes on, and no side is lost', async () => {
  await beta.json('host', 'recover', ...signer());
  for (const host of [alpha, gamma, beta, alpha, gamma]) await host.ctl('fetch');
  await beta.json('lesson', 'lesson/after', 'said with the new keys');
  for (const host of [alpha, gamma]) await host.json('fetch');
  for (const host of [alpha, beta, gamma]) {
    for (const subject of [...onBeta, 'lesson/before', 'lesson/after']) {
      expect({ host: host.name, subject, served: await servedOn(host, subject) }).toMatchObject({ served: true });
    }
    expect(await forkAlarms(host)).toEqual([]);
  }
  // The clone is gone, so nobody brought its side to beta (drill cloned-host has it brought): it stands where it was met.
  expect(sidesKept(gamma)).toContain(`"${onClone[0]}"`);
  for (const name of readdirSync(join(gamma.home, 'forks'))) {
    cpSync(join(gamma.home, 'forks', name), join(beta.home, 'forks', name));
  }
  expect((await beta.ctl('host', 'recover', '--append')).code).toBe(0);
  await alpha.json('fetch');
  for (const subject of onClone) expect(await servedOn(alpha, subject)).toBe(true);
}, 60_000);

test('D4: the other machine goes on as well, under a name of its own', async () => {
  const fresh = await bench.lay('delta');
  const { line } = await fresh.json<{ line: string }>('host', 'request', '--host', 'delta', '--listen', fresh.address);
  await alpha.json('host', 'add', line, ...signer());
  const { mesh } = await alpha.json<{ mesh: string }>('status');
  await fresh.json('join', `ssh://${alpha.address}`, '--mesh', mesh);
  await fresh.start();
  await fresh.json('lesson', 'lesson/from-delta', 'x');
  await alpha.json('fetch');
  expect(await servedOn(alpha, 'lesson/from-delta')).toBe(true);
}, 60_000);
