/** memd and memctl that start at the same moment wait for each other instead of failing. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lockHome } from '../../src/store/home/home-lock.ts';
import { openHome } from '../../src/store/home/home.ts';
import { openBench } from '../lib/hosts-bench.ts';

const bench = openBench();

test('memd waits for a command that is at work; a command waits for a memd that starts', async () => {
  const host = await bench.lay('alpha');
  await host.json('init', '--host', 'alpha', '--listen', '127.0.0.1:0');
  const lock = lockHome(openHome(host.home), { program: 'memctl', now: new Date() });
  const waits = host.ctl('lesson', 'lesson/a', 'x');
  const starts = host.start();
  const memd = host.memd();
  await expect.poll(() => memd.said(), { timeout: 15_000 }).toContain('waits for whoever is at work in this home');
  lock.release();
  await starts;
  expect((await waits).code).toBe(0);
  expect(await host.json('status')).toMatchObject({ daemon: true, heads: { alpha: { seq: 1 } } });
});

test('a home that stays in use is refused, with who holds it', async () => {
  const host = await bench.lay('beta');
  await host.json('init', '--host', 'beta', '--listen', '127.0.0.1:0');
  const lock = lockHome(openHome(host.home), { program: 'other', now: new Date() });
  try {
    const refused = await host.refused(1, ['status']);
    expect(refused).toMatchObject({ code: 'HOME_LOCKED', message: expect.stringContaining('in use by other') });
    const memd = spawn(process.execPath, [join(import.meta.dirname, '../../bin/memd'), '--home', host.home]);
    let said = '';
    memd.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
    const code = await new Promise((resolve) => memd.once('close', resolve));
    expect(said).toMatch(/memd: home .* is in use by other/);
    expect(code).toBe(1);
  } finally {
    lock.release();
  }
});
