/** Moving what was admitted from a quarantine into our repository, durably, before any branch may point at it. */
import { fetchPaddingBytesMax, packCommitsMax } from '../../core/limits.ts';
import { adoptPacks } from '../../store/git/adopt-pack.ts';
import type { EncodedObject } from '../../store/git/object-id.ts';
import { writeObjects } from '../../store/git/objects.ts';
import { idsBeyond, listPacks } from '../../store/git/pack-index.ts';
import { eachObject, type Range } from '../../store/git/pack-ranges.ts';
import { writePack } from '../../store/git/pack-writer.ts';
import { runGit, type Repository } from '../../store/git/repository.ts';
import type { Quarantine } from './quarantine.ts';

/**
 * What of a quarantine's packs is to be kept: all that these commits reach, oldest first, each the parent of the next (at least
 * one); `base`: a commit that we hold, if there is one.
 */
export interface PackOf {
  readonly commits: readonly string[];
  readonly base: string | undefined;
}

/**
 * Objects: writes exactly these. Otherwise moves the quarantine's packs in, the index last, since git sees a pack by its
 * index. Nobody ever drops what lies in a pack, so those with objects that nothing names are not moved: what is named is packed
 * anew. Durable on return. @returns false when something was left behind. Errors: `DISK_FAILED`, `DISK_FULL`, `CHILD_FAILED`.
 */
export async function takeOver(
  repository: Repository,
  quarantine: Quarantine,
  objects: readonly EncodedObject[] | PackOf,
): Promise<boolean> {
  if (!('commits' in objects)) {
    await writeObjects(repository, objects);
    return true;
  }
  const ranges = rangesOf(objects);
  if (!(await isPadded(repository, quarantine, ranges))) {
    await adoptPacks(repository, quarantine.view.objectDir);
    return true;
  }
  const { objectDir, heapBytesMax } = quarantine.view;
  const seen: Repository = {
    ...repository,
    alternates: [objectDir, ...repository.alternates],
    ...within(heapBytesMax),
  };
  for (const range of ranges) await writePack(seen, { how: 'again', feed: (take) => eachObject(seen, range, take) });
  return false;
}

/** What came from a peer is looked at within its bounds, also when it is packed anew. */
function within(heapBytesMax: number | undefined): Pick<Repository, 'heapBytesMax'> {
  return heapBytesMax === undefined ? {} : { heapBytesMax };
}

/** In pieces: git holds all objects of one in memory. */
function rangesOf({ commits, base }: PackOf): readonly Range[] {
  const ranges: Range[] = [];
  let from = base;
  for (let at = packCommitsMax; from !== commits.at(-1); at += packCommitsMax) {
    const upto = commits[Math.min(at, commits.length) - 1] ?? '';
    ranges.push({ ref: '', branch: 0, from, upto });
    from = upto;
  }
  return ranges;
}

/** Whether the packs hold what neither the ranges nor our repository do. Small ones may: it costs less than finding out. */
async function isPadded(repository: Repository, { view }: Quarantine, ranges: readonly Range[]): Promise<boolean> {
  const bytes = listPacks(view).reduce((sum, pack) => sum + pack.bytes, 0);
  if (bytes <= fetchPaddingBytesMax) return false;
  const beyond = await idsBeyond(view, async (take) => {
    for (const range of ranges) await eachObject(view, range, (oid) => take(oid));
  });
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
