/** --once and --sync with real processes. */
import { beforeAll, expect, test } from 'vitest';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

interface Appended {
  readonly id: string;
  readonly seq: number;
  readonly replicated: number;
  readonly peers: number;
}

const bench = openBench();
let alpha: BenchHost;
let beta: BenchHost;
let mesh: string;

beforeAll(async () => {
  [alpha, beta] = [await bench.lay('alpha'), await bench.lay('beta')];
  ({ mesh } = await alpha.json<{ mesh: string }>('init', '--host', 'alpha', '--listen', alpha.address));
  await alpha.start();
}, 60_000);

const lesson = (name: string, ...more: string[]): string[] => ['lesson', `lesson/${name}`, `rule ${name}`, ...more];

test('once: a retry answers the event of the first time, also after a restart and from two clients at once', async () => {
  const first = await alpha.json<Appended>(...lesson('kept', '--once', 'job-1'));
  expect(await alpha.json<Appended>(...lesson('kept', '--once', 'job-1'))).toEqual(first);
  await alpha.stop();
  await alpha.start();
  expect(await alpha.json<Appended>(...lesson('kept', '--once', 'job-1'))).toEqual(first);
  const both = await Promise.all([1, 2].map(() => alpha.json<Appended>(...lesson('twin', '--once', 'job-2'))));
  expect(both[0]).toEqual(both[1]);
  expect(both[0]?.seq).toBe(first.seq + 1);
}, 60_000);

test('once: a key that names another request is refused, and nothing is appended', async () => {
  const { seq } = await alpha.json<Appended>(...lesson('other', '--once', 'job-3'));
  const refused = await alpha.refused(2, ['lesson', 'lesson/other', 'something else', '--once', 'job-3']);
  expect(refused.code).toBe('ONCE_USED');
  const { seq: next } = await alpha.json<Appended>(...lesson('after'));
  expect(next).toBe(seq + 1);
}, 60_000);

test('once: a file is one request', async () => {
  const input = ['a', 'b']
    .map((name) => `{"kind":"lesson","subject":"lesson/file-${name}","content":"${name}"}\n`)
    .join('');
  const args = ['append', '--file', '-', '--once', 'file-1', '--json'];
  const first = await alpha.run(args, { input });
  expect(first.code).toBe(0);
  expect(await alpha.run(args, { input })).toEqual(first);
  const longer = `${input}{"kind":"lesson","subject":"lesson/file-c","content":"c"}\n`;
  const { code, stdout } = await alpha.run(args, { input: longer });
  expect({ code, stdout }).toMatchObject({ code: 2, stdout: expect.stringContaining('ONCE_USED') });
}, 60_000);

test('sync: what cannot be confirmed at all is refused before it is appended', async () => {
  expect((await alpha.refused(2, lesson('alone', '--sync'))).code).toBe('TOO_FEW_PEERS');
  expect((await alpha.refused(2, lesson('alone', '--sync=x'))).code).toBe('USAGE');
  expect((await alpha.refused(2, lesson('alone', '--sync', '--timeout', 'soon'))).code).toBe('USAGE');
  expect((await alpha.ctl('log', 'lesson/alone')).code).toBe(7);
}, 60_000);

test('A10: sync: the answer names the event and how many peers hold it; it comes when the peer does, else exit 5 after the time, and the event stands', async () => {
  const { line } = await beta.json<{ line: string }>('host', 'request', '--host', 'beta', '--listen', beta.address);
  await alpha.json('host', 'add', line, '--yes');
  await beta.json('join', `ssh://${alpha.address}`, '--mesh', mesh);
  const told = await alpha.ctl(...lesson('told'));
  expect(told.stdout).toMatch(/^lesson lesson\/told [0-9a-f]{12} \(alpha:\d+\), replicated to 0 of 1 peer\n$/);
  const late = await alpha.run([...lesson('late', '--sync', '--timeout', '300ms'), '--json']);
  expect(late.code).toBe(5);
  expect(JSON.parse(late.stdout)).toMatchObject({ replicated: 0, peers: 1 });
  expect(late.stderr).toContain('It is committed here and will still replicate');
  await beta.start();
  // beta fetches while alpha waits: that is what releases it.
  const [held] = await Promise.all([
    alpha.json<Appended>(...lesson('held', '--sync=all', '--timeout', '60s', '--once', 'job-4')),
    fetchUntil(beta, 'lesson/held'),
  ]);
  expect(held).toMatchObject({ replicated: 1, peers: 1 });
  expect(await beta.json<{ status: string }>('recall', 'lesson/late')).toMatchObject({ status: 'served' });
  expect(await alpha.json<Appended>(...lesson('held', '--once', 'job-4'))).toEqual(held);
}, 60_000);

async function fetchUntil(host: BenchHost, subject: string): Promise<void> {
  for (let round = 0; round < 100; round += 1) {
    await host.json('fetch');
    if ((await host.ctl('recall', subject)).code === 0) return;
  }
  throw new Error(`${subject} did not come`);
}
