/** Damage in this home's copy of a log is this home's damage: told as that, and mended from peers where peers have it. */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { enrol } from '../../drills/lib/hosts.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

const bench = openBench();
let alpha: BenchHost;
let beta: BenchHost;
let sound: string;

interface Status {
  readonly root: string;
  readonly alarms: { kind: string; host?: string; detail: string }[];
}

/** Beta holds four lines of alpha's log, in four commits; alpha runs, beta does not. */
beforeAll(async () => {
  [alpha, beta] = [await bench.lay('alpha'), await bench.lay('beta')];
  sound = join(bench.folder(), 'sound');
  const { mesh } = await alpha.json<{ mesh: string }>('init', '--host', 'alpha', '--listen', alpha.address);
  await alpha.start();
  await enrol(alpha, beta, mesh);
  for (let n = 1; n <= 4; n += 1) await alpha.json('lesson', `lesson/n${n}`, 'x');
  await beta.json('fetch');
  cpSync(beta.home, sound, { recursive: true });
}, 60_000);

function restore(): void {
  rmSync(beta.home, { recursive: true });
  cpSync(sound, beta.home, { recursive: true });
}

const git = (host: BenchHost, ...args: string[]): string =>
  execFileSync('git', ['--git-dir', host.repository, ...args], { encoding: 'utf8' }).trim();

function objectFile(host: BenchHost, name: string): string {
  const oid = git(host, 'rev-parse', name);
  const file = join(host.repository, 'objects', oid.slice(0, 2), oid.slice(2));
  chmodSync(file, 0o600);
  return file;
}

const branch = (host: BenchHost): string => join(host.repository, 'refs/heads/log/alpha');

async function requireMended(lines: number): Promise<void> {
  const { alarms, root } = await beta.json<Status>('status');
  expect(alarms).toEqual([]);
  expect(root).toBe((await alpha.json<Status>('status')).root);
  expect(await beta.json('verify', '--deep')).toMatchObject({ ok: true, logs: { alpha: { lines } } });
  expect(readFileSync(branch(beta), 'utf8')).toBe(readFileSync(branch(alpha), 'utf8'));
}

describe("the log of another host's", () => {
  let lines = 4;
  const damages: [string, () => void][] = [
    ['its commit is empty', () => truncateSync(objectFile(beta, 'log/alpha'), 0)],
    ['its commit is gone', () => rmSync(objectFile(beta, 'log/alpha'))],
    ['its only file is empty', () => truncateSync(objectFile(beta, 'log/alpha:00/00/00.jsonl'), 0)],
    ['a folder of it is another', () => writeFileSync(objectFile(beta, 'log/alpha:00'), 'nonsense')],
    ['its branch is filled with NUL', () => writeFileSync(branch(beta), Buffer.alloc(41))],
    ['every object is gone, the branch too', () => (rmSync(objectFile(beta, 'log/alpha')), rmSync(branch(beta)))],
  ];

  test.each(damages)(
    '%s while nothing runs: told as what it is, and taken anew at the next fetch',
    async (what, damage) => {
      restore();
      damage();
      await beta.ctl('rebuild');
      const before = await beta.json<Status>('status');
      expect(before.alarms.map(({ kind }) => kind)).toContain(what.endsWith('too') ? 'BRANCH_REWOUND' : 'LOG_CUT');
      if (!what.endsWith('too')) expect(JSON.stringify(before.alarms)).not.toContain('is gone');
      expect(await beta.json('fetch')).toMatchObject([{ peer: 'alpha', state: 'up', new: lines }]);
      await requireMended(lines);
    },
  );

  test.each(damages.slice(0, 4))('%s under a running memd: the peer is not blamed', async (_what, damage) => {
    restore();
    await beta.start();
    damage();
    await alpha.json('lesson', `lesson/m${(lines += 1)}`, 'x');
    const fetched = await beta.json<{ state: string; reason?: string }[]>('fetch');
    expect(fetched).toMatchObject([{ state: 'up' }]);
    await requireMended(lines);
    await beta.stop();
  });

  test('nobody has it: it is told as LOG_CUT, and what stands before it is served', async () => {
    restore();
    await alpha.stop();
    truncateSync(objectFile(beta, 'log/alpha'), 0);
    await beta.start();
    expect((await beta.ctl('fetch')).code).toBe(1);
    expect((await beta.json<Status>('status')).alarms).toMatchObject([{ kind: 'LOG_CUT', host: 'alpha' }]);
    await beta.stop();
    await alpha.start();
  });
});

describe("the journal of another host's, whose branch is damaged", () => {
  test.each([
    ['filled with NUL', (file: string) => writeFileSync(file, Buffer.alloc(41))],
    ['empty', (file: string) => truncateSync(file, 0)],
  ])('%s: it is told, everything else goes on, and it comes back with the next fetch', async (_, damage) => {
    restore();
    const file = join(beta.repository, 'refs/heads/view/alpha');
    await beta.json('fetch');
    const before = readFileSync(file, 'utf8');
    damage(file);
    // Else it may be back before anybody asks.
    await alpha.stop();
    await beta.start();
    expect((await beta.json<Status>('status')).alarms).toMatchObject([{ kind: 'REF_DAMAGED' }]);
    expect(await beta.json('recall', 'lesson/n1')).toMatchObject({ status: 'served' });
    await alpha.start();
    expect(await beta.json('fetch')).toMatchObject([{ state: 'up' }]);
    expect(readFileSync(file, 'utf8')).toHaveLength(before.length);
    expect((await beta.json<Status>('status')).alarms).toEqual([]);
    await beta.stop();
  });
});

describe('an object that is put back', () => {
  test.each([
    ['a running memd at the next fetch', true],
    ['a command at once', false],
  ])('ends the alarm of %s; the own log is never mended', async (_, running) => {
    const file = objectFile(alpha, 'log/alpha');
    const bytes = readFileSync(file);
    await alpha.stop();
    truncateSync(file, 0);
    if (running) await alpha.start();
    else await alpha.ctl('rebuild');
    const { alarms } = await alpha.json<Status>('status');
    expect(alarms).toMatchObject([{ kind: 'LOG_CUT', host: 'alpha' }]);
    expect(await alpha.refused(1, ['lesson', 'lesson/x', 'x'])).toMatchObject({ code: 'OWN_LOG_DAMAGED' });
    await alpha.ctl('fetch');
    expect(readFileSync(file)).toHaveLength(0);
    writeFileSync(file, bytes);
    if (running) await alpha.ctl('fetch');
    expect((await alpha.json<Status>('status')).alarms).toEqual([]);
    expect(await alpha.json('recall', 'lesson/n1')).toMatchObject({ status: 'served' });
    expect((await alpha.ctl('lesson', 'lesson/y', 'x')).code).toBe(0);
    expect(await alpha.json('verify', '--deep')).toMatchObject({ ok: true });
  });
});
