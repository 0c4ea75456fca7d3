/** Moving what was admitted from a quarantine into our repository, durably, before any branch may point at it. */
import { fetchPaddingBytesMax } from '../../core/limits.ts';
import { adoptPacks } from '../../store/git/adopt-pack.ts';
import type { EncodedObject } from '../../store/git/object-id.ts';
import { writeObjects } from '../../store/git/objects.ts';
import { idsBeyond, listPacks } from '../../store/git/pack-index.ts';
import { eachObject, type Range } from '../../store/git/pack-ranges.ts';
import { writePack } from '../../store/git/pack-writer.ts';
import { runGit, type Repository } from '../../store/git/repository.ts';
import type { Quarantine } from './quarantine.ts';

/** What of a quarantine's pack is to be kept: all that `tip` reaches; `base`: a commit that we hold, if there is one. */
export interface PackOf {
  readonly tip: string;
  readonly base: string | undefined;
}

/**
 * Objects: writes exactly these. Otherwise moves the quarantine's pack in, the index last, since git sees a pack by its
 * index. Nobody ever drops what lies in a pack, so one with objects that nothing names is not moved: what is named is packed
 * anew. Durable on return. @returns false when something was left behind. Errors: `DISK_FAILED`, `DISK_FULL`, `CHILD_FAILED`.
 */
export async function takeOver(
  repository: Repository,
  quarantine: Quarantine,
  objects: readonly EncodedObject[] | PackOf,
): Promise<boolean> {
  if (!('tip' in objects)) {
    await writeObjects(repository, objects);
    return true;
  }
  const { tip: upto, base: from } = objects;
  const range: Range = { ref: '', branch: 0, from, upto };
  if (!(await isPadded(repository, quarantine, range))) {
    await adoptPacks(repository, quarantine.view.objectDir);
    return true;
  }
  const seen: Repository = { ...repository, alternates: [quarantine.view.objectDir, ...repository.alternates] };
  await writePack(seen, {
    how: 'again',
    feed: (take) => eachObject(seen, range, take),
  });
  return false;
}

/** Whether the pack holds what neither the range nor our repository does. A small one may: it costs less than finding out. */
async function isPadded(repository: Repository, { view }: Quarantine, range: Range): Promise<boolean> {
  const bytes = listPacks(view).reduce((sum, pack) => sum + pack.bytes, 0);
  if (bytes <= fetchPaddingBytesMax) return false;
  const beyond = await idsBeyond(view, (take) => eachObject(view, range, (oid) => take(oid)));
  return beyond === undefined || (await lacksSome(repository, beyond));
}

/** Ids that git is asked about at once. */
const idsAtATime = 10_000;

/** What a thin pack builds on is added to it, and is ours. */
async function lacksSome(repository: Repository, ids: readonly string[]): Promise<boolean> {
  for (let at = 0; at < ids.length; at += idsAtATime) {
    const input = ids
      .slice(at, at + idsAtATime)
      .map((id) => `${id}\n`)
      .join('');
    const { stdout } = await runGit(repository, { args: ['cat-file', '--batch-check=%(objectname)'], input });
    if (stdout.includes(' missing\n')) return true;
  }
  return false;
}
