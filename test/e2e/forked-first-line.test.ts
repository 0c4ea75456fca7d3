/** One identity on two machines before it said anything: the very first line of its log is forked, and its first key leaves none. */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { converge, formMesh } from '../../drills/lib/hosts.ts';
import { charterHost, forkAlarms, servedOn } from '../../drills/lib/recovery.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

const bench = openBench();
let alpha: BenchHost;
let beta: BenchHost;
let clone: BenchHost;
const signer = (): string[] => ['--key', join(bench.folder(), 'config', 'memd', 'operator_ed25519'), '--yes'];

beforeAll(async () => {
  [alpha, beta, clone] = [await bench.lay('alpha'), await bench.lay('beta'), await bench.lay('clone')];
  await formMesh([alpha, beta]);
  await converge([alpha, beta]);
  await Promise.all([alpha, beta].map((host) => host.stop()));
  cpSync(beta.home, clone.home, { recursive: true });
  await beta.json('lesson', 'lesson/on-beta', 'said on beta');
  await clone.json('lesson', 'lesson/on-clone', 'said on the clone');
}, 60_000);

test('D2, D4: a log that is forked at its first line is settled as any other: both say it again, and it goes on', async () => {
  await Promise.all([alpha.start(), clone.startAt(beta.address)]);
  await alpha.ctl('fetch', 'beta');
  await clone.stop();
  await beta.start();
  await alpha.ctl('fetch', 'beta');
  expect(await charterHost(alpha, 'beta')).toMatchObject({ status: 'forked', end: 0 });
  // Beta hears of it, and of the other side, from alpha, which holds that one.
  await beta.ctl('fetch');
  await beta.json('host', 'recover', ...signer());
  for (const host of [alpha, beta, alpha]) await host.ctl('fetch');
  await beta.json('lesson', 'lesson/after', 'said with the new keys');
  await alpha.json('fetch');
  for (const host of [alpha, beta]) {
    for (const subject of ['lesson/on-beta', 'lesson/on-clone', 'lesson/after'])
      expect({ host: host.name, subject, served: await servedOn(host, subject) }).toMatchObject({ served: true });
    expect(await forkAlarms(host)).toEqual([]);
  }
  expect((await alpha.ctl('verify', '--deep')).code).toBe(0);
}, 60_000);
