/** A home that was put back from an old backup, or lost its own log: it takes back what its peers hold before it writes. */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { enrol } from '../../drills/lib/hosts.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

const bench = openBench();
let alpha: BenchHost;
let beta: BenchHost;
let backup: string;

interface Status {
  readonly alarms: readonly { readonly kind: string; readonly detail: string }[];
}

/** Beta holds two lines of alpha's log; the backup of alpha has the first. Beta runs, alpha does not. */
beforeAll(async () => {
  // What peers hold is to be asked for, however long they take to answer.
  [alpha, beta] = [await bench.lay('alpha', { MEMD_OFFLINE: '' }), await bench.lay('beta')];
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

function restore(): void {
  rmSync(alpha.home, { recursive: true });
  cpSync(backup, alpha.home, { recursive: true });
}

const branch = (): string => join(alpha.repository, 'refs/heads/log/alpha');

test('D5: the first append after a restore follows what a peer holds, by a command alone', async () => {
  restore();
  expect(await alpha.json('lesson', 'lesson/three', 'x')).toMatchObject({ seq: 3 });
  await alpha.start();
  expect(await beta.json('fetch')).toMatchObject([{ peer: 'alpha', state: 'up' }]);
  expect(await alpha.json('verify', '--deep')).toMatchObject({ ok: true, logs: { alpha: { lines: 3 } } });
  expect((await alpha.json<Status>('status')).alarms).toEqual([]);
  expect((await beta.json<Status>('status')).alarms).toEqual([]);
  await alpha.stop();
}, 60_000);

test('D5: the same by memd', async () => {
  restore();
  await alpha.start();
  expect(await alpha.json('lesson', 'lesson/four', 'x')).toMatchObject({ seq: 4 });
  expect(await beta.json('fetch')).toMatchObject([{ peer: 'alpha', state: 'up' }]);
  expect(await alpha.json('verify', '--deep')).toMatchObject({ ok: true, logs: { alpha: { lines: 4 } } });
  await alpha.stop();
}, 60_000);

test.each([
  ['gone', (file: string) => rmSync(file)],
  ['empty', (file: string) => writeFileSync(file, '')],
  ['filled with NUL', (file: string) => writeFileSync(file, '\0'.repeat(41))],
])(
  'an own branch that is %s is never begun anew: it comes back from a peer, and the next append follows it',
  async (_, damage) => {
    const before = readFileSync(branch(), 'utf8');
    damage(branch());
    await alpha.start();
    await alpha.ctl('fetch');
    expect(readFileSync(branch(), 'utf8')).toBe(before);
    const { results } = { results: await alpha.json<{ seq: number }>('lesson', 'lesson/again', 'x') };
    expect(results.seq).toBeGreaterThan(4);
    expect((await alpha.json<Status>('status')).alarms).toEqual([]);
    await beta.json('fetch');
    expect(await alpha.json('verify', '--deep')).toMatchObject({ ok: true });
    await alpha.stop();
  },
  60_000,
);

test('D5: with peers known and none of them reachable an append waits and is refused, unless a person says --offline', async () => {
  await beta.stop();
  const alone = await alpha.refused(5, ['lesson', 'lesson/six', 'x']);
  expect(alone).toMatchObject({
    code: 'PEERS_UNREACHABLE',
    message: expect.stringMatching(/^no peer \(beta: down, UNREACHABLE: /),
    hint: expect.stringContaining('--offline'),
  });
  expect((await alpha.run(['lesson', 'lesson/six', 'x', '--offline'])).code).toBe(0);
  await alpha.start();
  expect((await alpha.ctl('lesson', 'lesson/seven', 'x', '--offline')).code).toBe(0);
  await alpha.stop();
}, 60_000);

test('a peer that joins, asks and hangs up leaves no warning of a broken connection', () => {
  for (const host of [alpha, beta]) expect(host.memd().said()).not.toContain('CONNECTION_ERROR');
});
