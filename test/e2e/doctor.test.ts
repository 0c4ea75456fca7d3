import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { git } from '../lib/git.ts';
import { newWorld, type Json, type World } from '../lib/memctl.ts';

interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  readonly fix?: string;
}

async function doctor(world: World): Promise<{ code: number; bad: Check[]; checks: Check[]; notChecked: string[] }> {
  const { code, value } = await world.json(['doctor']);
  const { ok, checks, notChecked } = value as Json & { checks: Check[]; notChecked: string[] };
  expect([ok, code]).toEqual(checks.every((check) => check.ok) ? [true, 0] : [false, 1]);
  expect(checks.filter((check) => !check.ok && check.fix === undefined)).toEqual([]);
  return { code, checks, notChecked, bad: checks.filter((check) => !check.ok) };
}

/** A mesh of one host whose signer's key asks for a passphrase, and three events. */
async function healthy(): Promise<World> {
  const world = newWorld();
  const key = join(world.folder, 'ann');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
  const signer = ['--signer', `${key}.pub`, '--as', 'ann', '--key', key];
  expect(await world.run(['init', '--host', 'alpha', '--listen', '127.0.0.1:0', ...signer])).toMatchObject({ code: 0 });
  // No terminal is here to type a passphrase on: the key gets it once the genesis is signed.
  execFileSync('ssh-keygen', ['-q', '-p', '-P', '', '-N', 'a passphrase', '-f', key]);
  for (const name of ['one', 'two', 'three']) await world.run(['lesson', `lesson/${name}`, `Lesson ${name}`]);
  await world.run(['index']);
  return world;
}

test(
  'doctor: a sound home has nothing wrong, with memd and without; it names what it did not check',
  { timeout: 60_000 },
  async () => {
    const world = await healthy();
    const alone = await doctor(world);
    expect(alone.bad).toEqual([]);
    expect(alone.checks.map(({ name }) => name)).toEqual([
      'node',
      'git',
      'ssh',
      'config',
      'disk',
      'owner',
      'writable',
      'home',
      'identity',
      'keys',
      'charter',
      'operator key',
      'lock',
      'memd',
      'repository',
      'logs',
      'last heads',
      'view journals',
      'database',
      'views',
      'clock',
      'service',
      'hook failures',
      'hooks',
    ]);
    expect(alone.notChecked).toContain('peers: memd does not answer');
    const memd = await world.memd();
    const served = await doctor(world);
    expect(served.bad).toEqual([]);
    const details = Object.fromEntries(served.checks.map(({ name, detail }) => [name, detail]));
    expect(details).toMatchObject({
      lock: expect.stringContaining(`memd, process ${memd.pid}`) as unknown,
      memd: expect.stringContaining('memd: 1/1 hosts') as unknown,
      peers: 'a mesh of one host',
      logs: 'alpha:3',
    });
    expect((await world.run(['doctor'])).stdout).toMatch(/\nnothing is wrong\n$/);
    // A park is for a person to settle, and no fault of this machine.
    for (const session of ['s1', 's2'])
      await world.run(['lesson', 'lesson/parked', `said by ${session}`, '--session', session]);
    const parked = await doctor(world);
    expect(parked.checks.find(({ name }) => name === 'memd')?.detail).toContain('1 parked, 1 alarm');
    expect(parked.bad).toEqual([]);
  },
);

test(
  'doctor: every fault is told by the check of its name, all in one run, on a home that opens no more',
  { timeout: 60_000 },
  async () => {
    const world = await healthy();
    const at = (...names: string[]): string => join(world.home, ...names);
    const blob = git(at('repo.git'), 'rev-parse', 'log/alpha:00/00/00.jsonl').trim();
    truncateSync(at('repo.git/objects', blob.slice(0, 2), blob.slice(2)), 0);
    chmodSync(at('keys/host_ed25519'), 0o644);
    writeFileSync(at('state.sqlite'), 'not a database, and long enough to look like one '.repeat(100));
    appendFileSync(at('views/operator/INDEX.md'), 'mine\n');
    appendFileSync(
      at('hooks.log'),
      `${JSON.stringify({ at: new Date().toISOString(), harness: 'codex', event: 'SessionStart', outcome: 'failed', why: 'no memd' })}\n`,
    );
    world.configure('[homes]\nroot = []\n');
    execFileSync('ssh-keygen', ['-q', '-p', '-P', 'a passphrase', '-N', '', '-f', join(world.folder, 'ann')]);
    const { code, bad } = await doctor(world);
    expect(code).toBe(1);
    const said = Object.fromEntries(bad.map(({ name, detail }) => [name, detail]));
    expect(said).toEqual({
      config: expect.stringMatching(/config\.toml:2: there is no key homes\.root/),
      keys: expect.stringMatching(/^KEY_UNSAFE: .*host_ed25519 can be read by others/),
      'operator key': expect.stringContaining('has no passphrase'),
      repository: expect.stringContaining('1 empty object files, the first '),
      logs: expect.stringContaining('log alpha could be read to line 0 only'),
      database: expect.stringContaining('state.sqlite'),
      views: expect.stringContaining('INDEX.md was edited by hand'),
      'hook failures': expect.stringMatching(/^1 in 7 days .*codex SessionStart failed: no memd$/),
    });
    const fixes = Object.fromEntries(bad.map(({ name, fix }) => [name, fix]));
    expect(fixes).toMatchObject({
      keys: `chmod 600 ${at('keys/host_ed25519')}`,
      database: 'it is derived: memctl rebuild',
    });
    expect(readFileSync(at('state.sqlite'), 'utf8')).toMatch(/^not a database/);
  },
);

test('doctor: a branch that was set back, an object that is gone', { timeout: 60_000 }, async () => {
  const world = await healthy();
  const repository = join(world.home, 'repo.git');
  const tip = git(repository, 'rev-parse', 'log/alpha').trim();
  const before = git(repository, 'rev-parse', 'log/alpha~1').trim();
  writeFileSync(join(repository, 'refs/heads/log/alpha'), `${before}\n`);
  const rewound = await doctor(world);
  expect(rewound.bad).toEqual([
    {
      name: 'last heads',
      ok: false,
      detail: expect.stringMatching(/^BRANCH_REWOUND: log alpha/) as unknown,
      fix: expect.any(String) as unknown,
    },
  ]);
  writeFileSync(join(repository, 'refs/heads/log/alpha'), `${tip}\n`);
  rmSync(join(repository, 'objects', before.slice(0, 2), before.slice(2)));
  const missing = await doctor(world);
  expect(missing.bad).toMatchObject([{ name: 'repository', detail: expect.stringContaining('git fsck:') as unknown }]);
});

test('doctor: no home, a home open to others, a memd that stands still', { timeout: 90_000 }, async () => {
  const world = await healthy();
  const none = await world.json(['doctor', '--home', join(world.folder, 'none')]);
  expect(none.code).toBe(1);
  expect((none.value['checks'] as Check[]).filter(({ ok }) => !ok).map(({ name }) => name)).toEqual(['home']);
  expect(none.value['notChecked']).toContainEqual(expect.stringMatching(/repository.*: there is no home$/));

  chmodSync(world.home, 0o755);
  const open = await doctor(world);
  expect(open.bad).toEqual([
    {
      name: 'home',
      ok: false,
      detail: expect.stringContaining('HOME_UNSAFE') as unknown,
      fix: `chmod 700 ${world.home}`,
    },
  ]);
  chmodSync(world.home, 0o700);

  const memd = await world.memd();
  memd.kill('SIGSTOP');
  const still = await doctor(world);
  memd.kill('SIGCONT');
  expect(Object.fromEntries(still.bad.map(({ name, detail }) => [name, detail]))).toEqual({
    lock: expect.stringContaining('it does not answer on its socket'),
    memd: expect.stringContaining('DAEMON_LOST'),
  });
});
