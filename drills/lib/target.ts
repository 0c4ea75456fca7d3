/** What the store drills kill: memd itself, or the small writer of the store. Chosen by `--target=memd|writer`. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DrillContext } from './drill.ts';
import type { DrillProcess } from './process.ts';
import { writerHost, writerMeshId } from './writer.ts';

const root = path.dirname(path.dirname(path.dirname(fileURLToPath(import.meta.url))));

/** A running target. */
export interface RunningTarget {
  readonly process: DrillProcess;
  /** The process that holds the home lock: not a launcher before it. */
  readonly pid: number;
  readonly socket: string;
}

export interface Target {
  readonly name: 'memd' | 'writer';
  readonly host: string;
  readonly home: string;
  /** Starts it and waits until it serves. `onSpawned`: told of the process before that. */
  start(onSpawned?: (pid: number) => void): Promise<RunningTarget>;
  meshId(): string;
  /** Opens a copy of the home as a new process would and checks it; says what is wrong, or undefined. */
  verify(home: string): string | undefined;
}

/** Makes a home for the chosen target (memd where it is built, unless the call says otherwise), which listens at `address`. */
export function createTarget(context: DrillContext, folder: string, address = '127.0.0.1:0'): Target {
  const built = existsSync(path.join(root, 'dist', 'daemon', 'main.js'));
  const chosen = context.options.get('target') ?? (built ? 'memd' : 'writer');
  context.check(chosen === 'memd' || chosen === 'writer', `--target is memd or writer, not ${chosen}`);
  if (chosen === 'memd' && !built) context.skip('memd is not built here: npm run build');
  const home = path.join(folder, 'home');
  return chosen === 'memd' ? memdTarget(context, { home, folder, address }) : writerTarget(context, home);
}

function writerTarget(context: DrillContext, home: string): Target {
  const args = [path.join(root, 'drills', 'lib', 'writer.ts'), '--home', home];
  return {
    name: 'writer',
    host: writerHost,
    home,
    meshId: () => writerMeshId,
    verify: () => undefined,
    start: (onSpawned) => startTarget(context, { command: process.execPath, args, home, env: {} }, onSpawned),
  };
}

function memdTarget(context: DrillContext, place: { home: string; folder: string; address: string }): Target {
  const { home, folder, address } = place;
  const env = { XDG_CONFIG_HOME: path.join(folder, 'config'), MEMD_LOG: 'warn' };
  const memctl = (args: readonly string[], at = home): string =>
    execFileSync(process.execPath, [path.join(root, 'bin', 'memctl'), ...args, '--home', at, '--json'], {
      env: { ...process.env, ...env },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const made = JSON.parse(memctl(['init', '--host', 'alpha', '--listen', address])) as {
    mesh: string;
    host: string;
  };
  const args = [path.join(root, 'bin', 'memd'), '--home', home, '--json'];
  return {
    name: 'memd',
    host: made.host,
    home,
    meshId: () => made.mesh,
    verify: (at) => {
      try {
        const { ok, problems } = JSON.parse(memctl(['verify'], at)) as { ok: boolean; problems: unknown[] };
        return ok ? undefined : JSON.stringify(problems);
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    },
    start: (onSpawned) => startTarget(context, { command: process.execPath, args, home, env }, onSpawned),
  };
}

async function startTarget(
  context: DrillContext,
  request: { command: string; args: readonly string[]; home: string; env: Readonly<Record<string, string>> },
  onSpawned: (pid: number) => void = () => undefined,
): Promise<RunningTarget> {
  const { command, args, home, env } = request;
  const started = context.start({ command, args, env });
  onSpawned(started.pid);
  await started.line(/"ready":\s*true/, 60_000);
  const owner = JSON.parse(readFileSync(path.join(home, 'memd.lock.owner'), 'utf8')) as { pid: number };
  return { process: started, pid: owner.pid, socket: path.join(home, 'memd.sock') };
}
