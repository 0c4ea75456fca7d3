/** Backups in a mesh: a restored host asks its peers first; what one host exported brings another one what it lacks. */
import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { converge, enrol, isolated } from '../../drills/lib/hosts.ts';
import { startProcess } from '../../drills/lib/process.ts';
import { fileURLToPath } from 'node:url';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

const bench = openBench();
const memctl = fileURLToPath(new URL('../../bin/memctl', import.meta.url));

async function pair(name: string): Promise<readonly [BenchHost, BenchHost]> {
  const [alpha, beta] = [await bench.lay(`${name}/alpha`), await bench.lay(`${name}/beta`)];
  const { mesh } = await alpha.json<{ mesh: string }>('init', '--host', 'alpha', '--listen', alpha.address);
  await alpha.start();
  const named = { ...beta, name: 'beta' };
  await enrol({ ...alpha, name: 'alpha' }, named, mesh);
  await beta.start();
  return [alpha, beta];
}

/** Everything of the home is lost but its keys. */
function loseAllButKeys({ home }: BenchHost): void {
  const aside = `${home}-keys`;
  cpSync(join(home, 'keys'), aside, { recursive: true });
  rmSync(home, { recursive: true });
  mkdirSync(home, { mode: 0o700 });
  cpSync(aside, join(home, 'keys'), { recursive: true });
  rmSync(aside, { recursive: true });
}

test('a host restored from an old backup asks its peers before it writes; no fork', { timeout: 120_000 }, async () => {
  const [alpha, beta] = await pair('old');
  await beta.json('lesson', 'lesson/one', 'in the backup');
  const backup = join(bench.folder(), 'old/backup');
  await beta.json('export', backup);
  await beta.json('lesson', 'lesson/two', 'after the backup');
  await converge([alpha, beta]);
  await beta.halt();
  loseAllButKeys(beta);
  await alpha.stop();
  expect(await beta.json('import', backup)).toMatchObject({ new: 1, standing: 'host' });
  // Nobody can say what else this host has said.
  const env = { MEMD_OFFLINE: '' };
  expect(await beta.refused(5, ['lesson', 'lesson/three', 'x'], { env })).toMatchObject({ code: 'PEERS_UNREACHABLE' });
  await alpha.start();
  const said = await beta.run(['lesson', 'lesson/three', 'x', '--json'], { env });
  expect({ code: said.code, seq: (JSON.parse(said.stdout) as { seq: number }).seq }).toEqual({ code: 0, seq: 3 });
  await beta.start();
  await converge([alpha, beta]);
  for (const host of [alpha, beta]) {
    expect(await host.json('status')).toMatchObject({ heads: { beta: { seq: 3 } }, alarms: [] });
    expect((await host.ctl('verify', '--deep')).code).toBe(0);
  }
});

test(
  'E8: a host that was away edits what was purged meanwhile; the backup that both get settles it alike',
  { timeout: 120_000 },
  async () => {
    const [alpha, beta] = await pair('away');
    const { id } = await alpha.json<{ id: string }>('lesson', 'lesson/one', 'swordfish-4711');
    await alpha.json('lesson', 'lesson/two', 'kept');
    await converge([alpha, beta]);
    await beta.stop();
    await alpha.json('purge', id, '--reason', 'secret', '--yes');
    // Sixty days without a word, and then an edit of the same fact.
    await beta.json('lesson', 'lesson/one', 'an edit of it');
    const [ofAlpha, ofBeta] = ['alpha', 'beta'].map((name) => join(bench.folder(), `away/backup-${name}`)) as [
      string,
      string,
    ];
    await alpha.json('export', ofAlpha);
    await beta.json('export', ofBeta);
    // Over a stick, in place of the network: beta gets the tombstone, alpha the edit.
    await alpha.stop();
    expect(await beta.json('import', ofAlpha)).toMatchObject({ trust: { new: 1 }, skipped: [] });
    expect(await alpha.json('import', ofBeta)).toMatchObject({ logs: { beta: { new: 1 } }, skipped: [] });
    const [one, two] = [await alpha.json<{ root: string }>('status'), await beta.json<{ root: string }>('status')];
    expect(one.root).toBe(two.root);
    for (const host of [alpha, beta]) {
      expect(readFileSync(join(host.home, 'logs/alpha.jsonl'), 'utf8')).not.toContain('swordfish');
      expect((await host.ctl('verify', '--deep')).code).toBe(0);
      const { stdout } = await host.ctl('show', id);
      expect(stdout).not.toContain('swordfish');
    }
    await alpha.start();
    await beta.start();
    await converge([alpha, beta]);
    expect((await alpha.json<{ root: string }>('status')).root).toBe(
      (await beta.json<{ root: string }>('status')).root,
    );
  },
);

test(
  'an import that is killed at any moment leaves a home that the next one completes',
  { timeout: 120_000 },
  async () => {
    const made = await bench.lay('killed/alpha');
    await made.json('init', '--host', 'alpha', '--listen', made.address);
    const events = Array.from({ length: 3_000 }, (_, n) => ({
      kind: 'lesson',
      subject: `lesson/n${n}`,
      content: `rule ${n}`,
    }));
    await made.append(events.map((event) => JSON.stringify(event)).join('\n'));
    const { root } = await made.json<{ root: string }>('status');
    const backup = join(bench.folder(), 'killed/backup');
    await made.json('export', backup);
    loseAllButKeys(made);
    for (const after of [60, 150, 250, 400, 600, 900, 1_300]) {
      const child = startProcess({
        command: process.execPath,
        args: [memctl, '--home', made.home, 'import', backup],
        env: isolated(bench.folder()),
      });
      const timer = setTimeout(() => child.kill(true), after);
      await child.ended;
      clearTimeout(timer);
    }
    expect(await made.json('import', backup)).toMatchObject({ skipped: [], root });
    expect(await made.json('verify', '--deep')).toMatchObject({ ok: true, logs: { alpha: { lines: 3_000 } } });
  },
);
