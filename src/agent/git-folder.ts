/**
 * The git repository around a path, by its files alone: no child process for what two small files say. Worktrees and
 * submodules have a `.git` file that names the real folder.
 */
import { existsSync, lstatSync, readFileSync, realpathSync, statSync, type Stats } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { projectDepthMax, scopeFileBytesMax } from '../core/limits.ts';

export interface GitFolder {
  /** The work tree's root. */
  readonly root: string;
  /** Of this work tree: HEAD and index. */
  readonly gitDir: string;
  /** Of the repository: objects and refs. The same for every work tree of it. */
  readonly commonDir: string;
  /** How the work tree is bound to it: its own folder, a worktree that is named there too, or a mere pointer. */
  readonly bound: 'folder' | 'worktree' | 'pointer';
}

/** The folders from `start` upwards, itself included. Pure. */
export function* foldersUp(start: string): Generator<string> {
  let folder = start;
  for (let depth = 0; depth < projectDepthMax; depth += 1) {
    yield folder;
    const parent = dirname(folder);
    if (parent === folder) return;
    folder = parent;
  }
}

/** The repository whose work tree begins in exactly this folder. */
export function gitFolderAt(root: string): GitFolder | undefined {
  const mark = join(root, '.git');
  const status = statusOf(mark, lstatSync);
  if (status?.isDirectory() === true) {
    return existsSync(join(mark, 'HEAD')) ? { root, gitDir: mark, commonDir: mark, bound: 'folder' } : undefined;
  }
  if (status?.isFile() !== true) return undefined;
  const gitDir = pointerIn(mark, 'gitdir: ', root);
  if (gitDir === undefined || !existsSync(join(gitDir, 'HEAD'))) return undefined;
  const commonDir = pointerIn(join(gitDir, 'commondir'), '', gitDir) ?? gitDir;
  const back = pointerIn(join(gitDir, 'gitdir'), '', gitDir);
  return { root, gitDir, commonDir, bound: back !== undefined && isSame(back, mark) ? 'worktree' : 'pointer' };
}

/** The repository that a path lies in. */
export function gitFolderAround(path: string): GitFolder | undefined {
  for (const folder of foldersUp(path)) {
    const found = gitFolderAt(folder);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** True when the repository belongs to this user: another user's configuration is never worked with. */
export function isOurs({ gitDir, commonDir }: GitFolder): boolean {
  const uid = process.getuid?.();
  return uid === undefined || [gitDir, commonDir].every((folder) => statusOf(folder)?.uid === uid);
}

/** What HEAD of a git folder names: a branch, or nothing when a commit is checked out by its id. */
export function headBranch(gitDir: string): string | undefined {
  return /^ref: refs\/heads\/(.+)$/.exec(smallFile(join(gitDir, 'HEAD'))?.trim() ?? '')?.[1];
}

/** The branch that a repository calls its main one: what origin says, else `main`, else `master`. */
export function mainBranch(commonDir: string): string | undefined {
  const said = /^ref: refs\/remotes\/origin\/(.+)$/.exec(
    smallFile(join(commonDir, 'refs/remotes/origin/HEAD'))?.trim() ?? '',
  )?.[1];
  return said ?? ['main', 'master'].find((name) => hasBranch(commonDir, name));
}

function hasBranch(commonDir: string, name: string): boolean {
  if (existsSync(join(commonDir, 'refs/heads', name))) return true;
  const packed = join(commonDir, 'packed-refs');
  const size = statusOf(packed)?.size ?? 0;
  if (size === 0 || size > packedRefsBytesMax) return false;
  try {
    return readFileSync(packed, 'utf8').includes(` refs/heads/${name}\n`);
  } catch {
    return false;
  }
}

/** A repository with more refs than this is asked about its main branch by its origin alone. */
const packedRefsBytesMax = 8 * 1_024 * 1_024;

/** Says so when a file lies in a checkout of another branch than the main one: what stands there may hold nowhere else. */
export function branchNote(path: string): string | undefined {
  const git = gitFolderAround(dirname(path));
  if (git === undefined) return undefined;
  const branch = headBranch(git.gitDir);
  const main = mainBranch(git.commonDir);
  if (main === undefined || branch === main) return undefined;
  return `read in a checkout of ${branch === undefined ? 'a commit by its id' : `branch ${branch}`}, not of ${main}`;
}

function pointerIn(file: string, prefix: string, base: string): string | undefined {
  const text = smallFile(file)?.replace(/\r?\n$/, '');
  if (text === undefined || !text.startsWith(prefix) || /[\0\n]/.test(text)) return undefined;
  return resolve(base, text.slice(prefix.length));
}

function isSame(a: string, b: string): boolean {
  try {
    return realpathSync(a) === realpathSync(b);
  } catch {
    return false;
  }
}

function smallFile(file: string): string | undefined {
  const status = statusOf(file);
  if (status?.isFile() !== true || status.size > scopeFileBytesMax) return undefined;
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** What the system says of a path; undefined where it says nothing: not there, below a file, closed to us. */
export function statusOf(path: string, look: (path: string) => Stats = statSync): Stats | undefined {
  try {
    return look(path);
  } catch {
    return undefined;
  }
}
