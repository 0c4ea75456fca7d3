/** A mesh of two with a real sshd in between, and stock clients that knock at it. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { newWorld, type Json, type World } from './memctl.ts';
import { startPlainSshd, type PlainSshd, type SshdOptions } from './plain-sshd.ts';

export interface Pair {
  /** Behind the sshd, a mesh of two; no memd runs. */
  readonly alpha: World;
  /** Cannot be dialled; has not joined. */
  readonly beta: World;
  readonly sshd: PlainSshd;
  readonly mesh: string;
  readonly url: string;
  /** What `memctl serve --authorized-keys` printed. */
  readonly lines: readonly string[];
}

/** Alpha has added beta, and nothing of the sshd is pinned yet. */
export async function startPair(folder: string, options: Partial<SshdOptions> = {}): Promise<Pair> {
  const sshd = await startPlainSshd({ folder: join(folder, 'sshd'), ...options });
  const [alpha, beta] = ['alpha', 'beta'].map((name) => {
    mkdirSync(join(folder, name));
    return offline(newWorld(join(folder, name)));
  }) as [World, World];
  const made = await good(alpha, ['init', '--host', 'alpha', '--listen', '127.0.0.1:0']);
  const requested = await good(beta, ['host', 'request', '--host', 'beta', '--listen', '127.0.0.1:0', '--address', '']);
  await good(alpha, ['host', 'add', String(requested['line']), '--yes']);
  const { lines } = (await good(alpha, ['serve', '--authorized-keys'])) as { lines: string[] };
  return { alpha, beta, sshd, mesh: String(made['mesh']), url: sshd.url(), lines };
}

/** Removed by whoever asked for it. */
export function ownFolder(): string {
  return mkdtempSync(join(realpathSync(tmpdir()), 'memd-test-'));
}

/** Peers of these tests come and go; who waits for them is tested elsewhere. */
function offline(world: World): World {
  (world.env as Record<string, string>)['MEMD_OFFLINE'] = '1';
  return world;
}

export async function good(world: World, args: readonly string[]): Promise<Json> {
  const { code, value } = await world.json(args);
  expect({ args, code, value }).toMatchObject({ code: 0 });
  return value;
}

export function pin(world: World, ...lines: readonly string[]): string {
  const file = join(world.env['XDG_CONFIG_HOME'] ?? '', 'memd', 'known_hosts');
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, lines.join(''));
  return file;
}

export async function fetchOne(world: World): Promise<{ peer: string; state: string; new: number; reason?: string }> {
  const { value } = await world.json(['fetch']);
  const [peer] = value as unknown as { peer: string; state: string; new: number; reason?: string }[];
  if (peer === undefined) throw new Error('no peer');
  return peer;
}

export const lesson = (world: World, name: string): Promise<Json> =>
  good(world, ['lesson', `lesson/${name}`, `What is said of ${name}`]);

export const clientOptions = (pair: Pick<Pair, 'beta' | 'sshd'>): string[] => [
  '-Fnone',
  `-i${join(pair.beta.home, 'keys', 'ssh_ed25519')}`,
  `-oUserKnownHostsFile=${pin(pair.beta, pair.sshd.knownHost())}`,
  '-oBatchMode=yes',
  '-oStrictHostKeyChecking=yes',
  '-oIdentitiesOnly=yes',
  '-oIdentityAgent=none',
  '-oLogLevel=ERROR',
];

export function run(command: string, args: readonly string[], env: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync(command, [...args], {
    env: { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent', GIT_CONFIG_GLOBAL: '/dev/null', ...env },
    encoding: 'utf8',
    timeout: 20_000,
  });
  return { code: status, stdout, stderr };
}

export const copyOptions = (pair: Pair): string[] => ['-q', '-P', String(pair.sshd.port), ...clientOptions(pair)];

/** One line for a person, perhaps with what to do, and never a status of success. */
export function expectRefused({ code, stdout, stderr }: ReturnType<typeof run>): void {
  expect(code).not.toBe(0);
  expect(stdout).toBe('');
  expect(stderr).toMatch(/^mem[a-z]+: [ -~]+\n(?: {2}next: [ -~]+\n)?(?:scp: [ -~]+\r?\n)?$/);
}

export function isAlive(pid: string): boolean {
  return existsSync(`/proc/${pid}`) && !/State:\s+Z/.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
}

/** Programs that carry connections of this pair. */
export function pipesOf({ alpha, beta }: Pair): string[] {
  const { stdout } = spawnSync('ps', ['-eo', 'pid,args'], { encoding: 'utf8' });
  const theirs = [`${alpha.home} serve --stdio`, `UserKnownHostsFile="${beta.env['XDG_CONFIG_HOME'] ?? ''}`];
  return stdout.split('\n').filter((line) => theirs.some((words) => line.includes(words)));
}

export async function holds(world: World, name: string): Promise<void> {
  const status = async (): Promise<unknown> => (await world.json(['recall', `lesson/${name}`])).code;
  await expect.poll(status, { timeout: 20_000 }).toBe(0);
}
