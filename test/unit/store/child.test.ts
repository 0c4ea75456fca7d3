import { spawnSync } from 'node:child_process';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  childEnvironment,
  failedChild,
  runChild,
  startChild,
  type RunningChild,
  wasKilled,
} from '../../../src/store/child.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

/** True while a process with this id runs; an ended one that nobody waited for yet does not. */
function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const state = spawnSync('ps', ['-o', 'state=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim();
  return state !== '' && !state.startsWith('Z');
}

describe('child environment', () => {
  test('no GIT_* of another repository, no agent and no display gets through', async () => {
    for (const name of [
      'GIT_DIR',
      'GIT_INDEX_FILE',
      'GIT_WORK_TREE',
      'GIT_CONFIG_COUNT',
      'GIT_ASKPASS',
      'SSH_AUTH_SOCK',
      'DISPLAY',
      'WAYLAND_DISPLAY',
      'SSH_ASKPASS',
      'NODE_OPTIONS',
    ])
      vi.stubEnv(name, '/evil');
    vi.stubEnv('LC_ALL', 'tr_TR.UTF-8');
    const { stdout } = await runChild({ command: 'env', args: [] });
    const names = new Map(
      stdout
        .toString()
        .trim()
        .split('\n')
        .map((line): [string, string] => [line.split('=')[0] ?? '', line.split('=').slice(1).join('=')]),
    );
    expect([...names.values()]).not.toContain('/evil');
    expect(names.get('LC_ALL')).toBe('C');
    expect(names.get('GIT_CONFIG_GLOBAL')).toBe('/dev/null');
    expect(names.get('GIT_CONFIG_NOSYSTEM')).toBe('1');
    expect(names.get('GIT_OPTIONAL_LOCKS')).toBe('0');
    expect(names.get('GIT_TERMINAL_PROMPT')).toBe('0');
    expect(names.get('PATH')).toBe(process.env['PATH']);
  });

  test('what the caller sets wins over the fixed settings', () => {
    expect(childEnvironment({ GIT_OBJECT_DIRECTORY: '/q', LC_ALL: 'POSIX' })).toMatchObject({
      GIT_OBJECT_DIRECTORY: '/q',
      LC_ALL: 'POSIX',
    });
  });
});

describe('running a child', () => {
  test('output, exit code and stderr come back; any exit code is a result', async () => {
    const result = await runChild({ command: 'sh', args: ['-c', 'cat; echo oops >&2; exit 3'], input: 'hello' });
    expect(result).toMatchObject({ code: 3, stderr: 'oops\n' });
    expect(result.stdout.toString()).toBe('hello');
  });

  test.each([
    ['KILL', true],
    ['TERM', true],
    ['HUP', true],
    ['QUIT', true],
    ['ALRM', true],
    ['BUS', false],
    ['SEGV', false],
    ['ABRT', false],
  ])('SIG%s: whether somebody ended it can be told from its code', async (signal, ended) => {
    const { code } = await runChild({ command: 'sh', args: ['-c', `kill -${signal} $$`] });
    expect(code).toBeGreaterThan(128);
    expect(wasKilled(code)).toBe(ended);
    expect([0, 1, 128].some(wasKilled)).toBe(false);
  });

  test('a child that reads nothing and ends does not break the writer of its input', async () => {
    const result = await runChild({ command: 'true', args: [], input: 'x'.repeat(1_000_000) });
    expect(result.code).toBe(0);
  });

  test('a missing program is named with what to install', async () => {
    await expect(runChild({ command: 'no-such-program-here', args: [] })).rejects.toMatchObject({
      code: 'PROGRAM_MISSING',
      message: 'no-such-program-here is not on PATH',
    });
  });

  test('the deadline ends the whole process group, grandchildren too', async () => {
    const child = startChild({ command: 'sh', args: ['-c', 'sleep 600 & echo $!; wait'], deadlineMs: 300 });
    const grandchild = await new Promise<number>((resolve) =>
      child.stdout.once('data', (chunk: Buffer) => resolve(Number(chunk.toString()))),
    );
    expect(exists(grandchild)).toBe(true);
    await expect(child.done).rejects.toMatchObject({ code: 'CHILD_TIMEOUT' });
    await vi.waitFor(() => expect(exists(grandchild)).toBe(false));
  });

  test('a process that left the group and holds the pipes is not waited for', async () => {
    const leaver = 'setsid sleep 600 & echo $!';
    const leavers: number[] = [];
    onTestFinished(() => leavers.forEach((pid) => process.kill(pid, 'SIGKILL')));
    const start = (script: string): RunningChild => {
      const child = startChild({ command: 'sh', args: ['-c', script], deadlineMs: 3_000 });
      child.stdout.once('data', (chunk: Buffer) => leavers.push(Number(chunk.toString())));
      return child;
    };
    const started = Date.now();
    await expect(start(`${leaver}; sleep 600`).done).rejects.toMatchObject({ code: 'CHILD_TIMEOUT' });
    // What it said by its exit code in time stands.
    expect(await start(`${leaver}; exit 0`).done).toMatchObject({ code: 0 });
    expect(await start(`${leaver}; exit 7`).done).toMatchObject({ code: 7 });
    expect(Date.now() - started).toBeLessThan(15_000);
  });

  test('a child that ignores SIGTERM is ended all the same', async () => {
    const started = Date.now();
    await expect(
      runChild({ command: 'sh', args: ['-c', "trap '' TERM INT; while :; do sleep 0.05; done"], deadlineMs: 200 }),
    ).rejects.toMatchObject({ code: 'CHILD_TIMEOUT' });
    expect(Date.now() - started).toBeLessThan(15_000);
  });

  test('endless output is cut off and named', async () => {
    await expect(runChild({ command: 'yes', args: [], outputBytesMax: 100_000 })).rejects.toMatchObject({
      code: 'CHILD_OUTPUT',
    });
  });

  test('endless stderr does not fill the memory', async () => {
    const result = await runChild({ command: 'sh', args: ['-c', 'head -c 3000000 /dev/zero | tr "\\0" e >&2'] });
    expect(result.stderr.length).toBe(65_536);
  });

  test('kill ends the group and can be called twice', async () => {
    const child = startChild({ command: 'sleep', args: ['600'] });
    child.kill();
    child.kill();
    expect((await child.done).code).toBe(137);
  });

  test('an error carries command, exit code and the last stderr line without control characters', () => {
    const error = failedChild(
      { command: 'git', args: ['index-pack', '--stdin\u001b[2J'] },
      { code: 128, stderr: 'warning\nfatal: \u001b[31mbad object\u0007\n' },
    );
    expect(error).toMatchObject({
      code: 'CHILD_FAILED',
      message: 'git index-pack --stdin [2J: exit code 128: fatal:  [31mbad object',
    });
  });
});
