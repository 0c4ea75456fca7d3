/**
 * Branches: reading them without trusting what a crash left, and moving them by compare-and-swap.
 * A damaged ref is never read as "no branch": that would start the log again from nothing.
 */

import fs from 'node:fs';
import path from 'node:path';
import { assert } from '../../crypto/result.ts';
import { makeDirectories, syncDirectories } from '../disk.ts';
import { diskError, isDamage, OperatingError, restoreHint, systemCode } from '../errors.ts';
import { isOid } from './object-id.ts';
import { runGit, type Repository } from './repository.ts';

/** Names that this program reads and writes; a name from elsewhere cannot leave the refs folder. */
const refPattern = /^refs\/(heads\/(log|view)\/[a-z][a-z0-9-]{0,30}|heads\/trust|memd\/[a-z0-9-]{1,64})$/;

/** Branch of a host's log. */
export function logRef(host: string): string {
  return `refs/heads/log/${host}`;
}

/** A branch that holds lines in segments: the log of a host, or its view journal. */
export interface LineBranch {
  readonly ref: string;
  /** As messages and errors call it: `log alpha`, `view alpha`. */
  readonly name: string;
}

export function logBranch(host: string): LineBranch {
  return { ref: logRef(host), name: `log ${host}` };
}

/** Branch of a host's view journal. */
export function viewBranch(host: string): LineBranch {
  return { ref: `refs/heads/view/${host}`, name: `view ${host}` };
}

/** Branch of the trust set. */
export const trustRef = 'refs/heads/trust';

function refFile(repository: Pick<Repository, 'gitDir'>, ref: string): string {
  assert(refPattern.test(ref), `ref name is one of ours: ${ref}`);
  return path.join(repository.gitDir, ref);
}

function readIfThere(file: string): Buffer | undefined {
  try {
    return fs.readFileSync(file);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    const failure = diskError(error, 'read', file);
    throw isDamage(failure) ? unreadable(file, failure) : failure;
  }
}

function damaged(file: string, reason: string): OperatingError {
  return new OperatingError('REF_DAMAGED', `${file} ${reason}`, { hint: restoreHint });
}

function unreadable(file: string, { cause, hint }: OperatingError): OperatingError {
  const code = systemCode(cause);
  const isForeign = code === 'EACCES' || code === 'EPERM';
  const next = isForeign ? hint : restoreHint;
  return new OperatingError('REF_DAMAGED', `${file} cannot be read (${code})`, { cause, hint: next });
}

function parseLoose(file: string, bytes: Buffer): string {
  const text = bytes.toString('latin1');
  if (/^[0-9a-f]{40}\n?$/.test(text)) return text.slice(0, 40);
  if (bytes.length === 0) throw damaged(file, 'is empty');
  if (bytes.every((byte) => byte === 0)) throw damaged(file, 'is filled with NUL bytes');
  throw damaged(file, 'does not hold a commit id');
}

function readPacked(repository: Pick<Repository, 'gitDir'>): Map<string, string> {
  const file = path.join(repository.gitDir, 'packed-refs');
  const refs = new Map<string, string>();
  const bytes = readIfThere(file);
  if (bytes === undefined) return refs;
  const text = bytes.toString('latin1');
  if (text !== '' && !text.endsWith('\n')) throw damaged(file, 'is cut off or overwritten');
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#') || line.startsWith('^')) continue;
    const match = /^([0-9a-f]{40}) (refs\/\S+)$/.exec(line);
    if (match === null) throw damaged(file, 'has a line that is no ref');
    refs.set(match[2] ?? '', match[1] ?? '');
  }
  return refs;
}

/**
 * Commit that a branch points at, or null when there is no such branch.
 * Errors: `REF_DAMAGED` (empty, NUL-filled, not a commit id, on a bad block), `DISK_FAILED`.
 */
export function readRef(repository: Pick<Repository, 'gitDir'>, ref: string): string | null {
  const file = refFile(repository, ref);
  const bytes = readIfThere(file);
  if (bytes !== undefined) return parseLoose(file, bytes);
  return readPacked(repository).get(ref) ?? null;
}

/** In the place of a commit: the branch may name one, and here it cannot be read. */
export const unreadableCommit = 'unreadable';

/**
 * Commit that the branch of a log names; '' when it names none, `unreadableCommit` when its file is there and cannot be
 * read. Errors: `DISK_FAILED`.
 */
export function branchCommit(repository: Pick<Repository, 'gitDir'>, host: string): string {
  try {
    return readRef(repository, logRef(host)) ?? '';
  } catch (error) {
    if (isDamage(error)) return error.cause === undefined ? '' : unreadableCommit;
    throw error;
  }
}

/** Every host that has a log branch, sorted, with its commit. Errors: as `readRef`. */
export function listLogs(repository: Pick<Repository, 'gitDir'>): Map<string, string> {
  return listHosts(repository, 'refs/heads/log/');
}

/** Every host whose view journal is here, likewise. Errors: as `readRef`. */
export function listViews(repository: Pick<Repository, 'gitDir'>): Map<string, string> {
  return listHosts(repository, 'refs/heads/view/');
}

/** The hosts whose view journal is here, sorted, also where its branch is damaged. Errors: as `readRef`, of `packed-refs`. */
export function viewHosts(repository: Pick<Repository, 'gitDir'>): readonly string[] {
  const prefix = 'refs/heads/view/';
  return namesOf(repository, prefix).map((ref) => ref.slice(prefix.length));
}

function namesOf(repository: Pick<Repository, 'gitDir'>, prefix: string): readonly string[] {
  const names = new Set(
    [...readPacked(repository).keys()].filter((ref) => ref.startsWith(prefix) && refPattern.test(ref)),
  );
  const folder = path.join(repository.gitDir, prefix);
  for (const name of fs.existsSync(folder) ? fs.readdirSync(folder) : []) {
    if (refPattern.test(prefix + name)) names.add(prefix + name);
  }
  return [...names].sort((a, b) => (a < b ? -1 : 1));
}

function listHosts(repository: Pick<Repository, 'gitDir'>, prefix: string): Map<string, string> {
  const logs = new Map<string, string>();
  for (const ref of namesOf(repository, prefix)) {
    const oid = readRef(repository, ref);
    if (oid !== null) logs.set(ref.slice(prefix.length), oid);
  }
  return logs;
}

/** `expected`: null = it must not exist; undefined = whatever it says, also when its file is damaged. */
export interface RefMove {
  readonly ref: string;
  readonly expected: string | null | undefined;
  readonly next: string;
}

/** A branch that is locked for moving. A `commit` that resolves or an `abort` ends it. */
export interface LockedRef {
  /** Makes the new value durable in the lock file; may run beside the fsyncs of the objects. */
  prepare(): Promise<void>;
  /** Moves the branch, durably. Every object must be durable before this call. */
  commit(): Promise<void>;
  /** Gives the lock up; after a `commit` that failed, too. Never throws: the first error is the one to hear of. */
  abort(): void;
}

/**
 * Takes the exclusive lock of a branch and compares its value with the one we built on.
 * Errors: `REF_LOCKED` (another process holds it, or a crash left it), `REF_CHANGED` (names both values),
 * `REF_DAMAGED`, `DISK_FAILED`, `DISK_FULL`.
 */
export function lockRef(repository: Repository, move: RefMove): LockedRef {
  const { disk, gitDir } = repository;
  assert(isOid(move.next), 'a branch moves to a commit id');
  const file = refFile(repository, move.ref);
  const lock = `${file}.lock`;
  const touched = new Set<string>([path.dirname(file)]);
  let descriptor: number;
  try {
    makeDirectories(disk, { root: gitDir, directory: path.dirname(file), touched });
    descriptor = disk.createFile(lock, Buffer.from(`${move.next}\n`), 0o600);
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw diskError(error, 'lock', file);
    throw new OperatingError(
      'REF_LOCKED',
      `${lock} exists: another process is moving this branch, or a crash left it`,
      {
        hint: 'if no git runs in that folder, restart memd: it removes what a crash left',
      },
    );
  }
  let open = true;
  const close = (): void => {
    if (open) disk.closeFile(descriptor);
    open = false;
  };
  const abort = (): void => {
    try {
      close();
      disk.removeFile(lock);
    } catch {
      // A lock that stays is swept at the next start; the branch is safe either way.
    }
  };
  try {
    requireValue(repository, move);
  } catch (error) {
    abort();
    throw error;
  }
  return {
    prepare: () => disk.syncFile(descriptor, lock),
    commit: async () => {
      close();
      disk.rename(lock, file);
      await Promise.all([...touched].map((directory) => disk.syncDirectory(directory)));
    },
    abort,
  };
}

function requireValue(repository: Repository, move: RefMove): void {
  if (move.expected === undefined) return;
  const current = readRef(repository, move.ref);
  if (current === move.expected) return;
  const say = (oid: string | null): string => oid ?? 'nothing';
  throw new OperatingError(
    'REF_CHANGED',
    `${move.ref} is at ${say(current)}, this write was built on ${say(move.expected)}`,
    {
      hint: 'read the branch again; if memd does not run, another program writes to its repository',
    },
  );
}

/**
 * Moves a branch from `expected` (null = it must not exist) to `next`, durably. The objects must be durable already.
 * Errors: as `lockRef`.
 */
export async function compareAndSwapRef(repository: Repository, move: RefMove): Promise<void> {
  const locked = lockRef(repository, move);
  try {
    await locked.prepare();
    await locked.commit();
  } catch (error) {
    locked.abort();
    throw diskError(error, 'move', move.ref);
  }
}

/**
 * Makes durable where a branch is seen to be: after a move that failed it may be at its new commit, whose objects are durable,
 * while its name is not. Errors: `DISK_FAILED`, `DISK_FULL`.
 */
export async function syncRef(repository: Repository, ref: string): Promise<void> {
  await syncDirectories(repository.disk, [path.dirname(refFile(repository, ref))]);
}

/** Removes a branch that is at `expected`, loose and packed, durably. Errors: `REF_CHANGED`, `REF_LOCKED`, `DISK_FAILED`. */
export async function removeRef(
  repository: Repository,
  { ref, expected }: { readonly ref: string; readonly expected: string },
): Promise<void> {
  await runGit(repository, { args: ['update-ref', '-d', ref, expected] });
  const folders = [repository.gitDir, path.dirname(path.dirname(refFile(repository, ref)))];
  await syncDirectories(
    repository.disk,
    folders.filter((folder) => fs.existsSync(folder)),
  );
}

/** Removes one of our own temporary refs (`refs/memd/…`); not durable, a leftover is swept at the next start. */
export function removeTemporaryRef(repository: Repository, ref: string): void {
  assert(ref.startsWith('refs/memd/'), 'only temporary refs are ever removed');
  repository.disk.removeFile(refFile(repository, ref));
}
