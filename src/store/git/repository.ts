/** The bare repository of a home: making it, opening it, its configuration, and ordinary git calls in it. */

import fs from 'node:fs';
import path from 'node:path';
import { childDeadlineMs } from '../../core/limits.ts';
import { failedChild, runChild, type ChildRequest, type ChildResult } from '../child.ts';
import { realDisk, replaceFile, syncDirectories, type Disk } from '../disk.ts';
import { diskError, OperatingError } from '../errors.ts';
import { runOrdinaryOk } from './porcelain.ts';

/** Where objects are read from: a folder of objects and its alternates. A quarantine is one of these too. */
export interface ObjectView {
  readonly gitDir: string;
  readonly objectDir: string;
  readonly alternates: readonly string[];
  /** Bytes that a git child may allocate while it looks at objects that are not trusted yet. */
  readonly heapBytesMax?: number;
}

/** A bare repository on disk, and the seam through which it is written. */
export interface Repository extends ObjectView {
  readonly disk: Disk;
}

/**
 * The whole configuration, written by us and put back whenever it differs: a repository configuration can run programs.
 * `core.fsync=all` is for the git children that write (bulk import, repack); our own writer does its own fsyncs.
 */
const configuration = `[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = true
\tfsync = all
\tfsyncMethod = fsync
\thooksPath = /dev/null
\tcompression = 1
[gc]
\tauto = 0
[maintenance]
\tauto = false
[fetch]
\tfsckObjects = true
[transfer]
\tfsckObjects = true
\thideRefs = refs/memd
[receive]
\tdenyCurrentBranch = refuse
[pack]
\tthreads = 1
\twriteReverseIndex = false
`;

function viewOf(gitDir: string, disk: Disk): Repository {
  return { gitDir, objectDir: path.join(gitDir, 'objects'), alternates: [], disk };
}

/** The same repository seen through a quarantine: its objects first, then ours. Nothing is written by looking. */
export function throughQuarantine(repository: Repository, objectDir: string): ObjectView {
  return { gitDir: repository.gitDir, objectDir, alternates: [repository.objectDir, ...repository.alternates] };
}

/** The list is separated by colons; git takes a quoted entry where the path has one. */
function quoteAlternate(folder: string): string {
  return /[":\\]/.test(folder) ? `"${folder.replace(/["\\]/g, '\\$&')}"` : folder;
}

/** Environment that makes a git child see the objects of this view. */
export function viewEnvironment(view: ObjectView): Record<string, string> {
  const environment: Record<string, string> = { GIT_OBJECT_DIRECTORY: view.objectDir };
  if (view.alternates.length > 0)
    environment['GIT_ALTERNATE_OBJECT_DIRECTORIES'] = view.alternates.map(quoteAlternate).join(':');
  return environment;
}

/**
 * Makes the repository (or completes one that a crash left half-made). Durable on return.
 * Errors: those of `runGit`, `DISK_FAILED`, `DISK_FULL`.
 */
export async function initRepository(dir: string, options: { host: string; disk?: Disk }): Promise<Repository> {
  const repository = viewOf(dir, options.disk ?? realDisk);
  const args = [
    'init',
    '--quiet',
    '--bare',
    '--template=',
    '--object-format=sha1',
    `--initial-branch=log/${options.host}`,
    dir,
  ];
  // Of a crash: git completes no repository whose configuration is torn, and leaves a torn HEAD. Ours is written below.
  repository.disk.removeFile(path.join(dir, 'config'));
  if (!/^ref: refs\/heads\/\S+\n$/.test(readText(path.join(dir, 'HEAD'))))
    repository.disk.removeFile(path.join(dir, 'HEAD'));
  await runOrdinaryOk({ args, cwd: path.dirname(dir), env: { GIT_DEFAULT_REF_FORMAT: 'files' } });
  await prepareRepository(repository);
  return repository;
}

/** Opens an existing repository. Touches no file. Errors: `REPOSITORY_MISSING`, `REPOSITORY_OWNER`. */
export function openRepository(dir: string, options: { disk?: Disk } = {}): Repository {
  const repository = viewOf(dir, options.disk ?? realDisk);
  for (const part of ['HEAD', 'objects', 'refs']) {
    if (fs.existsSync(path.join(dir, part))) continue;
    throw new OperatingError('REPOSITORY_MISSING', `${dir} is not a complete git repository: ${part} is missing`, {
      hint: 'stop memd, then memctl doctor --repair makes it again from what is left here and from peers',
    });
  }
  const uid = process.getuid?.();
  const owner = fs.statSync(dir).uid;
  if (uid !== undefined && owner !== uid) {
    throw new OperatingError(
      'REPOSITORY_OWNER',
      `${dir} belongs to user id ${owner}, this process runs as ${uid}; git refuses it`,
      {
        hint: `run as that user, or on this machine: chown -R ${uid} ${dir}`,
      },
    );
  }
  return repository;
}

/**
 * Makes an opened repository ready for writing, under the home lock: our configuration, the folders that a write needs,
 * and the durability of every folder name that a crash may have left unflushed (a folder made by a killed process is
 * visible to us, but would not survive a power cut).
 */
export async function prepareRepository(repository: Repository): Promise<void> {
  const { gitDir, objectDir, disk } = repository;
  try {
    const heads = path.join(gitDir, 'refs', 'heads');
    const folders = ['log', 'view'].map((name) => path.join(heads, name));
    for (const folder of [
      heads,
      path.join(gitDir, 'refs', 'memd'),
      path.join(objectDir, 'pack'),
      path.join(gitDir, 'quarantine'),
    ])
      disk.makeDirectory(folder, 0o700);
    for (const folder of folders) disk.makeDirectory(folder, 0o700);
    const config = path.join(gitDir, 'config');
    await syncHead(repository);
    if (readText(config) !== configuration) await replaceFile(disk, { file: config, data: Buffer.from(configuration) });
    await syncDirectories(disk, [
      path.dirname(gitDir),
      gitDir,
      objectDir,
      path.join(objectDir, 'pack'),
      path.join(gitDir, 'refs'),
      heads,
      ...folders,
    ]);
  } catch (error) {
    throw diskError(error, 'prepare', gitDir);
  }
}

/** `git init` does not flush HEAD, and a repository with an empty HEAD is none. */
async function syncHead(repository: Repository): Promise<void> {
  const file = path.join(repository.gitDir, 'HEAD');
  const descriptor = fs.openSync(file, fs.constants.O_RDONLY);
  try {
    await repository.disk.syncFile(descriptor, file);
  } finally {
    fs.closeSync(descriptor);
  }
}

function readText(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Options of one git call in a repository. */
export interface GitCall extends Pick<ChildRequest, 'input' | 'deadlineMs' | 'outputBytesMax' | 'env'> {
  readonly args: readonly string[];
  /** Exit codes besides 0 that are an answer, not a failure. */
  readonly alsoOk?: readonly number[];
}

/** The full request of a git call in a view: which repository, which objects. For `startChild` and `runChild`. */
export function gitRequest(view: ObjectView, call: GitCall): ChildRequest {
  const { args, alsoOk: _, env, ...rest } = call;
  const words = ['--git-dir', view.gitDir, ...args];
  return {
    ...(view.heapBytesMax === undefined ? { command: 'git', args: words } : withinHeap(view.heapBytesMax, words)),
    env: { ...viewEnvironment(view), ...env },
    deadlineMs: childDeadlineMs,
    ...rest,
  };
}

/**
 * git under a bound of the system on all that it allocates. Its own bounds are on one allocation, and its caches grow to
 * 96 MiB. Where the shell knows no such bound, there is none. Packs are mapped besides: by default whole ones.
 */
export function withinHeap(bytesMax: number, words: readonly string[]): Pick<ChildRequest, 'command' | 'args'> {
  const settings = 'core.deltaBaseCacheLimit=8m core.packedGitWindowSize=1m core.packedGitLimit=8m'
    .split(' ')
    .map((setting) => `-c ${setting}`)
    .join(' ');
  const script = `ulimit -d ${Math.ceil(bytesMax / 1_024)} 2>/dev/null; exec git ${settings} "$@"`;
  return { command: 'sh', args: ['-c', script, 'git', ...words] };
}

/**
 * Runs git in a repository and requires success.
 * Errors: `CHILD_FAILED` (command, exit code, last stderr line), `CHILD_TIMEOUT`, `CHILD_OUTPUT`, `PROGRAM_MISSING`.
 */
export async function runGit(view: ObjectView, call: GitCall): Promise<ChildResult> {
  const request = gitRequest(view, call);
  const result = await runChild(request);
  if (result.code !== 0 && !(call.alsoOk ?? []).includes(result.code))
    throw failedChild({ command: 'git', args: call.args }, result);
  return result;
}
