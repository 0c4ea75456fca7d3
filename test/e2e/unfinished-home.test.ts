/** A home whose making was killed: init, host request, join and import each go on over the locks that it left. */
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

const bench = openBench();

/** What a process that was killed while it wrote the trust branch, a ref or HEAD leaves. */
function leaveLocks({ home }: BenchHost): void {
  mkdirSync(join(home, 'repo.git/refs/heads'), { recursive: true });
  for (const lock of ['refs/heads/trust.lock', 'HEAD.lock', 'packed-refs.lock'])
    writeFileSync(join(home, 'repo.git', lock), '');
}

test('init, host request and join that were killed are simply called again', { timeout: 60_000 }, async () => {
  const [alpha, beta] = [await bench.lay('made/alpha'), await bench.lay('made/beta')];
  const init = ['init', '--host', 'alpha', '--listen', alpha.address];
  await alpha.json(...init);
  // The identity is written last.
  rmSync(join(alpha.home, 'keys/identity.json'));
  leaveLocks(alpha);
  const { mesh } = await alpha.json<{ mesh: string }>(...init);
  await alpha.start();
  const request = ['host', 'request', '--host', 'beta', '--listen', beta.address];
  await beta.json(...request);
  leaveLocks(beta);
  const { line } = await beta.json<{ line: string }>(...request);
  await alpha.json('host', 'add', line, '--yes');
  leaveLocks(beta);
  expect(await beta.json('join', `ssh://${alpha.address}`, '--mesh', mesh)).toMatchObject({ mesh, host: 'beta' });
});

test('an import that was killed while it made the home is simply called again', { timeout: 60_000 }, async () => {
  const made = await bench.lay('imported/alpha');
  await made.json('init', '--host', 'alpha', '--listen', made.address);
  await made.json('lesson', 'lesson/one', 'rule one');
  const backup = join(bench.folder(), 'imported/backup');
  await made.json('export', backup);
  const keys = join(bench.folder(), 'imported/keys');
  cpSync(join(made.home, 'keys'), keys, { recursive: true });
  rmSync(made.home, { recursive: true });
  mkdirSync(made.home, { mode: 0o700 });
  cpSync(keys, join(made.home, 'keys'), { recursive: true });
  leaveLocks(made);
  expect(await made.json('import', backup)).toMatchObject({ new: 1, skipped: [], standing: 'host' });
});
