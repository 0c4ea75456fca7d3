/** As a service finds the machine: no terminal, no agent, no environment of a person, and a home that hardening may hide. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { formMesh } from '../../drills/lib/hosts.ts';
import { processesMentioning, startProcess } from '../../drills/lib/process.ts';
import { servedOn } from '../../drills/lib/recovery.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

const bench = openBench();
const bin = (name: string): string => fileURLToPath(new URL(`../../bin/${name}`, import.meta.url));
let alpha: BenchHost;
let beta: BenchHost;

beforeAll(async () => {
  [alpha, beta] = [await bench.lay('alpha'), await bench.lay('beta')];
  await formMesh([alpha, beta]);
}, 60_000);

describe('C2: a passphrase that nobody can type', () => {
  /** Every command must be over long before a person would have typed anything. */
  const patienceMs = 30_000;
  const rounds = 10;

  test('C2: signing with such a key and an empty agent: ten times refused at once, and no process is left', async () => {
    const key = join(bench.folder(), 'locked_ed25519');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', 'correct horse', '-C', 'locked', '-f', key]);
    await alpha.json('signer', 'add', `${key}.pub`, '--as', 'locked', '--scopes', 'lesson/*', '--yes');
    const agent = startAgent();
    const env = { SSH_AUTH_SOCK: agent.socket, SSH_ASKPASS: '/bin/sleep', SSH_ASKPASS_REQUIRE: 'force', DISPLAY: ':0' };
    const words = ['sign', 'lesson/x', '--content', 'x', '--home-ref', 'file:a.md', '--key', key, '--yes', '--json'];
    const results = await Promise.all(
      Array.from({ length: rounds }, async () => {
        const started = performance.now();
        const { code, stdout } = await alpha.run(words, { env });
        return { code, stdout, quick: performance.now() - started < patienceMs };
      }),
    );
    for (const { code, stdout, quick } of results) {
      expect({ code, quick }).toEqual({ code: 6, quick: true });
      expect(stdout).toMatch(/passphrase/);
    }
    agent.process.kill('SIGKILL');
    await expect.poll(() => processesMentioning(key)).toEqual([]);
  }, 60_000);

  test('C2: a transport key that was given one: named each time, with the file, and nothing is left waiting', async () => {
    const locked = await bench.lay('locked');
    await locked.json('init', '--host', 'locked', '--listen', '127.0.0.1:0');
    const key = join(locked.home, 'keys', 'ssh_ed25519');
    execFileSync('ssh-keygen', ['-q', '-p', '-P', '', '-N', 'correct horse', '-f', key]);
    for (let round = 0; round < 3; round += 1) {
      const refused = await locked.refused(1, ['lesson', 'lesson/x', 'x']);
      expect(refused).toMatchObject({ code: 'KEY_DAMAGED', message: expect.stringContaining(key) });
    }
    await expect(locked.start()).rejects.toThrow(/KEY_DAMAGED|ssh_ed25519/);
    await expect.poll(() => processesMentioning(locked.home)).toEqual([]);
  }, 60_000);
});

/** An agent without keys. */
function startAgent(): { readonly socket: string; readonly process: ReturnType<typeof spawn> } {
  const socket = join(bench.folder(), 'agent');
  const agent = spawn('ssh-agent', ['-D', '-a', socket], { stdio: 'ignore' });
  return { socket, process: agent };
}

/** Exactly these variables, with programs by their absolute paths. `user`: an empty folder for HOME. */
function bare(user: string, ...words: readonly string[]): { command: string; args: string[] } {
  return { command: '/usr/bin/env', args: ['-i', 'PATH=/usr/bin:/bin', `HOME=${user}`, process.execPath, ...words] };
}

test('C5: PATH=/usr/bin:/bin, no agent, no .gitconfig: memd serves and fetches over ssh, and commands write', async () => {
  const user = join(bench.folder(), 'empty');
  mkdirSync(user);
  await beta.stop();
  const memd = ['--home', beta.home, '--listen', beta.address, '--sync', '*/1 * * * * *', '--json'];
  const running = startProcess(bare(user, bin('memd'), ...memd));
  bench.adopt(running);
  await running.line(/"ready":true/);
  const ctl = (...words: readonly string[]): string => {
    const { command, args } = bare(user, bin('memctl'), '--home', beta.home, ...words);
    return execFileSync(command, args, { encoding: 'utf8', timeout: 20_000 });
  };
  expect(JSON.parse(ctl('lesson', 'lesson/bare', 'x', '--json'))).toMatchObject({ host: 'beta' });
  await alpha.json('lesson', 'lesson/for-beta', 'x');
  expect(await alpha.json('fetch', 'beta')).toMatchObject([{ state: 'up' }]);
  expect(await servedOn(alpha, 'lesson/bare')).toBe(true);
  expect(JSON.parse(ctl('fetch', 'alpha', '--json'))).toMatchObject([{ state: 'up' }]);
  expect(JSON.parse(ctl('recall', 'lesson/for-beta', '--json'))).toMatchObject({ status: 'served' });
  expect(ctl('verify', '--deep')).toMatch(/./);
  expect(readdirSync(user).filter((name) => name !== '.cache')).toEqual([]);
  await running.end();
}, 60_000);

/** A mount namespace in which something lies over a folder, as ProtectHome= does it. */
const hasNamespaces = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 't', '/mnt']).status === 0;

test.skipIf(!hasNamespaces)(
  'C6 (needs a mount namespace): a home that is hidden is named and never begun anew; one that may not be written reads on',
  async () => {
    const sealed = await bench.lay('sealed');
    await sealed.json('init', '--host', 'sealed', '--listen', '127.0.0.1:0');
    await sealed.json('lesson', 'lesson/before', 'x');
    const words = [process.execPath, bin('memctl'), '--home', sealed.home];
    const inside = (mount: string, ...more: readonly string[]): { code: number | null; stdout: string } => {
      const command = `${mount} && exec "$@"`;
      const ran = spawnSync('unshare', ['-m', 'sh', '-c', command, 'sh', ...words, ...more, '--json'], {
        encoding: 'utf8',
        env: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', HOME: bench.folder() },
      });
      return { code: ran.status, stdout: ran.stdout };
    };
    const hide = `mount -t tmpfs -o mode=755 t ${bench.folder()}`;
    for (const command of [['status'], ['lesson', 'lesson/x', 'x']]) {
      const { code, stdout } = inside(hide, ...command);
      expect(code).toBe(1);
      expect(JSON.parse(stdout)).toMatchObject({
        error: { code: 'HOME_MISSING', message: expect.stringContaining(sealed.home) },
      });
    }
    const readOnly = `mount --bind ${sealed.home} ${sealed.home} && mount -o remount,bind,ro ${sealed.home}`;
    const written = inside(readOnly, 'lesson', 'lesson/x', 'x');
    expect(written.code).not.toBe(0);
    expect(written.stdout).toMatch(/"code":"(DISK_FAILED|DISK_READ_ONLY)"/);
    expect(existsSync(join(sealed.home, 'repo.git'))).toBe(true);
    expect(await sealed.json('verify', '--deep')).toMatchObject({ ok: true, logs: { sealed: { lines: 1 } } });
  },
  60_000,
);
