import { execFile } from 'node:child_process';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { commitFiles, git, makeRepository } from '../lib/git.ts';
import { meshOfOne } from '../lib/memctl.ts';

const fact = (subject: string, value: string, ...more: readonly string[]): string[] => [
  'assert',
  subject,
  '--value',
  value,
  '--home-ref',
  'file:a.md',
  ...more,
];
const services = '# Services\n\n## Grafana\nnas:3000\n\n## Loki\nnas:3100\n';

test('recall: the home is read live where it can be, and is a copy where it cannot', async () => {
  const world = await meshOfOne();
  const web = join(world.folder, 'web');
  makeRepository(web, { 'infra/SERVICES.md': services });
  const said = ['assert', 'endpoint/grafana', '--value', 'nas:3000', '--home-ref', 'file:infra/SERVICES.md#grafana'];
  expect((await world.run(said)).code).toBe(0);

  const inside = await world.json(['recall', 'endpoint/grafana'], { cwd: join(web, 'infra') });
  expect(inside.code).toBe(0);
  expect(inside.value).toMatchObject({
    status: 'served',
    host: 'alpha',
    home: { ref: 'file:infra/SERVICES.md#grafana', checked: true, fresh: true, text: '## Grafana\nnas:3000' },
  });
  expect(inside.value.age).toBeGreaterThanOrEqual(0);

  const outside = await world.run(['recall', 'endpoint/grafana']);
  expect(outside.code).toBe(0);
  expect(outside.stdout).toMatch(/^COULD NOT CHECK \(no folder may be read.*last by host alpha/);
  expect(outside.stdout).toMatch(/\ncopy: nas:3000\n/);

  world.configure(`[homes]\nroots = [${JSON.stringify(web)}]\n`);
  const rooted = await world.run(['recall', 'endpoint/grafana']);
  expect(rooted.stdout).toContain(`read now: ${web}/infra/SERVICES.md`);
  expect(rooted.stdout).toContain('  | nas:3000');

  writeFileSync(join(web, 'infra/SERVICES.md'), services.replace('Grafana', 'Dashboards'));
  const changed = await world.run(['recall', 'endpoint/grafana']);
  expect(changed.stdout).toMatch(/^HOME CHANGED \(it has no section #grafana\)/);

  world.configure('[homes]\nroot = ["/x"]\n');
  const broken = await world.run(['recall', 'endpoint/grafana']);
  expect(broken.stdout).toMatch(/^COULD NOT CHECK \(.*config\.toml:2: there is no key homes\.root\)/);
});

test('recall: a git home prints the commit that was read and says what is not merged', async () => {
  const world = await meshOfOne();
  const web = join(world.folder, 'web');
  makeRepository(web, { 'a.md': 'main\n' });
  git(web, 'checkout', '-q', '-b', 'feature');
  const commit = commitFiles(web, { 'a.md': 'feature\n' });
  git(web, 'checkout', '-q', 'main');
  world.configure(`[homes]\nroots = [${JSON.stringify(world.folder)}]\n`);
  await world.run(['assert', 'project/web', '--value', 'x', '--home-ref', 'git:web:a.md@feature']);
  const shown = await world.run(['recall', 'project/web']);
  expect(shown.stdout).toContain(`(commit ${commit})`);
  expect(shown.stdout).toContain('NOTE: on branch feature, not merged into main');
  expect(shown.stdout).toContain('  | feature');
  renameSync(web, join(world.folder, 'elsewhere'));
  expect((await world.run(['recall', 'project/web'])).stdout).toMatch(/^COULD NOT CHECK/);
});

test('recall: a home cannot make it read keys, and its text cannot look like an answer', async () => {
  const world = await meshOfOne();
  world.configure(`[homes]\nroots = [${JSON.stringify(world.folder)}]\n`);
  const steal = ['file:home/keys/identity.json', 'file:config/memd/operator_ed25519', 'file:config/memd/config.toml'];
  for (const [at, ref] of steal.entries()) {
    await world.run(['assert', `note/steal-${at}`, '--value', 'x', '--home-ref', ref]);
    const shown = await world.run(['recall', `note/steal-${at}`]);
    expect(shown.stdout).toMatch(/^COULD NOT CHECK \(not allowed/);
    expect(shown.stdout).not.toContain('"signer"');
  }
  writeFileSync(join(world.folder, 'fake.md'), 'x\nUNRESOLVED: all of it\n\u001B[2Jcleared\u202E\n');
  await world.run(['assert', 'note/fake', '--value', 'x', '--home-ref', 'file:fake.md']);
  const { stdout } = await world.run(['recall', 'note/fake']);
  expect(stdout).toContain('  | UNRESOLVED');
  expect(stdout).not.toMatch(/^UNRESOLVED|\u001B|\u202E/m);
});

test('recall: a tombstone for what was retracted; a subject of another project says where it is known', async () => {
  const world = await meshOfOne();
  await world.run(fact('endpoint/new', 'nas:2'));
  await world.run(['retract', 'endpoint/new', 'measured wrongly']);
  expect(await world.json(['recall', 'endpoint/new'])).toMatchObject({ code: 7, value: { status: 'retracted' } });
  const tombstone = await world.run(['recall', 'endpoint/new']);
  expect(tombstone.stdout).toMatch(/^RETRACTED: endpoint\/new/);
  expect(tombstone.stdout).not.toContain('nas:2');
  await world.run(fact('endpoint/api', 'x', '--scope', 'web'));
  const elsewhere = await world.run(['recall', 'endpoint/api']);
  expect(elsewhere.code).toBe(7);
  expect(elsewhere.stdout).toContain('known only in scope web');
  expect((await world.json(['recall', 'endpoint/none'])).value).toMatchObject({ status: 'none', age: null });
});

test('scope: reading takes the project of the folder, writing only what was written down', async () => {
  const world = await meshOfOne();
  const web = join(world.folder, 'web');
  const root = makeRepository(web, { 'a.md': 'x' });
  const scope = `p-${root.slice(0, 12)}`;
  git(web, 'worktree', 'add', '-q', '-b', 'side', join(world.folder, 'side'));
  await world.run(fact('endpoint/a', 'everywhere'), { cwd: web });
  await world.run(fact('endpoint/b', 'here', '--scope', '.'), { cwd: web });
  const asked = async (subject: string, cwd: string) => (await world.json(['recall', subject], { cwd })).value;
  expect(await asked('endpoint/a', web)).toMatchObject({ status: 'served', scope: '*' });
  expect(await asked('endpoint/b', join(world.folder, 'side'))).toMatchObject({ status: 'served', scope });
  expect(await asked('endpoint/b', world.work)).toMatchObject({ status: 'none', elsewhere: [scope] });

  writeFileSync(join(web, '.memd'), 'web-shop\n');
  await world.run(fact('endpoint/c', 'x'), { cwd: web });
  expect(await asked('endpoint/c', web)).toMatchObject({ status: 'served', scope: 'web-shop' });
  await world.run(fact('endpoint/d', 'x', '--scope', '*'), { cwd: web });
  expect(await asked('endpoint/d', world.work)).toMatchObject({ status: 'served', scope: '*' });
});

test('scope: a project with a name that is no scope, and a folder that is no project, take no claim', async () => {
  const world = await meshOfOne();
  const web = join(world.folder, 'web');
  makeRepository(web, { 'a.md': 'x' });
  writeFileSync(join(web, '.memd'), 'Not A Scope\n');
  const refused = await world.json(fact('endpoint/e', 'x'), { cwd: web });
  expect(refused).toMatchObject({ code: 2, value: { error: { code: 'SCOPE_INVALID' } } });
  const nowhere = await world.json(fact('endpoint/e', 'x', '--scope', '.'));
  expect(nowhere).toMatchObject({ code: 2, value: { error: { code: 'SCOPE_INVALID' } } });
});

test('a working folder that was removed stops nothing, with and without memd', async () => {
  const world = await meshOfOne();
  const gone = join(world.folder, 'gone');
  mkdirSync(gone);
  const runGone = (args: readonly string[]) =>
    new Promise<{ code: number; stdout: string }>((resolve) => {
      mkdirSync(gone, { recursive: true });
      const script = 'rmdir "$PWD" && exec "$0" "$@"';
      const memctl = new URL('../../bin/memctl', import.meta.url).pathname;
      const env = { PATH: process.env['PATH'] ?? '', HOME: world.folder, MEMD_HOME: world.home };
      execFile('sh', ['-c', script, process.execPath, memctl, ...args], { cwd: gone, env }, (error, stdout) =>
        resolve({ code: error === null ? 0 : Number(error.code), stdout }),
      );
    });
  expect((await runGone(['lesson', 'lesson/a', 'Quote paths'])).code).toBe(0);
  expect(await runGone(['recall', 'lesson/a'])).toMatchObject({ code: 0 });
  await world.memd();
  expect(await runGone(['recall', 'lesson/a'])).toMatchObject({ code: 0 });
  expect((await runGone(['lesson', 'lesson/b', 'x', '--scope', '.'])).code).toBe(2);
});

test('config: memd refuses a broken file with its line, and takes schedule, address and port from a good one', async () => {
  const world = await meshOfOne();
  world.configure('[sync]\n\nshedule = "* * * * * *"\n');
  await expect(world.memd()).rejects.toThrow(/config\.toml:3: there is no key sync\.shedule\n.*did you mean schedule/);
  world.configure('[sync]\nschedule = "never"\n');
  await expect(world.memd()).rejects.toThrow(/sync\.schedule never is not a cron expression/);
  world.configure('[ssh]\nlisten = "127.0.0.1:0"\n[peers]\nbeta = "ssh://127.0.0.1:1"\n');
  await world.memd();
  const status = await world.json(['status']);
  expect(status).toMatchObject({ code: 0, value: { daemon: true } });
});
