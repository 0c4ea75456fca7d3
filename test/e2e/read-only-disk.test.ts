/** A home whose disk is mounted read-only: what is known can be asked, what is to be written is refused, and it heals. */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { meshOfOne, type Json, type World } from '../lib/memctl.ts';

const memctl = fileURLToPath(new URL('../../bin/memctl', import.meta.url));
const memd = fileURLToPath(new URL('../../bin/memd', import.meta.url));
const isRoot = process.getuid?.() === 0;
/** A mount namespace of its own: nothing has to be unmounted afterwards. Without root in a user namespace as well. */
const unshare = isRoot ? ['unshare', '-m'] : ['unshare', '-Urm'];

function canMount(): boolean {
  try {
    execFileSync(unshare[0] as string, [...unshare.slice(1), 'mount', '-t', 'tmpfs', 'x', '/mnt'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
const mounts = canMount();

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function runWords({ env, work }: World, [command = '', ...args]: readonly string[]): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(command, args, { env: { ...env }, cwd: work }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
    }).stdin?.end();
  });
}

/** Runs memctl where the home is read-only. */
function readOnly(world: World, ...args: readonly string[]): Promise<Ran> {
  const script = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"';
  return runWords(world, [...unshare, 'sh', '-c', script, world.home, process.execPath, memctl, ...args]);
}

const documentOf = ({ stdout }: Ran): Json => JSON.parse(stdout) as Json;
const leftovers = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('memctl-read-'));

async function world(): Promise<World> {
  const made = await meshOfOne();
  await made.run(['lesson', 'lesson/one', 'Quote every path']);
  await made.run(['index']);
  return made;
}

test.skipIf(!mounts)(
  'without memd every reading command answers, every other says why not, and nothing is left in /tmp (needs mount namespaces)',
  { timeout: 120_000 },
  async () => {
    const made = await world();
    const root = (await made.json(['status'])).value['root'];
    const before = leftovers();
    const status = documentOf(await readOnly(made, 'status', '--json'));
    expect(status).toMatchObject({ root, daemon: false, alarms: [{ kind: 'DISK_READ_ONLY' }] });
    for (const args of [
      ['recall', 'lesson/one'],
      ['index'],
      ['log'],
      ['search', 'Quote'],
      ['parks'],
      ['verify'],
      ['charter'],
    ]) {
      const { code, stdout } = await readOnly(made, ...args);
      expect({ args, code, said: stdout !== '' }).toEqual({ args, code: 0, said: true });
    }
    for (const args of [['lesson', 'lesson/two', 'No'], ['class', 'add', 'rack', '--yes'], ['rebuild']]) {
      const refused = await readOnly(made, ...args, '--json');
      expect({ args, code: refused.code }).toEqual({ args, code: 1 });
      expect(documentOf(refused)).toMatchObject({ error: { code: 'DISK_READ_ONLY' } });
    }
    const checks = documentOf(await readOnly(made, 'doctor', '--json'))['checks'] as { name: string; ok: boolean }[];
    expect(checks.find(({ name }) => name === 'writable')).toMatchObject({ ok: false });
    const backup = join(made.work, 'backup');
    expect((await readOnly(made, 'export', backup)).code).toBe(0);
    expect(existsSync(join(backup, 'manifest.json'))).toBe(true);
    expect(leftovers().filter((name) => !before.includes(name))).toEqual([]);
    // As it was: it is not bound anew, not swept, not locked.
    expect(await made.json(['lesson', 'lesson/two', 'Go on'])).toMatchObject({ code: 0, value: { seq: 2 } });
    expect((await made.json(['verify', '--deep'])).value).toMatchObject({ ok: true });
  },
);

test.skipIf(!mounts)(
  'under a running memd: reading goes on, writing is refused and alarmed, and it heals without a restart (needs mount namespaces)',
  { timeout: 120_000 },
  async () => {
    const made = await world();
    const words = [...unshare, process.execPath, memd, '--json'];
    const child = spawn(words[0] as string, words.slice(1), {
      cwd: made.work,
      env: { ...made.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    onTestFinished(async () => {
      child.kill('SIGTERM');
      await ended;
    });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const user = isRoot ? [] : ['-U', '--preserve-credentials'];
    const within = (...args: readonly string[]): Promise<Ran> =>
      runWords(made, ['nsenter', '-t', String(child.pid), ...user, '-m', ...args]);
    const script = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0"';
    expect(await within('sh', '-c', script, made.home)).toMatchObject({ code: 0 });
    for (let tries = 0; tries < 2; tries += 1) {
      const refused = await made.json(['lesson', 'lesson/two', 'No']);
      expect(refused).toMatchObject({ code: 1, value: { error: { code: 'DISK_READ_ONLY' } } });
    }
    expect((await made.json(['recall', 'lesson/one'])).value).toMatchObject({ status: 'served' });
    expect((await made.run(['index'])).code).toBe(0);
    expect((await made.json(['status'])).value).toMatchObject({ daemon: true, alarms: [{ kind: 'DISK_READ_ONLY' }] });
    expect((await within('umount', made.home)).code).toBe(0);
    expect(await made.json(['lesson', 'lesson/two', 'Go on'])).toMatchObject({ code: 0, value: { seq: 2 } });
    expect((await made.json(['status'])).value).toMatchObject({ alarms: [] });
    expect((await made.json(['verify', '--deep'])).value).toMatchObject({ ok: true, problems: [] });
  },
);

test.skipIf(!mounts)(
  'memd does not start on it, and says why (needs mount namespaces)',
  { timeout: 60_000 },
  async () => {
    const made = await world();
    const script = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"';
    const ran = await runWords(made, [...unshare, 'sh', '-c', script, made.home, process.execPath, memd]);
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('mounted read-only') as unknown });
  },
);
