import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { freePort } from '../../../drills/lib/free-port.ts';
import { until } from '../../../drills/lib/live-mesh.ts';
import { startProcess } from '../../../drills/lib/process.ts';
import { exitCodeOf, runDrill, type Drill, type Outcome } from '../../../drills/lib/drill.ts';

const runner = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../../drills/run.ts');

async function outcomeOf(run: Drill['run'], deadlineMs = 10_000): Promise<{ outcome: Outcome; lines: string[] }> {
  const lines: string[] = [];
  const drill = { name: 'example', promise: 'something holds', run };
  const print = (line: string): void => void lines.push(line);
  return { outcome: await runDrill(drill, { seed: 7, options: new Map(), print, deadlineMs }), lines };
}

describe('running a drill', () => {
  test('it prints its promise, its seed, its steps, its evidence and PASS', async () => {
    const { outcome, lines } = await outcomeOf(async (context) => {
      context.step('do it');
      context.evidence('it was done');
      await Promise.resolve();
    });
    expect(outcome).toEqual({ kind: 'PASS' });
    expect(lines.map((line) => line.replace(/ +/g, ' '))).toEqual([
      'drill example',
      'promise something holds',
      'seed 7',
      'step do it',
      'evidence it was done',
      'PASS example',
    ]);
  });

  test('a broken promise, an exception and a hang fail', async () => {
    const broken = await outcomeOf(async (context) => context.check(context.options.has('two'), 'two were expected'));
    expect(broken.outcome).toEqual({ kind: 'FAIL', reason: 'two were expected' });
    const thrown = await outcomeOf(() => Promise.reject(new TypeError('no such thing')));
    expect(thrown.outcome).toMatchObject({ kind: 'FAIL', reason: expect.stringContaining('no such thing') });
    const hung = await outcomeOf(() => new Promise(() => undefined), 50);
    expect(hung.outcome).toMatchObject({ kind: 'FAIL', reason: expect.stringContaining('not finished') });
  });

  test('one that cannot run says why and is no success', async () => {
    const { outcome, lines } = await outcomeOf(async (context) => context.skip('not root'));
    expect(outcome).toEqual({ kind: 'SKIPPED', reason: 'not root' });
    expect(lines.at(-1)).toBe('SKIPPED  example: not root');
    expect(exitCodeOf([{ kind: 'PASS' }, outcome], false)).toBe(1);
    expect(exitCodeOf([{ kind: 'PASS' }, outcome], true)).toBe(0);
    expect(exitCodeOf([{ kind: 'FAIL', reason: '' }], true)).toBe(1);
  });

  test('processes and folders are gone afterwards, also after a failure', async () => {
    let folder = '';
    const pids: number[] = [];
    const { outcome, lines } = await outcomeOf(async (context) => {
      folder = context.temporaryFolder();
      const started = context.start({ command: 'sh', args: ['-c', 'sleep 600 & echo started; wait'] });
      await started.line(/started/);
      pids.push(started.pid);
      throw new Error('on purpose');
    });
    expect(outcome.kind).toBe('FAIL');
    expect(existsSync(folder)).toBe(false);
    expect(lines).toContain('evidence 1 process started, none left');
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });
});

/** A drill that starts something that never ends by itself, as a process of its own. */
const endless = `
  import { runDrill } from ${JSON.stringify(new URL('../../../drills/lib/drill.ts', import.meta.url).href)};
  const run = async (context) => {
    const started = context.start({ command: 'sh', args: ['-c', 'sleep 600 & echo started; wait'] });
    await started.line(/started/);
    console.log(JSON.stringify([started.pid, context.temporaryFolder()]));
    await new Promise((resolve) => setTimeout(resolve, 600_000));
  };
  await runDrill({ name: 'x', promise: 'y', run }, { seed: 1, options: new Map(), print: () => undefined, deadlineMs: 600_000 });
`;

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('whatever comes', () => {
  test('a drill that is stopped by a signal leaves neither processes nor folders', async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', endless], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const said = await new Promise<string>((resolve) => child.stdout.once('data', (data) => resolve(String(data))));
    const [pid, folder] = JSON.parse(said) as [number, string];
    expect(existsSync(folder)).toBe(true);
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    expect(await ended).toBe(143);
    expect(existsSync(folder)).toBe(false);
    // Killed; whose child an orphan is now has to notice it.
    await expect.poll(() => isThere(-pid)).toBe(false);
  });

  test('what is waited for in vain is told with what was seen last', async () => {
    let looks = 0;
    const waiting = until('it is there', async () => `look ${(looks += 1)}`, 1);
    await expect(waiting).rejects.toThrow(/^not within 0\.001 s: it is there; seen: look \d+$/);
  });

  test('a process has ended once its last words were heard', async () => {
    const words = Array.from({ length: 150 }, (_, n) => `word ${n}`);
    const started = startProcess({ command: 'printf', args: ['%s\\n', ...words] });
    expect(await started.ended).toBe(0);
    expect(started.said().split('\n')).toEqual(words);
  });

  test('a free port is given once, and whoever asked for it can listen there', async () => {
    const ports = await Promise.all(Array.from({ length: 50 }, () => freePort()));
    expect(new Set(ports).size).toBe(50);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(ports[0], '127.0.0.1', resolve));
    await new Promise((resolve) => server.close(resolve));
  });
});

describe('the runner', () => {
  test('it lists the drills with their promises, and refuses a name that it does not know', () => {
    const run = (...args: string[]): ReturnType<typeof spawnSync> =>
      spawnSync(process.execPath, [runner, ...args], { encoding: 'utf8' });
    const list = run('kill-mid-write', 'power-loss', '--list');
    expect(list.status).toBe(0);
    expect(String(list.stdout)).toMatch(/kill-mid-write: .+\npower-loss: .+/);
    const unknown = run('no-such-drill');
    expect(unknown.status).toBe(2);
    expect(String(unknown.stderr)).toContain('kill-mid-write');
  });
});
