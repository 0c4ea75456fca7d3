/** A home that was put back from an old backup: it must not write over what its peers have seen of it. */
import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { enrol } from '../../drills/lib/hosts.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

const bench = openBench();
let alpha: BenchHost;
let beta: BenchHost;
let backup: string;

/** Beta holds two lines of alpha's log; the backup of alpha has the first. Beta runs, alpha does not. */
beforeAll(async () => {
  [alpha, beta] = [await bench.lay('alpha'), await bench.lay('beta')];
  backup = join(bench.folder(), 'backup');
  const { mesh } = await alpha.json<{ mesh: string }>('init', '--host', 'alpha', '--listen', alpha.address);
  await alpha.start();
  await enrol(alpha, beta, mesh);
  await beta.start();
  await alpha.json('lesson', 'lesson/one', 'in the backup');
  await alpha.stop();
  cpSync(alpha.home, backup, { recursive: true });
  await alpha.start();
  await alpha.json('lesson', 'lesson/two', 'after the backup');
  await beta.json('fetch');
  await alpha.stop();
}, 60_000);

const branch = (): string => readFileSync(join(alpha.repository, 'refs/heads/log/alpha'), 'utf8');

function restore(): void {
  rmSync(alpha.home, { recursive: true });
  cpSync(backup, alpha.home, { recursive: true });
}

test('no append forks the log, by memd or by a command alone; the hint is a command that brings it back', async () => {
  restore();
  const before = branch();
  const alone = await alpha.refused(1, ['lesson', 'lesson/x', 'x']);
  expect(alone).toMatchObject({
    code: 'OWN_LOG_BEHIND',
    message: expect.stringMatching(/^beta holds 2 lines of this host's own log, here are 1: /),
  });
  await alpha.start();
  expect(await alpha.refused(1, ['lesson', 'lesson/x', 'x'])).toMatchObject({ code: 'OWN_LOG_BEHIND' });
  await alpha.json('fetch');
  const { alarms } = await alpha.json<{ alarms: { kind: string }[] }>('status');
  expect(alarms).toMatchObject([{ kind: 'OWN_LOG_AHEAD' }]);
  expect(branch()).toBe(before);
  expect(await alpha.json('recall', 'lesson/one')).toMatchObject({ status: 'served' });
  await alpha.stop();

  const [, command = ''] = /^stop memd, then (.*)$/.exec(alone.hint ?? '') ?? [];
  const unasked = `-o StrictHostKeyChecking=no -o UserKnownHostsFile=${join(bench.folder(), 'known')}`;
  execFileSync('sh', ['-c', command.replace(' -o IdentitiesOnly', ` ${unasked} -o IdentitiesOnly`)], { stdio: 'pipe' });
  await alpha.start();
  expect(await alpha.json('lesson', 'lesson/three', 'x')).toMatchObject({ seq: 3 });
  expect(await beta.json('fetch')).toMatchObject([{ peer: 'alpha', state: 'up' }]);
  expect(await alpha.json('verify', '--deep')).toMatchObject({ ok: true, logs: { alpha: { lines: 3 } } });
  expect((await alpha.json<{ alarms: unknown[] }>('status')).alarms).toEqual([]);
  await alpha.stop();
}, 60_000);

test('lines that come back beside a running memd are taken over, and the next append follows them', async () => {
  const whole = join(bench.folder(), 'whole');
  cpSync(alpha.repository, whole, { recursive: true });
  restore();
  await alpha.start();
  await alpha.refused(1, ['lesson', 'lesson/x', 'x']);
  execFileSync('git', ['-C', alpha.repository, 'fetch', '-q', whole, 'log/alpha:log/alpha']);
  expect(await alpha.json('lesson', 'lesson/four', 'x')).toMatchObject({ seq: 4 });
  expect(await alpha.json('lesson', 'lesson/five', 'x')).toMatchObject({ seq: 5 });
  expect(await beta.json('fetch')).toMatchObject([{ peer: 'alpha', state: 'up' }]);
  await alpha.stop();
}, 60_000);

test('peers that cannot be reached keep nobody from writing', async () => {
  await beta.stop();
  await alpha.start();
  expect((await alpha.ctl('lesson', 'lesson/six', 'x')).code).toBe(0);
  await alpha.stop();
  expect((await alpha.ctl('lesson', 'lesson/seven', 'x')).code).toBe(0);
}, 30_000);

test('a peer that joins, asks and hangs up leaves no warning of a broken connection', () => {
  for (const host of [alpha, beta]) expect(host.memd().said()).not.toContain('CONNECTION_ERROR');
});
