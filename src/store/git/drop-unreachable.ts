/**
 * Dropping what no branch of ours reaches, so that nothing of it can be read by its id any more. git itself keeps more than
 * that: what somebody else's refs, reflogs, a detached HEAD, packs with a `.keep`, or the objects of another repository
 * behind an `alternates` file hold. All of it goes: the repository is memd's own, and it knows no other branch.
 */

import fs from 'node:fs';
import path from 'node:path';
import { maintenanceDeadlineMs } from '../../core/limits.ts';
import { replaceFile, syncDirectories } from '../disk.ts';
import { diskError, OperatingError, systemCode } from '../errors.ts';
import { listLogs, listViews, logRef, readRef, trustRef, viewBranch } from './refs.ts';
import { runGit, type Repository } from './repository.ts';

/**
 * Keeps one pack of what our branches reach, made durable first, and removes every other object and whatever names one. For
 * a repository that nobody reads or writes meanwhile. A crash leaves more than there should be, never less; run it again.
 * @returns what was removed that is not memd's own, for the log: refs, and paths in the repository.
 * Errors: those of `runGit` (`CHILD_FAILED` too when an object that is reached is missing), `REF_DAMAGED`, `DISK_FAILED`.
 */
export async function dropUnreachable(repository: Repository): Promise<readonly string[]> {
  const { disk, objectDir } = repository;
  const folder = path.join(objectDir, 'pack');
  try {
    const kept = await packReached(repository, folder);
    await syncDirectories(disk, [folder, objectDir]);
    const foreign = [...(await dropForeignRefs(repository)), ...(await dropOtherNames(repository))];
    dropOtherPacks(repository, folder, kept);
    await syncDirectories(disk, [folder]);
    const fans = dropLoose(repository);
    // A name whose removal was not flushed is there again after a power cut.
    await syncDirectories(disk, [repository.gitDir, objectDir, folder, ...fans]);
    return foreign;
  } catch (error) {
    throw diskError(error, 'drop objects from', objectDir);
  }
}

/** The branches that memd knows, by ref. */
function ownRefs(repository: Repository): ReadonlyMap<string, string> {
  const refs = new Map<string, string>();
  for (const [host, oid] of listLogs(repository)) refs.set(logRef(host), oid);
  for (const [host, oid] of listViews(repository)) refs.set(viewBranch(host).ref, oid);
  const trust = readRef(repository, trustRef);
  if (trust !== null) refs.set(trustRef, trust);
  return refs;
}

/** @returns the hash in the name of the pack. */
async function packReached(repository: Repository, folder: string): Promise<string> {
  const { stdout } = await runGit(repository, {
    args: ['pack-objects', '-q', '--revs', '--delta-base-offset', '--non-empty', path.join(folder, 'pack')],
    input: [...ownRefs(repository).values()].map((oid) => `${oid}\n`).join(''),
    deadlineMs: maintenanceDeadlineMs,
  });
  const kept = stdout.toString('latin1').trim();
  // Without a pack to keep nothing may go.
  if (!/^[0-9a-f]{40,64}$/.test(kept)) throw new OperatingError('CHILD_FAILED', 'git pack-objects: named no pack');
  return kept;
}

/** Tags, backups, notes: made by hand, and each of them would keep what is to go. */
async function dropForeignRefs(repository: Repository): Promise<readonly string[]> {
  const own = ownRefs(repository);
  const { stdout } = await runGit(repository, { args: ['for-each-ref', '--format=%(refname)'] });
  const names = stdout.toString('utf8').split('\n').slice(0, -1);
  const foreign = names.filter((name) => !own.has(name));
  if (foreign.length === 0) return [];
  const input = foreign.map((name) => `option no-deref\0delete ${name}\0\0`).join('');
  await runGit(repository, { args: ['update-ref', '-z', '--stdin'], input });
  return foreign;
}

/** What names objects beside refs, in the repository and in its folder of objects. */
const otherNames: readonly string[] = [
  'logs',
  'worktrees',
  'lost-found',
  'index',
  'shallow',
  'FETCH_HEAD',
  'ORIG_HEAD',
  'MERGE_HEAD',
  path.join('objects', 'info'),
];

async function dropOtherNames(repository: Repository): Promise<readonly string[]> {
  const { gitDir, objectDir } = repository;
  const strays = namesIn(objectDir).filter((name) => !/^([0-9a-f]{2}|pack|info)$/.test(name));
  const names = [...otherNames, ...strays.map((name) => path.join('objects', name))];
  const there = names.filter((name) => fs.lstatSync(path.join(gitDir, name), { throwIfNoEntry: false }) !== undefined);
  for (const name of there) fs.rmSync(path.join(gitDir, name), { recursive: true, force: true });
  return [...there.filter((name) => name !== path.join('objects', 'info')), ...(await attachHead(repository))];
}

/** A HEAD that names a commit keeps it; one that names a branch keeps nothing of its own. */
async function attachHead(repository: Repository): Promise<readonly string[]> {
  const { gitDir, disk } = repository;
  const file = path.join(gitDir, 'HEAD');
  if (!/^[0-9a-f]{40}\s*$/.test(fs.readFileSync(file, 'latin1'))) return [];
  const [host] = listLogs(repository).keys();
  if (host !== undefined) await replaceFile(disk, { file, data: Buffer.from(`ref: ${logRef(host)}\n`) });
  return ['HEAD'];
}

/** Under whatever name: git takes every index that it finds there. It goes first: git sees a pack by it. */
function dropOtherPacks(repository: Repository, folder: string, kept: string): void {
  const own = new Set(['pack', 'idx', 'rev'].map((suffix) => `pack-${kept}.${suffix}`));
  const others = namesIn(folder).filter((name) => !own.has(name));
  const indexFirst = others.toSorted((left, right) => Number(right.endsWith('.idx')) - Number(left.endsWith('.idx')));
  for (const name of indexFirst) removeWhatever(repository, path.join(folder, name));
}

/**
 * Every one: what is reached is in the pack. What somebody put in the place of such a folder goes by its own name: behind a
 * link there may be anything. @returns the folders that had some.
 */
function dropLoose(repository: Repository): readonly string[] {
  const { objectDir } = repository;
  const fans = namesIn(objectDir).filter((name) => /^[0-9a-f]{2}$/.test(name));
  return fans.flatMap((fan) => {
    const folder = path.join(objectDir, fan);
    if (!isFolder(folder)) {
      removeWhatever(repository, folder);
      return [];
    }
    for (const name of namesIn(folder)) removeWhatever(repository, path.join(folder, name));
    return [folder];
  });
}

/** A file, a link (never what it leads to), or a folder with all that is in it. */
function removeWhatever({ disk }: Repository, target: string): void {
  if (isFolder(target)) fs.rmSync(target, { recursive: true, force: true });
  else disk.removeFile(target);
}

function isFolder(target: string): boolean {
  return fs.lstatSync(target, { throwIfNoEntry: false })?.isDirectory() === true;
}

function namesIn(folder: string): readonly string[] {
  try {
    return fs.readdirSync(folder);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
}
