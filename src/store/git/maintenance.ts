/** Checking and packing our own repository. */

import fs from 'node:fs';
import path from 'node:path';
import { maintenanceDeadlineMs } from '../../core/limits.ts';
import { syncDirectories } from '../disk.ts';
import { failedChild } from '../child.ts';
import { diskError, OperatingError, printable, restoreHint } from '../errors.ts';
import type { Problem } from '../problem.ts';
import { runOrdinary } from './porcelain.ts';
import { runGit, type Repository } from './repository.ts';

/** Problems listed at most; the rest is one more line with a count. */
const problemsMax = 50;

/**
 * `git fsck --strict` over all objects and refs. Each problem names the object or ref, and its file when it is loose.
 * Errors: `CHILD_TIMEOUT`, `PROGRAM_MISSING`, `CHILD_FAILED` (fsck failed without naming anything).
 */
export async function checkObjects(repository: Repository): Promise<readonly Problem[]> {
  const args = ['fsck', '--strict', '--full', '--no-dangling', '--no-progress'];
  const result = await runOrdinary({
    args,
    cwd: repository.gitDir,
    gitDir: repository.gitDir,
    deadlineMs: maintenanceDeadlineMs,
  });
  const said = [...result.stdout.split('\n'), ...result.stderr.split('\n')]
    .map((line) => line.trim())
    .filter((line) => isComplaint(line));
  if (result.code !== 0 && said.length === 0) throw failedChild({ command: 'git', args }, result);
  const problems = [...new Set(said)].map((line) => describe(repository, line));
  const more = problems.length - problemsMax;
  const rest = {
    file: repository.gitDir,
    place: 'objects',
    detail: `and ${more} more complaints of git fsck`,
    hint: '',
  };
  return more > 0 ? [...problems.slice(0, problemsMax), rest] : problems;
}

/** Notices about unborn branches and unreachable objects are no damage. */
function isComplaint(line: string): boolean {
  return line !== '' && !/^(notice:|dangling |unreachable |Checking )/.test(line);
}

function describe(repository: Repository, line: string): Problem {
  const oid = /[0-9a-f]{40}/.exec(line)?.[0] ?? /([0-9a-f]{2})\/([0-9a-f]{38})/.exec(line)?.slice(1, 3).join('');
  const loose = oid === undefined ? undefined : path.join(repository.objectDir, oid.slice(0, 2), oid.slice(2));
  const pack = /\S*\/(pack-[0-9a-f]+\.(?:pack|idx))/.exec(line)?.[1];
  const packed = pack === undefined ? undefined : path.join(repository.objectDir, 'pack', pack);
  return {
    file: packed ?? (loose !== undefined && fs.existsSync(loose) ? loose : repository.gitDir),
    place: oid === undefined ? 'repository' : `object ${oid}`,
    detail: printable(line),
    hint: restoreHint,
  };
}

/** Loose objects and packs, to decide whether packing is due. */
export async function countObjects(
  repository: Repository,
): Promise<{ readonly loose: number; readonly packs: number }> {
  const { stdout } = await runOrdinary({
    args: ['count-objects', '-v'],
    cwd: repository.gitDir,
    gitDir: repository.gitDir,
  });
  const number = (name: string): number => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(stdout)?.[1] ?? 0);
  return { loose: number('count'), packs: number('packs') };
}

/**
 * Packs the loose objects. `git repack -d` in three steps, so that the new pack is durable, its name included, before
 * the loose files go. Appends and fetches may go on meanwhile. Errors: those of `runGit`, `DISK_FAILED`.
 */
export async function packObjects(repository: Repository): Promise<void> {
  await runGit(repository, { args: ['repack', '-q', '-l'], deadlineMs: maintenanceDeadlineMs });
  await syncDirectories(repository.disk, [path.join(repository.objectDir, 'pack'), repository.objectDir]);
  await removePackedFiles(repository);
}

/** Removes the loose files of objects that a pack holds too, whatever is in those files. The pack must be durable. */
export async function removePackedFiles(repository: Repository): Promise<void> {
  await runGit(repository, { args: ['prune-packed', '-q'], deadlineMs: maintenanceDeadlineMs });
}

/** Files of a pack, and what other programs make over several packs; they name packs that are about to go. */
const packFile = /^(pack-([0-9a-f]{40,64})\.[a-z]+|multi-pack-index.*)$/;

/**
 * Drops every object that no branch reaches: one pack of what is reached, made durable, and then everything else goes, so
 * that nothing can be read by its id any more. For a repository that nobody reads or writes meanwhile. A crash leaves
 * more than there should be, never less; run it again.
 * Errors: those of `runGit` (`CHILD_FAILED` too when an object that is reached is missing), `DISK_FAILED`.
 */
export async function dropUnreachable(repository: Repository): Promise<void> {
  const { disk, objectDir } = repository;
  const folder = path.join(objectDir, 'pack');
  try {
    const { stdout } = await runGit(repository, {
      args: ['pack-objects', '-q', '--all', '--delta-base-offset', '--non-empty', path.join(folder, 'pack')],
      input: '',
      deadlineMs: maintenanceDeadlineMs,
    });
    const kept = stdout.toString('latin1').trim();
    // Without a pack to keep nothing may go.
    if (!/^[0-9a-f]{40,64}$/.test(kept)) throw new OperatingError('CHILD_FAILED', 'git pack-objects: named no pack');
    await syncDirectories(disk, [folder, objectDir]);
    removeOthers(repository, folder, kept);
    await syncDirectories(disk, [folder]);
    await runGit(repository, { args: ['prune', '--expire=now'], deadlineMs: maintenanceDeadlineMs });
    await removePackedFiles(repository);
    // A name whose removal was not flushed is there again after a power cut.
    const fans = fs.readdirSync(objectDir).filter((name) => /^[0-9a-f]{2}$/.test(name));
    await syncDirectories(disk, [objectDir, folder, ...fans.map((name) => path.join(objectDir, name))]);
  } catch (error) {
    throw diskError(error, 'drop objects from', objectDir);
  }
}

/** The index goes first: git sees a pack by it. */
function removeOthers({ disk, objectDir }: Repository, folder: string, kept: string): void {
  const others = fs.readdirSync(folder).filter((name) => {
    const [, , pack] = packFile.exec(name) ?? ['', '', kept];
    return pack !== kept;
  });
  const indexFirst = others.toSorted((left, right) => Number(right.endsWith('.idx')) - Number(left.endsWith('.idx')));
  for (const name of indexFirst) disk.removeFile(path.join(folder, name));
  fs.rmSync(path.join(objectDir, 'info', 'commit-graph'), { force: true });
  fs.rmSync(path.join(objectDir, 'info', 'commit-graphs'), { recursive: true, force: true });
}
