import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { meshOfOne } from '../lib/memctl.ts';

const sha256 = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;

test('observe: the digest of what is there, missing when it is gone, an error when it may not be looked at', async () => {
  const world = await meshOfOne();
  const file = join(world.work, 'infra/notes.md');
  mkdirSync(join(world.work, 'infra'));
  writeFileSync(join(world.work, '.memd'), 'web\n');
  writeFileSync(file, '# Notes\n');
  const observe = (home: string, ...more: readonly string[]) =>
    world.json(['observe', 'endpoint/grafana', '--home', home, ...more]);
  const first = await observe('file:infra/notes.md');
  expect(first.value).toMatchObject({ host: 'alpha', seq: 1, digest: sha256('# Notes\n') });
  const claim = ['assert', 'endpoint/grafana', '--value', 'nas:3000', '--home', 'file:infra/notes.md'];
  await world.run([...claim, '--basis', String(first.value['id'])]);
  expect((await world.json(['recall', 'endpoint/grafana'])).value).toMatchObject({ status: 'served' });

  rmSync(file);
  expect((await observe('file:infra/notes.md')).value).toMatchObject({ digest: 'missing' });
  expect(await world.json(['recall', 'endpoint/grafana'])).toMatchObject({ code: 4, value: { status: 'stale' } });

  const refused = await observe('file:.ssh/id_ed25519');
  expect(refused).toMatchObject({ code: 4, value: { error: { code: 'HOME_UNREADABLE' } } });
  const told = await observe('file:elsewhere.md', '--digest', `sha256:${'a'.repeat(64)}`);
  expect(told.value).toMatchObject({ digest: `sha256:${'a'.repeat(64)}` });
});

test('propose: it is written down, and served by nobody', async () => {
  const world = await meshOfOne();
  const made = await world.run(['propose', 'endpoint/grafana', '--value', 'nas2', '--home', 'file:a.md']);
  expect(made.stdout).toMatch(/^propose endpoint\/grafana /);
  expect((await world.run(['propose', 'lesson/x', 'Quote'])).code).toBe(0);
  expect((await world.json(['recall', 'lesson/x'])).value).toMatchObject({ status: 'none' });
  const log = await world.run(['log', '--json']);
  expect(log.stdout.match(/"status":"recorded"/g)).toHaveLength(2);
});

test('import: a file of rules for one project, twice, with a secret in it', async () => {
  const world = await meshOfOne();
  writeFileSync(join(world.work, '.memd'), 'web\n');
  const token = `ghp_${'aB3'.repeat(12)}`;
  writeFileSync(join(world.work, 'AGENTS.md'), `# R\n- Quote every path.\n- Log in with ${token}\n`);
  const run = () => world.json(['import', 'AGENTS.md', '--scope', '.']);
  const skipped = [{ what: 'lesson/log-in-with', why: expect.stringContaining('looks like a secret (rule github)') }];
  expect((await run()).value).toMatchObject({ kind: 'agents-md', new: 1, unchanged: 0, skipped });
  expect((await run()).value).toMatchObject({ new: 0, unchanged: 1, skipped });
  expect((await world.run(['log', '--json'])).stdout.toLowerCase()).not.toContain('ab3ab3');
  expect((await world.json(['recall', 'lesson/quote-every-path'])).value).toMatchObject({
    scope: 'web',
    status: 'served',
  });
});
