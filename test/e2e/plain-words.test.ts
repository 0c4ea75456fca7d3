/** What memctl says of one thing, of nothing, and of a call that is wrong. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openBench } from '../lib/hosts-bench.ts';

const bench = openBench();

test('one is one: event, line, alarm, problem; a mesh of one has nobody to replicate to', async () => {
  const host = await bench.lay('one');
  await host.json('init', '--host', 'alpha', '--listen', '127.0.0.1:0');
  const { stdout: said } = await host.ctl('lesson', 'lesson/a', 'one');
  expect(said).toMatch(/^lesson lesson\/a [0-9a-f]{12} \(alpha:1\)\n$/);
  expect((await host.ctl('verify')).stdout).toMatch(/^alpha: 1 line, link/);
  expect((await host.ctl('rebuild')).stdout).toMatch(/^1 event in /);
  writeFileSync(join(host.home, 'logs', 'alpha.jsonl'), '{}\n', { flag: 'a' });
  expect((await host.ctl('verify', '--deep')).stdout).toMatch(/\n1 problem; /);
  const branch = join(host.repository, 'refs', 'heads', 'log', 'alpha');
  writeFileSync(branch, '');
  const { stdout: status } = await host.ctl('status');
  expect(status).toMatch(/\b2 alarms\n/);
  expect(status).toMatch(/ 0 events, /);
  rmSync(branch);
  expect((await host.ctl('status')).stdout).toMatch(/, 1 alarm\n/);
});

test('a refused event points to the help of its own command', async () => {
  const host = await bench.lay('hints');
  await host.json('init', '--host', 'alpha', '--listen', '127.0.0.1:0');
  const lesson = await host.refused(2, ['lesson', 'no-slash', 'x']);
  expect(lesson).toMatchObject({ code: 'EVENT_INVALID', hint: expect.stringMatching(/^memctl lesson --help /) });
  const decision = await host.refused(2, ['append', '--file', '-'], { input: '{"kind":"decision","subject":"x"}\n' });
  expect(decision).toMatchObject({ hint: expect.stringMatching(/^memctl decide --help /) });
  const pin = await host.refused(2, ['append', '--file', '-'], { input: '{"kind":"constructor","subject":"x"}\n' });
  expect(pin).toMatchObject({ hint: expect.stringMatching(/^memctl append --help /) });
});

test('--json without a command, or without the second word of one, is one error document', async () => {
  const host = await bench.lay('nothing');
  for (const args of [[], ['host'], ['class']]) {
    const { code, stdout, stderr } = await host.ctl(...args, '--json');
    expect({ code, stderr }).toEqual({ code: 2, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'USAGE' } });
  }
});

test('init refuses a name that is none as a wrong call, before it makes a key', async () => {
  const host = await bench.lay('names');
  const { code, message } = await host.refused(2, ['init', '--host', 'alpha', '--as', 'Not A Name']);
  expect({ code, message }).toEqual({ code: 'BAD_REQUEST', message: '--as Not A Name is not a name like craig' });
});

test('what init says to run next names a home that would not be found without', async () => {
  const named = await bench.lay('a home');
  const { stdout } = await named.ctl('init', '--host', 'alpha');
  const flag = `--home '${named.home}'`;
  expect(stdout).toContain(`next: memd ${flag}, or npm start -- ${flag} in the checkout; then memctl ${flag} status\n`);
  const usual = await bench.lay('usual');
  mkdirSync(usual.home, { mode: 0o700 });
  const { stdout: plain } = await usual.run(['init', '--host', 'alpha'], { env: { MEMD_HOME: usual.home } });
  expect(plain).toContain('next: memd, or npm start in the checkout; then memctl status\n');
});
