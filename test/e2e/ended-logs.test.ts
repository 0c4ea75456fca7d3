/** A log that the charter ends before the last line held: a revocation that takes the last lines of a host back. */
import { expect, test } from 'vitest';
import { enrol } from '../../drills/lib/hosts.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

const bench = openBench();

interface Status {
  readonly root: string;
  readonly alarms: { kind: string; host?: string; detail: string }[];
  readonly heads: Record<string, { seq: number }>;
}

test('lines behind the pin of a revocation are used nowhere, are no fault, and stay out after a restart', async () => {
  const hosts = [await bench.lay('alpha'), await bench.lay('beta'), await bench.lay('gamma')] as const;
  const [alpha, beta, gamma] = hosts;
  const { mesh } = await alpha.json<{ mesh: string }>('init', '--host', 'alpha', '--listen', alpha.address);
  await alpha.start();
  for (const host of [beta, gamma]) {
    await enrol(alpha, host, mesh);
    await host.start();
  }
  for (const n of [1, 2, 3]) await beta.json('lesson', `lesson/said${n}`, 'x');
  for (const host of [alpha, gamma]) await host.json('fetch');
  const before = await alpha.json<Status>('status');
  expect(before.heads['beta']).toMatchObject({ seq: 3 });

  await alpha.json('host', 'revoke', 'beta', '--at', '2', '--yes');
  await gamma.json('fetch');
  const look = async (host: BenchHost): Promise<Status> => {
    expect(await host.json('recall', 'lesson/said2')).toMatchObject({ status: 'served' });
    const gone = await host.run(['recall', 'lesson/said3', '--json']);
    expect({ code: gone.code, status: (JSON.parse(gone.stdout) as { status: string }).status }).toEqual({
      code: 7,
      status: 'none',
    });
    const status = await host.json<Status>('status');
    expect(status.heads['beta']).toMatchObject({ seq: 2 });
    expect(status.alarms).toEqual([]);
    expect(await host.json('verify', '--deep')).toMatchObject({ ok: true, logs: { beta: { lines: 2 } } });
    return status;
  };
  const [one, two] = [await look(alpha), await look(gamma)];
  expect(one.root).not.toBe(before.root);
  expect(two.root).toBe(one.root);
  for (const host of [alpha, gamma]) {
    await host.stop();
    await host.start();
  }
  await alpha.json('fetch');
  await gamma.json('fetch');
  expect((await look(alpha)).root).toBe(one.root);
  expect((await look(gamma)).root).toBe(one.root);
}, 120_000);
