/**
 * A disk that is easily filled. As root a loop-mounted ext4, or a tmpfs where there is no loop device; as anybody else the
 * drill runs itself again in a user namespace, in which it may mount a tmpfs.
 */
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, statfsSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DrillContext } from './drill.ts';

export interface SmallDisk {
  /** Where it is mounted. */
  readonly folder: string;
  readonly kind: 'ext4 on a loop device' | 'tmpfs';
  /** Takes all room but so many bytes, until `free`. */
  fill(leave?: number): void;
  free(): void;
}

function call(command: string, args: readonly string[]): void {
  execFileSync(command, [...args], { stdio: 'pipe' });
}

/** Whether this user may mount at all: root, or who is mapped to it in a namespace of their own. */
export function mayMount(): boolean {
  return process.getuid?.() === 0;
}

/** Mounts it; unmounted at the end. */
export function mountSmallDisk(context: DrillContext, bytes: number): SmallDisk {
  const room = context.temporaryFolder();
  const folder = path.join(room, 'disk');
  mkdirSync(folder);
  const kind = mountExt4(room, folder, bytes) ? 'ext4 on a loop device' : mountTmpfs(folder, bytes);
  context.onCleanup(() => unmount(folder));
  const filler = path.join(folder, 'filler');
  return {
    folder,
    kind,
    fill: (leave = 0) => takeRoom(filler, leave),
    free: () => rmSync(filler, { force: true }),
  };
}

function mountExt4(room: string, folder: string, bytes: number): boolean {
  const image = path.join(room, 'disk.img');
  writeFileSync(image, '');
  truncateSync(image, bytes);
  try {
    // Nothing is kept for root: it is as full for everybody.
    call('mkfs.ext4', ['-q', '-m', '0', image]);
    call('mount', ['-o', 'loop', image, folder]);
    return true;
  } catch {
    rmSync(image);
    return false;
  }
}

function mountTmpfs(folder: string, bytes: number): 'tmpfs' {
  call('mount', ['-t', 'tmpfs', '-o', `size=${bytes},mode=0700`, 'tmpfs', folder]);
  return 'tmpfs';
}

function unmount(folder: string): void {
  for (let tries = 0; tries < 50; tries += 1) {
    try {
      call('umount', [folder]);
      return;
    } catch {
      execFileSync('sleep', ['0.1']);
    }
  }
  throw new Error(`${folder} cannot be unmounted`);
}

/** Adds until the file system says that it is full, in smaller and smaller pieces; then gives `leave` bytes back. */
function takeRoom(file: string, leave: number): void {
  const descriptor = openSync(file, 'a');
  for (const size of [1_048_576, 65_536, 4_096, 1]) {
    try {
      for (;;) writeSync(descriptor, Buffer.alloc(size));
    } catch {
      // Full for this size.
    }
  }
  closeSync(descriptor);
  if (leave === 0) return;
  const { bsize } = statfsSync(path.dirname(file));
  const size = Number(execFileSync('stat', ['-c', '%s', file], { encoding: 'utf8' }));
  truncateSync(file, Math.max(0, size - Math.ceil(leave / bsize) * bsize));
}

/**
 * Runs a drill once more in a user namespace, where it is root, started by `uid` (this user if not given). @returns its
 * last line but the count, or why it could not begin.
 */
export async function runInNamespace(
  context: DrillContext,
  { drill, options, uid }: { readonly drill: string; readonly options: readonly string[]; readonly uid?: number },
): Promise<{ readonly code: number; readonly said: readonly string[] } | { readonly cannot: string }> {
  const runner = path.join(path.dirname(path.dirname(fileURLToPath(import.meta.url))), 'run.ts');
  const as = uid === undefined ? [] : ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
  const inside = [...as, 'unshare', '--user', '--map-root-user', '--mount'];
  try {
    call(inside[0] ?? '', [...inside.slice(1), process.execPath, '--check', runner]);
  } catch (error) {
    const { message } = error as Error;
    return { cannot: `no user namespace can be made: ${message.split('\n').at(-1) ?? message}` };
  }
  const seed = String(context.random.below(2 ** 31));
  const [command = '', ...args] = [...inside, process.execPath, runner, drill, `--seed=${seed}`, ...options];
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  context.onCleanup(() => void child.kill('SIGKILL'));
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => (text += part));
  const code = await new Promise<number>((resolve) => {
    child.on('error', () => resolve(127));
    child.on('close', (exit) => resolve(exit ?? 128));
  });
  return { code, said: text.split('\n').filter((line) => line !== '') };
}
