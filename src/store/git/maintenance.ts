/** Checking and packing our own repository. */

import fs from 'node:fs';
import path from 'node:path';
import { maintenanceDeadlineMs } from '../../core/limits.ts';
import { syncDirectories } from '../disk.ts';
import { failedChild } from '../child.ts';
import { printable, restoreHint } from '../errors.ts';
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
