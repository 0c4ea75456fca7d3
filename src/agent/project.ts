/**
 * Which project somebody stands in. A project is known by an id in the log, not by a path: what its `.memd` file says,
 * else the root commit of its repository, else what the config says about the path. Two checkouts and all worktrees of one
 * repository are one project.
 */
import { mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { isSlug } from '../core/id.ts';
import { homeGitDeadlineMs, scopeFileBytesMax } from '../core/limits.ts';
import { foldersUp, gitFolderAt, headBranch, isOurs, mainBranch, statusOf, type GitFolder } from './git-folder.ts';

export interface Project {
  /** Real path of its root folder. */
  readonly root: string;
  /** Id in the log; null when nothing says one. */
  readonly scope: string | null;
  readonly source: '.memd' | 'git' | 'config' | null;
  /** Why there is no scope although something was meant to say it. */
  readonly fault?: string;
}

export interface ProjectOptions {
  /** Absolute path to scope, from the config. */
  readonly scopes: ReadonlyMap<string, string>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Name of the file that says a project's scope. */
export const scopeFileName = '.memd';

/** The project around a folder; undefined when it is in none, or is gone. */
export async function projectOf(folder: string, options: ProjectOptions): Promise<Project | undefined> {
  const start = realPath(folder);
  if (start === undefined) return undefined;
  for (const root of foldersUp(start)) {
    const said = scopeFileIn(root);
    if (said !== undefined) return { root, ...said };
    const git = gitFolderAt(root);
    if (git !== undefined) return gitProject(git, options);
  }
  return configProject(start, options.scopes);
}

async function gitProject(git: GitFolder, options: ProjectOptions): Promise<Project> {
  const said = await rootScope(git, options.env);
  if (typeof said === 'string') return { root: git.root, scope: said, source: 'git' };
  const { fault } = said;
  return configProject(git.root, options.scopes) ?? { root: git.root, scope: null, source: null, fault };
}

/** The longest path of the config that the folder is below. */
function configProject(folder: string, scopes: ReadonlyMap<string, string>): Project | undefined {
  for (const root of foldersUp(folder)) {
    const found = [...scopes].find(([path]) => path === root || realPath(path) === root);
    if (found !== undefined) return { root, scope: found[1], source: 'config' };
  }
  return undefined;
}

/** What a `.memd` file says: one line, the scope; `#` begins a comment. Undefined when there is no such file. */
function scopeFileIn(root: string): Pick<Project, 'scope' | 'source' | 'fault'> | undefined {
  const file = join(root, scopeFileName);
  const status = statusOf(file);
  if (status?.isFile() !== true) return undefined;
  const bad = (why: string) => ({ scope: null, source: null, fault: `${file}: ${why}` });
  if (status.size > scopeFileBytesMax) return bad(`it has ${status.size} bytes, ${scopeFileBytesMax} are the most`);
  const text = readText(file);
  if (text === undefined) return bad('it cannot be read');
  const lines = text
    .split('\n')
    .map((line) => line.replace(/#.*$/, '').trim())
    .filter((line) => line !== '');
  const [scope] = lines;
  if (lines.length === 1 && isSlug(scope)) return { scope, source: '.memd' };
  return bad('it must hold one line, a scope like my-project (a-z, 0-9, -, at most 31)');
}

/**
 * `p-` and 12 digits of the commit that the main branch began with. First parents only, so that a history merged in from
 * elsewhere changes nothing, and the main branch before HEAD, so that a branch of its own history does not either.
 */
async function rootScope(git: GitFolder, env: ProjectOptions['env']): Promise<string | { readonly fault: string }> {
  if (statusOf(join(git.commonDir, 'shallow')) !== undefined) {
    return { fault: `${git.root} is a shallow clone: its root commit is not here` };
  }
  if (!isOurs(git)) return { fault: `the repository of ${git.root} belongs to another user` };
  const cache = cacheOf(git, env);
  const known = cache === undefined ? undefined : cached(cache);
  if (known !== undefined) return known;
  const commit = await rootCommit(git);
  if (commit === undefined) return { fault: `git names no first commit of ${git.root}` };
  const scope = `p-${commit.slice(0, 12)}`;
  if (cache !== undefined) remember(cache, scope);
  return scope;
}

async function rootCommit(git: GitFolder): Promise<string | undefined> {
  const main = mainBranch(git.commonDir);
  const tips = [...(main === undefined ? [] : [`refs/heads/${main}`, `refs/remotes/origin/${main}`]), 'HEAD'];
  const { runChild } = await import('../store/child.ts');
  for (const tip of tips) {
    const done = await runChild({
      command: 'git',
      args: ['--git-dir', git.gitDir, 'rev-list', '--first-parent', '--max-parents=0', '--end-of-options', tip, '--'],
      env: { GIT_NO_LAZY_FETCH: '1' },
      cwd: git.gitDir,
      deadlineMs: homeGitDeadlineMs,
    }).catch(() => undefined);
    const commit = /^([0-9a-f]{40,64})\n/.exec(done?.stdout.toString('utf8') ?? '')?.[1];
    if (done?.code === 0 && commit !== undefined) return commit;
  }
  return undefined;
}

/** A file of the user's cache, and what its first line says when it is about this very repository. */
interface ScopeCache {
  readonly file: string;
  readonly key: string;
}

/**
 * The first commit of a repository does not change, and finding it walks the whole history: it is kept in the user's
 * cache. The file is named by number: loading node:crypto for a better
 * name costs a recall 5 ms.
 */
function cacheOf({ commonDir, gitDir }: GitFolder, env: ProjectOptions['env']): ScopeCache | undefined {
  const named = env['XDG_CACHE_HOME'];
  const user = env['HOME'];
  const base =
    named !== undefined && isAbsolute(named)
      ? named
      : user !== undefined && isAbsolute(user)
        ? join(user, '.cache')
        : undefined;
  if (base === undefined) return undefined;
  const status = statusOf(commonDir);
  if (status === undefined) return undefined;
  const { dev, ino, birthtimeMs } = status;
  const main = mainBranch(commonDir) ?? `HEAD ${headBranch(gitDir) ?? ''}`;
  return { file: join(base, 'memd', 'scopes', `${dev}-${ino}`), key: JSON.stringify([commonDir, birthtimeMs, main]) };
}

function cached({ file, key }: ScopeCache): string | undefined {
  const [first, scope] = readText(file)?.split('\n') ?? [];
  return first === key && isSlug(scope) ? scope : undefined;
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function remember({ file, key }: ScopeCache, scope: string): void {
  try {
    mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 });
    const temporary = `${file}.${process.pid}`;
    writeFileSync(temporary, `${key}\n${scope}\n`, { mode: 0o600 });
    renameSync(temporary, file);
  } catch {
    // A cache that cannot be written costs a git call, nothing else.
  }
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

/**
 * The scope that the project around a folder wrote down: what its `.memd` file says. Undefined without one; git and
 * config decide nothing here.
 */
export function writtenScope(folder: string): { readonly scope: string } | { readonly fault: string } | undefined {
  const start = realPath(folder);
  if (start === undefined) return undefined;
  for (const root of foldersUp(start)) {
    const said = scopeFileIn(root);
    if (said !== undefined) return said.scope === null ? { fault: said.fault ?? '' } : { scope: said.scope };
    if (gitFolderAt(root) !== undefined) return undefined;
  }
  return undefined;
}
