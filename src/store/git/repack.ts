/**
 * Maintenance of the object store, while appends and fetches go on. It never drops an object, reachable or not: a loose
 * file goes when a pack holds its object, a pack when others hold every object of it, by their indexes. What no branch
 * reaches may still be what a repair looks for; dropping is the purge's alone (`dropUnreachable`).
 *
 * Each step can be broken off at any point, and begun again.
 */
import fs from 'node:fs';
import path from 'node:path';
import { syncDirectories } from '../disk.ts';
import { diskError, OperatingError } from '../errors.ts';
import { removePackedLoose } from './loose-files.ts';
import { packHint } from './pack-hints.ts';
import { listPacks, uncoveredIds } from './pack-index.ts';
import { eachObject, planRanges, readTips, type Range, type Tips } from './pack-ranges.ts';
import { writePack } from './pack-writer.ts';
import type { Repository } from './repository.ts';

export interface RepackOptions {
  readonly signal: AbortSignal;
  /** Commits of one pack at most; for tests. */
  readonly commitsMax?: number;
}

/**
 * Packs what was written since `from`, and removes the loose files of everything that packs hold. @returns what is packed
 * now, and the packs that were made. Errors: those of `writePack`, `REF_DAMAGED`.
 */
export async function packLoose(
  repository: Repository,
  from: Tips,
  { signal, commitsMax }: RepackOptions,
): Promise<{ readonly tips: Tips; readonly packs: readonly string[] }> {
  const tips = readTips(repository);
  const packs: string[] = [];
  for (const ranges of await planRanges(repository, { from, upto: tips }, commitsMax)) {
    const name = await packRanges(repository, ranges, { how: 'new', signal });
    if (name !== undefined) packs.push(name);
    await removePackedLoose(repository, signal);
  }
  return { tips, packs };
}

/** Packs that stay as they are from now on, and the commits up to which they hold everything. */
export interface Settled {
  readonly tips: Tips;
  readonly packs: readonly string[];
}

/**
 * Packs everything behind what is settled anew, and removes the packs that it came from, unless one holds an object that
 * nothing else does. @returns what is settled now (the last piece is not: it will grow) and the packs that were made.
 * Errors: those of `writePack`, `REF_DAMAGED`.
 */
export async function mergePacks(
  repository: Repository,
  settled: Settled,
  { signal, commitsMax }: RepackOptions,
): Promise<{ readonly settled: Settled; readonly packs: readonly string[] }> {
  const there = new Set(listPacks(repository).map(({ name }) => name));
  const kept = settled.packs.filter((name) => there.has(name));
  // Without one of them what is settled is not known to be there.
  const { tips: from, packs: still } = kept.length === settled.packs.length ? settled : { tips: {}, packs: [] };
  const old = [...there].filter((name) => !still.includes(name));
  const pieces = await planRanges(repository, { from, upto: readTips(repository) }, commitsMax);
  let tips: Tips = from;
  const made: string[] = [];
  for (const [at, ranges] of pieces.entries()) {
    const name = await packRanges(repository, ranges, { how: 'again', signal });
    if (name !== undefined) made.push(name);
    if (at < pieces.length - 1) tips = { ...tips, ...Object.fromEntries(ranges.map(({ ref, upto }) => [ref, upto])) };
  }
  const rest = await uncoveredIds(repository, { of: old, by: [...still, ...made] });
  const whole = made.slice(0, Math.max(0, pieces.length - 1));
  if (rest !== undefined) {
    const extra = rest.length === 0 ? undefined : await packIds(repository, rest, signal);
    if (extra !== undefined) made.push(extra);
    await removePacks(
      repository,
      old.filter((name) => !made.includes(name)),
      [...still, ...made],
    );
  }
  return { settled: { tips, packs: [...still, ...whole] }, packs: made };
}

function packRanges(
  repository: Repository,
  ranges: readonly Range[],
  { how, signal }: { readonly how: 'new' | 'again'; readonly signal: AbortSignal },
): Promise<string | undefined> {
  return writePack(repository, {
    how,
    signal,
    async feed(take) {
      for (const range of ranges)
        await eachObject(repository, range, (oid, file) => take(oid, packHint(range.branch, file)));
    },
  });
}

/** Objects that no branch reaches. */
function packIds(repository: Repository, ids: readonly string[], signal: AbortSignal): Promise<string | undefined> {
  return writePack(repository, {
    how: 'again',
    signal,
    async feed(take) {
      for (const id of ids) await take(id, '');
    },
  });
}

/** Removes packs all of whose objects are in others. The index goes first: git sees a pack by it. */
async function removePacks(repository: Repository, names: readonly string[], by: readonly string[]): Promise<void> {
  const left = names.length === 0 ? [] : await uncoveredIds(repository, { of: names, by });
  if (left === undefined || left.length > 0)
    throw new OperatingError(
      'CHILD_FAILED',
      `git pack-objects left out ${left?.length ?? 'some'} objects; nothing was removed`,
    );
  const folder = path.join(repository.objectDir, 'pack');
  try {
    // What other programs made over several packs names some that are about to go.
    for (const file of fs.readdirSync(folder))
      if (file.startsWith('multi-pack-index')) repository.disk.removeFile(path.join(folder, file));
    const files = fs.readdirSync(folder).filter((file) => names.includes(file.slice(0, file.indexOf('.'))));
    const indexFirst = files.toSorted((left, right) => Number(right.endsWith('.idx')) - Number(left.endsWith('.idx')));
    for (const file of indexFirst) {
      // A large file takes its time to go: not on the main thread.
      if (file.endsWith('.idx')) repository.disk.removeFile(path.join(folder, file));
      else await fs.promises.rm(path.join(folder, file), { force: true });
    }
  } catch (error) {
    throw diskError(error, 'remove a pack in', folder);
  }
  await syncDirectories(repository.disk, [folder]);
}
