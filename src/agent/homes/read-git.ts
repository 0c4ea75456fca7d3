/** `git:REPO:PATH@REF` homes: what a named ref of a checkout says, whatever lies in the work tree. */
import { realpathSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { homeFileBytesMax, homeGitDeadlineMs } from '../../core/limits.ts';
import { failedChild, runChild } from '../../store/child.ts';
import { isOperatingError, printable } from '../../store/errors.ts';
import { gitFolderAt, isOurs, mainBranch, type GitFolder } from '../git-folder.ts';
import { isFolder, isWithin, nameFault, placeOf, type HomeRoot } from './path-rules.ts';
import { tooLarge, type FileLook } from './read-file.ts';
import { gone, notAllowed, unchecked, type Found, type Gone, type Unchecked } from './reading.ts';

export interface GitHome {
  readonly repository: string;
  readonly path: string;
  readonly ref: string;
}

/** Reads PATH at REF of the checkout REPO below a root. What git cannot do here is a reason, never an exception. */
export async function readGitHome(home: GitHome, look: FileLook): Promise<Found> {
  const fault = nameFault(home.path);
  if (fault !== undefined) return notAllowed(fault);
  const checkout = checkoutOf(home.repository, look);
  if ('kind' in checkout) return checkout;
  try {
    return await readAtRef(checkout, home);
  } catch (error) {
    if (isOperatingError(error)) return unchecked(error.message);
    throw error;
  }
}

/** The checkout that REPO means: a project of that scope or name, or a folder below a root. */
function checkoutOf(name: string, look: FileLook): GitFolder | Unchecked | Gone {
  const named = look.roots.find((root) => root.scope !== null && isCalled(root, name));
  const place = named === undefined ? placeOf(name, look) : undefined;
  if (place !== undefined && place.kind !== 'placed') return place;
  const folder = place?.path ?? realPath(named?.path ?? '');
  const git = isFolder(folder) ? gitFolderAt(folder) : undefined;
  if (git === undefined) return unchecked(`${folder} is not the root of a git checkout`);
  if (!isOurs(git)) return notAllowed(`the repository of ${folder} belongs to another user`);
  // A mere pointer could name any repository of this user: it must stay below the roots.
  const inside = look.roots.some((root) => isWithin(realPath(root.path), realPath(git.commonDir)));
  return git.bound === 'pointer' && !inside ? notAllowed(`${folder} points to a repository elsewhere`) : git;
}

/** A worktree is called as its repository is, whatever its own folder is called. */
function isCalled(root: HomeRoot, name: string): boolean {
  if (root.scope === name || basename(root.path) === name) return true;
  const git = gitFolderAt(root.path);
  return git?.bound === 'worktree' && basename(dirname(git.commonDir)) === name;
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

async function readAtRef(git: GitFolder, { path, ref }: GitHome): Promise<Found> {
  const main = mainBranch(git.commonDir);
  const [at, tip] = await resolveRefs(git, ref, main);
  if (at === undefined) return gone(`${git.root} has no ref ${ref}`);
  const entry = await entryAt(git, at.commit, path);
  if (entry === undefined) return gone(`there is no ${path} at ${ref} (commit ${at.commit.slice(0, 12)})`);
  const fault = entryFault(entry);
  if (fault !== undefined) return unchecked(fault);
  const bytes = await run(git, ['cat-file', 'blob', entry.oid]);
  const notes = await mergeNotes(git, { at, tip, main, path, oid: entry.oid, ref });
  return {
    kind: 'found',
    bytes,
    from: `${git.root} ${path} at ${ref}`,
    commit: at.commit,
    markdown: /\.(?:md|markdown|mdx)$/i.test(path),
    notes,
  };
}

interface At {
  readonly commit: string;
  /** How a person calls what REF turned out to be. */
  readonly what: string;
}

/** REF as a branch, a tag, a remote branch or a whole commit id, and the tip of the main branch; one git call. */
async function resolveRefs(
  git: GitFolder,
  ref: string,
  main: string | undefined,
): Promise<readonly [At | undefined, string | undefined]> {
  const isId = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(ref);
  const forms: readonly (readonly [string, string])[] = isId
    ? [[ref, `commit ${ref.slice(0, 12)}`]]
    : [
        [`refs/heads/${ref}`, `branch ${ref}`],
        [`refs/tags/${ref}`, `tag ${ref}`],
        [`refs/remotes/${ref}`, `remote branch ${ref}`],
        ...(ref === 'HEAD' ? [['HEAD', 'what is checked out'] as const] : []),
      ];
  const mains = main === undefined ? [] : [`refs/heads/${main}`, `refs/remotes/origin/${main}`];
  const asked = [...forms.map(([name]) => name), ...mains];
  const input = asked.map((name) => `${name}^{commit}\n`).join('');
  const said = (await run(git, ['cat-file', '--batch-check=%(objectname) %(objecttype)'], input))
    .toString('utf8')
    .split('\n');
  const commits = said.map((line) => /^([0-9a-f]{40,64}) commit$/.exec(line)?.[1]);
  const first = forms.findIndex((_, at) => commits[at] !== undefined);
  const commit = commits[first];
  const tip = commits.slice(forms.length, asked.length).find((one) => one !== undefined);
  return [commit === undefined ? undefined : { commit, what: forms[first]?.[1] ?? ref }, tip];
}

interface Entry {
  readonly mode: string;
  readonly type: string;
  readonly oid: string;
  readonly size: number;
}

async function entryAt(git: GitFolder, commit: string, path: string): Promise<Entry | undefined> {
  const said = await run(git, ['--literal-pathspecs', 'ls-tree', '-z', '-l', '--full-tree', commit, '--', path]);
  const match = /^(\d{6}) ([a-z]+) ([0-9a-f]{40,64}) +(\d+|-)\t/.exec(said.toString('utf8'));
  const [, mode, type, oid, size] = match ?? [];
  if (mode === undefined || type === undefined || oid === undefined) return undefined;
  return { mode, type, oid, size: Number(size) };
}

function entryFault({ mode, type, size }: Entry): string | undefined {
  if (mode === '120000') return 'it is a symbolic link';
  if (type === 'tree') return 'it is a folder';
  if (type !== 'blob') return 'it is no plain file';
  return size > homeFileBytesMax ? tooLarge(size) : undefined;
}

/** Says so when what was read is not what the main branch says, and the commit is not part of it. */
async function mergeNotes(
  git: GitFolder,
  read: {
    readonly at: At;
    readonly tip: string | undefined;
    readonly main: string | undefined;
    readonly path: string;
    readonly oid: string;
    readonly ref: string;
  },
): Promise<readonly string[]> {
  const { at, tip, main, path, oid } = read;
  if (tip === undefined || main === undefined)
    return ['no main branch is known here: whether it is merged was not checked'];
  if (tip === at.commit) return [];
  const { code } = await child(git, ['merge-base', '--is-ancestor', at.commit, tip]);
  const there = await entryAt(git, tip, path);
  if (code === 0) return there?.oid === oid ? [] : [`${main} says something else by now`];
  return there?.oid === oid ? [] : [`on ${at.what}, not merged into ${main}`];
}

async function run(git: GitFolder, args: readonly string[], input = ''): Promise<Buffer> {
  const { code, stdout, stderr } = await child(git, args, input);
  if (code === 0) return stdout;
  throw failedChild({ command: 'git', args }, { code, stderr: printable(stderr) });
}

/** git on somebody's repository: told where by the command line, no hooks, no monitor, no fetching of missing objects. */
function child(git: GitFolder, args: readonly string[], input = '') {
  return runChild({
    command: 'git',
    args: ['--git-dir', git.gitDir, '-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null', ...args],
    env: { GIT_NO_LAZY_FETCH: '1' },
    input,
    // The folder that the person stands in may be gone.
    cwd: git.gitDir,
    deadlineMs: homeGitDeadlineMs,
    outputBytesMax: homeFileBytesMax * 2,
  });
}
