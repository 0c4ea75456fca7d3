/** Who may sign without typing a passphrase: nobody, unless a person opened a window; and then the agent asks. */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { keys, hasTerminals } from '../../lib/terminal.ts';
import { passphrase, signingWorld, type SigningWorld } from '../../lib/signing-world.ts';

/** An ssh-agent whose question is answered by a script: it notes each one, and says yes while the file `yes` is there. */
async function startAgent(world: SigningWorld): Promise<{ socket: string; asked: () => number; sayYes: () => void }> {
  const at = (name: string): string => join(world.folder, name);
  writeFileSync(at('askpass'), `#!/bin/sh\necho asked >>'${at('asked')}'\ntest -e '${at('yes')}'\n`, { mode: 0o755 });
  const socket = at('agent.sock');
  const env = { ...world.env, SSH_ASKPASS: at('askpass'), SSH_ASKPASS_REQUIRE: 'force', DISPLAY: ':0' };
  const agent = spawn('ssh-agent', ['-D', '-a', socket], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => void agent.kill('SIGKILL'));
  await new Promise((resolve) => agent.stdout.once('data', resolve));
  return {
    socket,
    asked: () => (existsSync(at('asked')) ? readFileSync(at('asked'), 'utf8').trim().split('\n').length : 0),
    sayYes: () => writeFileSync(at('yes'), ''),
  };
}

/** A passphrase typed in for `ssh-add`, as a person does in the morning. */
async function unlock(world: SigningWorld, socket: string, ...more: string[]): Promise<void> {
  const person = world.terminal(['unlock', '--for', '1h', ...more], { SSH_AUTH_SOCK: socket });
  await person.see(/Enter passphrase/);
  person.type(`${passphrase}${keys.enter}`);
  await person.see(/open until/);
  expect(await person.ended()).toBe(0);
}

async function alone(
  world: SigningWorld,
  args: readonly string[],
  socket: string,
): Promise<{ code: number; error: Record<string, unknown>; value: Record<string, unknown> }> {
  const memctl = join(import.meta.dirname, '../../../bin/memctl');
  const env = { ...world.env, SSH_AUTH_SOCK: socket };
  try {
    // A session of its own: no terminal anywhere above.
    const stdout = execFileSync('setsid', ['-w', process.execPath, memctl, ...args, '--json'], {
      env,
      cwd: world.work,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return { code: 0, error: {}, value: JSON.parse(stdout.toString()) as Record<string, unknown> };
  } catch (error) {
    const { status, stdout } = error as { status: number; stdout: Buffer };
    return {
      code: status,
      value: {},
      error: (JSON.parse(stdout.toString()) as { error: Record<string, unknown> }).error,
    };
  }
}

describe('without a terminal', () => {
  test.skipIf(!hasTerminals)(
    'a key with a passphrase signs nothing: exit 6 in one sentence, also when an agent has it loaded',
    async () => {
      const world = await signingWorld();
      const agent = await startAgent(world);
      const adds = world.terminalOf(['ssh-add', world.key], { SSH_AUTH_SOCK: agent.socket });
      await adds.see(/Enter passphrase/);
      adds.type(`${passphrase}${keys.enter}`);
      expect(await adds.ended()).toBe(0);
      const [first = ''] = await world.park('ssh-route/mini');
      const { code, error } = await alone(world, ['sign', 'ssh-route/mini', '--accept', first, '--yes'], agent.socket);
      expect({ code, error }).toMatchObject({
        code: 6,
        error: {
          code: 'NO_TERMINAL',
          message: expect.stringMatching(/asks for a passphrase, and there is neither a terminal nor an open window$/),
        },
      });
      expect(agent.asked()).toBe(0);
      expect((await world.recall('ssh-route/mini'))['status']).toBe('parked');
      // What memctl does not do, any process of this user can: the key lies open in the agent. docs/operations.md, Signing.
      writeFileSync(join(world.folder, 'm'), 'x');
      execFileSync('ssh-keygen', ['-Y', 'sign', '-q', '-f', world.key, '-n', 'memd-event', join(world.folder, 'm')], {
        env: { ...world.env, SSH_AUTH_SOCK: agent.socket },
      });
      expect(existsSync(join(world.folder, 'm.sig'))).toBe(true);
    },
    40_000,
  );

  test('the question needs somebody too: without --yes exit 6, also with a key that has no passphrase', async () => {
    const world = await signingWorld({ protectedKey: false });
    const [first = ''] = await world.park('ssh-route/mini');
    const asked = await alone(world, ['sign', 'ssh-route/mini', '--accept', first], '');
    expect(asked).toMatchObject({
      code: 6,
      error: { code: 'SIGN_FAILED', message: expect.stringMatching(/nobody is there/) },
    });
    const listed = await world.run(['sign']);
    expect(listed).toMatchObject({ code: 6, stderr: expect.stringMatching(/is for a person at a terminal/) });
    const opened = await alone(world, ['unlock', '--for', '8h'], '/nonexistent');
    expect(opened).toMatchObject({ code: 6, error: { code: 'NO_TERMINAL' } });
  }, 120_000);
});

describe.skipIf(!hasTerminals)('in a window (needs script of util-linux)', () => {
  test('the agent asks at each signature; no is no, yes signs, and only events', async () => {
    const world = await signingWorld();
    const agent = await startAgent(world);
    const [first = ''] = await world.park('ssh-route/mini');
    await unlock(world, agent.socket);
    expect(statSync(join(world.home, 'unlock.json')).mode & 0o777).toBe(0o600);
    const sign = ['sign', 'ssh-route/mini', '--accept', first, '--yes'];
    const refused = await alone(world, sign, '');
    expect(refused).toMatchObject({
      code: 6,
      error: { code: 'SIGN_FAILED', message: expect.stringMatching(/agent did not sign/) },
    });
    expect(agent.asked()).toBe(1);
    agent.sayYes();
    // A trust op never uses an agent, window or not.
    const before = await world.json(['status']);
    expect(await alone(world, ['class', 'add', 'service', '--yes'], agent.socket)).toMatchObject({
      code: 6,
      error: { code: 'NO_TERMINAL' },
    });
    expect((await world.json(['status'])).value['trust']).toBe(before.value['trust']);
    expect(agent.asked()).toBe(1);
    const signed = await alone(world, sign, '');
    expect(signed).toMatchObject({ code: 0, value: { signer: 'craig', subject: 'ssh-route/mini' } });
    expect(agent.asked()).toBe(2);
  }, 120_000);

  test('--end takes the key out; a window of another key, or one that ran out, is none', async () => {
    const world = await signingWorld();
    const agent = await startAgent(world);
    agent.sayYes();
    const [first = ''] = await world.park('ssh-route/mini');
    const sign = ['sign', 'ssh-route/mini', '--accept', first, '--yes'];
    await unlock(world, agent.socket, '--no-confirm');
    expect((await world.json(['unlock'])).value).toMatchObject({ open: true, confirm: false });
    const warned = expect.stringMatching(/an ssh-agent signs events for any process of this user/);
    expect((await world.json(['status'])).value['warnings']).toEqual([warned]);
    const file = join(world.home, 'unlock.json');
    const window = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
    for (const changed of [
      { until: '2020-01-01T00:00:00.000Z' },
      { fingerprint: 'SHA256:other' },
      { agent: '/nonexistent' },
      { extra: 1 },
    ]) {
      writeFileSync(file, JSON.stringify({ ...window, ...changed }));
      expect(await alone(world, sign, agent.socket)).toMatchObject({ code: 6, error: { code: 'NO_TERMINAL' } });
    }
    writeFileSync(file, JSON.stringify(window));
    expect((await world.json(['unlock', '--end'])).value).toEqual({ open: false });
    expect(existsSync(file)).toBe(false);
    expect(await alone(world, sign, agent.socket)).toMatchObject({ code: 6, error: { code: 'NO_TERMINAL' } });
    expect(() =>
      execFileSync('ssh-add', ['-L'], { env: { ...world.env, SSH_AUTH_SOCK: agent.socket }, stdio: 'pipe' }),
    ).toThrow(/Command failed/);
    expect(agent.asked()).toBe(0);
  }, 120_000);

  test('no agent, a wrong time, a passphrase that is given up: no window', async () => {
    const world = await signingWorld();
    const none = world.terminal(['unlock', '--for', '8h']);
    await none.see(/SSH_AUTH_SOCK is not set/);
    expect(await none.ended()).toBe(6);
    for (const time of ['8', '0h', '25h', '-1h', '1d'])
      expect((await world.run(['unlock', `--for=${time}`])).code).toBe(2);
    const agent = await startAgent(world);
    const gives = world.terminal(['unlock', '--for', '8h'], { SSH_AUTH_SOCK: agent.socket });
    await gives.see(/Enter passphrase/);
    gives.type(`wrong${keys.enter}`);
    await gives.see(/Bad passphrase/);
    gives.type(keys.enter);
    await gives.see(/no window was opened/);
    expect(await gives.ended()).toBe(6);
    expect(existsSync(join(world.home, 'unlock.json'))).toBe(false);
  }, 120_000);
});
