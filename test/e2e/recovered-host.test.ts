/** A host that is given new keys: after a theft, from another host, and what others do for what stood behind the cut. */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { enrol, isolated, runMemctl } from '../../drills/lib/hosts.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

const bench = openBench();
let alpha: BenchHost;
let beta: BenchHost;
let gamma: BenchHost;
let mesh: string;

interface Status {
  readonly root: string;
  readonly alarms: readonly { readonly kind: string; readonly detail: string }[];
}

interface Host {
  readonly host: string;
  readonly status: string;
  readonly end: number | null;
}

beforeAll(async () => {
  [alpha, beta, gamma] = [await bench.lay('alpha'), await bench.lay('beta'), await bench.lay('gamma')];
  ({ mesh } = await alpha.json<{ mesh: string }>('init', '--host', 'alpha', '--listen', alpha.address));
  await alpha.start();
  for (const host of [beta, gamma]) {
    await enrol(alpha, host, mesh);
    await host.start();
  }
  for (const host of [alpha, beta, gamma]) await host.json('fetch');
}, 60_000);

const key = (): string => join(bench.folder(), 'config', 'memd', 'operator_ed25519');
const status = async (host: BenchHost, subject: string): Promise<string> =>
  (JSON.parse((await host.ctl('recall', subject, '--json')).stdout) as { status: string }).status;
const alarms = async (host: BenchHost): Promise<readonly string[]> =>
  (await host.json<Status>('status')).alarms.map(({ kind }) => kind);
const fetchAll = async (...hosts: readonly BenchHost[]): Promise<void> => {
  for (const host of hosts) await host.ctl('fetch');
};

test('keys that were stolen: what stands behind the pin counts no more, and comes back only when somebody says so', async () => {
  for (const n of [1, 2, 3]) await beta.json('lesson', `lesson/s${n}`, 'x');
  await fetchAll(alpha, gamma);
  const done = await beta.json<{ pin: { seq: number }; unsaid: number }>(
    'host',
    'recover',
    '--at',
    '2',
    '--key',
    key(),
    '--yes',
  );
  expect(done).toMatchObject({ pin: { seq: 2 }, unsaid: 1 });
  // Twice round: who is asked before it has heard of the new journal still offers the old one.
  await fetchAll(alpha, gamma, beta, alpha, gamma, beta, alpha);
  for (const host of [alpha, beta, gamma]) {
    expect([await status(host, 'lesson/s2'), await status(host, 'lesson/s3')]).toEqual(['served', 'none']);
    await expect.poll(() => alarms(host)).toEqual([]);
  }
  expect(await beta.json('host', 'recover', '--append')).toMatchObject({ seq: 3 });
  await fetchAll(alpha, gamma);
  for (const host of [alpha, beta, gamma]) expect(await status(host, 'lesson/s3')).toBe('served');
  expect(await beta.ctl('host', 'recover', '--append', '--json')).toMatchObject({ code: 0, stdout: '' });
}, 60_000);

test('what a signer approved stands behind a cut alone: another host says it again, under the same id', async () => {
  await beta.json('lesson', 'lesson/base', 'x');
  await beta.stop();
  const old = join(bench.folder(), 'old');
  cpSync(beta.home, old, { recursive: true });
  const signed = [
    'sign',
    'lesson/approved',
    '--content',
    'approved',
    '--home-ref',
    'https://x.example',
    '--key',
    key(),
    '--yes',
  ];
  const { id } = await beta.json<{ id: string }>(...signed);
  await beta.start();
  await fetchAll(alpha, gamma);
  expect(await status(gamma, 'lesson/approved')).toBe('served');
  await Promise.all([beta.stop(), gamma.stop(), alpha.stop()]);
  rmSync(beta.home, { recursive: true });
  cpSync(old, beta.home, { recursive: true });
  await beta.json('lesson', 'lesson/other', 'another line of the same number');
  await Promise.all([beta.start(), alpha.start()]);
  await fetchAll(alpha, alpha);
  const [host] = (await alpha.json<{ hosts: Host[] }>('charter')).hosts.filter(({ host: name }) => name === 'beta');
  expect(host).toMatchObject({ status: 'forked' });
  expect(await status(alpha, 'lesson/approved')).toBe('served');
  const shown = await alpha.json<{ lines: { log: string }[] }>('show', id);
  expect(shown.lines.map(({ log }) => log)).toEqual(['alpha']);
  await gamma.start();
  await fetchAll(gamma, beta, gamma);
  expect(await status(gamma, 'lesson/approved')).toBe('served');
  await beta.refused(6, ['lesson', 'lesson/x', 'x']).then((error) => expect(error.code).toBe('HOST_FORKED'));
  await beta.json('host', 'recover', '--key', key(), '--yes');
  await fetchAll(alpha, gamma, beta, alpha, gamma);
  const roots = await Promise.all([alpha, beta, gamma].map(async (one) => (await one.json<Status>('status')).root));
  expect(new Set(roots).size).toBe(1);
  expect(await status(alpha, 'lesson/other')).toBe('served');
}, 90_000);

test('keys that a host has, and a name that is taken, enrol no second host', async () => {
  const folder = await bench.lay('delta');
  const { line } = await folder.json<{ line: string }>(
    'host',
    'request',
    '--host',
    'delta',
    '--listen',
    folder.address,
  );
  await alpha.json('host', 'add', line, '--yes');
  const refused = await alpha.refused(6, ['host', 'add', line.replace(':delta:', ':epsilon:'), '--yes']);
  expect(refused.code).toBe('OP_REFUSED');
  const again = await alpha.refused(6, ['host', 'add', line, '--yes']);
  expect(again.code).toBe('OP_REFUSED');
}, 30_000);

test('D5: a copied home is read-only, says both ways out, and reads on', async () => {
  const env = isolated(bench.folder());
  const copy = join(bench.folder(), 'copy');
  await gamma.stop();
  await runMemctl(['--home', gamma.home, 'status'], { bound: true, env });
  cpSync(gamma.home, copy, { recursive: true });
  const ctl = (...args: readonly string[]): ReturnType<typeof runMemctl> =>
    runMemctl(['--home', copy, ...args, '--json'], { bound: true, env });
  const { code, stdout } = await ctl('lesson', 'lesson/x', 'x');
  expect({ code, error: (JSON.parse(stdout) as { error: unknown }).error }).toMatchObject({
    code: 6,
    error: { code: 'MACHINE_CHANGED', hint: expect.stringMatching(/host recover.*host request/) },
  });
  const told = JSON.parse((await ctl('status')).stdout) as Status;
  expect(told.alarms).toMatchObject([{ kind: 'MACHINE_CHANGED' }]);
  expect((await ctl('recall', 'lesson/approved')).code).toBe(0);
  const recovered = await ctl('host', 'recover', '--key', key(), '--yes');
  expect(recovered.code).toBe(0);
  expect((await ctl('lesson', 'lesson/copy', 'x')).code).toBe(0);
}, 60_000);
