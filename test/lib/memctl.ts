/** The built memctl and memd as processes, in a world of their own: home, config and cache are temporary. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from './temporary.ts';

const bin = (name: string): string => fileURLToPath(new URL(`../../bin/${name}`, import.meta.url));

/** A document that a test looks into. */
export type Json = Record<string, unknown>;

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface World {
  /** Holds everything below. */
  readonly folder: string;
  /** Home folder of memd. */
  readonly home: string;
  /** Folder in which commands run by default. */
  readonly work: string;
  /** What commands find in their environment, and nothing else. */
  readonly env: Readonly<Record<string, string>>;
  /** Writes config.toml. */
  configure(text: string): void;
  run(args: readonly string[], options?: { readonly cwd?: string }): Promise<Ran>;
  /** Runs with `--json`; gives the document and the exit code. */
  json(args: readonly string[], options?: { readonly cwd?: string }): Promise<{ code: number; value: Json }>;
  /** Starts memd on a free port of loopback and waits until it serves. */
  memd(args?: readonly string[]): Promise<ChildProcess>;
}

/** An empty world; nothing in it is removed before the test ends, or by whoever made the folder. */
export function newWorld(folder: string = temporaryFolder()): World {
  const at = (name: string): string => {
    mkdirSync(join(folder, name), { recursive: true });
    return join(folder, name);
  };
  const work = at('work');
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: at('user'),
    XDG_CONFIG_HOME: at('config'),
    XDG_CACHE_HOME: at('cache'),
    MEMD_HOME: join(folder, 'home'),
    MEMD_LOG: 'error',
    TZ: 'UTC',
  };
  const run: World['run'] = (args, { cwd = work } = {}) =>
    new Promise((resolve) => {
      const child = execFile(process.execPath, [bin('memctl'), ...args], { cwd, env }, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
      });
      child.stdin?.end();
    });
  return {
    folder,
    home: env.MEMD_HOME,
    work,
    env,
    configure: (text) => writeFileSync(join(at('config/memd'), 'config.toml'), text),
    run,
    json: async (args, options) => {
      const { code, stdout } = await run([...args, '--json'], options);
      return { code, value: JSON.parse(stdout) as Json };
    },
    memd: (args = []) => startMemd(env, work, args),
  };
}

/** A world with a mesh of one host, alpha. */
export async function meshOfOne(folder?: string): Promise<World> {
  const world = newWorld(folder);
  const made = await world.run(['init', '--host', 'alpha', '--listen', '127.0.0.1:0']);
  if (made.code !== 0) throw new Error(made.stderr);
  return world;
}

function startMemd(env: Record<string, string>, cwd: string, args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(process.execPath, [bin('memd'), '--json', ...args], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  return new Promise((resolve, reject) => {
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    child.stdout.once('data', () => resolve(child));
    child.once('exit', (code) => reject(new Error(`memd ended with ${code}: ${said}`)));
  });
}
