/** A host that has another key than when its log was taken: the log that it writes now takes the place of the old one. */
import { cpSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { enrol } from '../../drills/lib/hosts.ts';
import { openRepository } from '../../src/store/git/repository.ts';
import { addTrustOps, readTrust } from '../../src/store/trust-store.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

const bench = openBench();

interface Status {
  readonly root: string;
  readonly alarms: { kind: string; host?: string; detail: string }[];
}

const request = async (host: BenchHost): Promise<string> =>
  (await host.json<{ line: string }>('host', 'request', '--host', 'beta', '--listen', host.address)).line;

test('a log held under a key that is none any more is replaced by the one that the new key signs', async () => {
  const [alpha, beta] = [await bench.lay('alpha'), await bench.lay('beta')];
  const { mesh } = await alpha.json<{ mesh: string }>('init', '--host', 'alpha', '--listen', alpha.address);
  const side = join(bench.folder(), 'side');
  cpSync(alpha.home, side, { recursive: true });
  await alpha.start();
  await enrol(alpha, beta, mesh);
  await beta.start();
  for (const n of [1, 2, 3]) await beta.json('lesson', `lesson/old${n}`, 'x');
  await alpha.json('fetch');
  await Promise.all([beta.stop(), alpha.stop()]);

  // Elsewhere, not knowing of it, the same signer adds a host of that name with another key; then both are heard of.
  renameSync(beta.home, `${beta.home}.old`);
  const line = await request(beta);
  expect((await alpha.run(['--home', side, 'host', 'add', line, '--yes'])).code).toBe(0);
  const { ops } = await readTrust(openRepository(join(side, 'repo.git')));
  await addTrustOps(openRepository(alpha.repository), { ops, author: 'x <x@x>', seconds: 1 });
  await alpha.start();
  expect((await alpha.json<Status>('status')).alarms.map(({ kind }) => kind)).toContain('CHARTER_FORK');

  await alpha.json('host', 'add', line, '--yes');
  expect((await alpha.json<Status>('status')).alarms).toMatchObject([{ kind: 'LOG_CUT', host: 'beta' }]);
  await beta.json('join', `ssh://${alpha.address}`, '--mesh', mesh);
  await beta.start();
  for (const n of [1, 2]) {
    await beta.json('lesson', `lesson/new${n}`, 'x');
    expect(await alpha.json('fetch')).toMatchObject([{ peer: 'beta', state: 'up' }]);
    expect(await alpha.json('recall', `lesson/new${n}`)).toMatchObject({ status: 'served' });
  }
  // Until the journal that the new key signs is here too, the old one is what alpha holds, and nobody's any more.
  await beta.json('replay', '--at', 'now');
  await alpha.json('fetch');
  for (const restarted of [false, true]) {
    if (restarted) {
      await alpha.stop();
      await alpha.start();
    }
    const { alarms, root } = await alpha.json<Status>('status');
    expect(alarms).toEqual([]);
    expect(root).toBe((await beta.json<Status>('status')).root);
    expect(await alpha.json('verify', '--deep')).toMatchObject({ ok: true, logs: { beta: { lines: 2 } } });
  }
}, 60_000);
