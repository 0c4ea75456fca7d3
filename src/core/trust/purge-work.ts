/** What a home has still to do for the purges that its charter counts, and what it may say of them. */
import type { Charter } from './charter.ts';

type Purges = Charter['purges'];

/** What a home knows of itself. `noted`: events that it noted as out of it; `covered`: logs whose files hold a purged body all the same. */
export interface PurgeWork {
  readonly noted: readonly string[];
  readonly covered: readonly string[];
}

/** Events that are purged and not noted as out of this home. Pure. */
export function duePurges(purges: Purges, { noted }: Pick<PurgeWork, 'noted'>): readonly string[] {
  const done = new Set(noted);
  return [...purges.keys()].filter((id) => !done.has(id));
}

/** Whether there is something to carry out: what is due, or what came back, from a backup or by hand. Pure. */
export function hasPurgeWork(purges: Purges, work: PurgeWork): boolean {
  return work.covered.length > 0 || duePurges(purges, work).length > 0;
}

/** Of what is noted, what still counts: should a purge count again that does not now, there may be bodies again. Pure. */
export function stillNoted(purges: Purges, { noted }: Pick<PurgeWork, 'noted'>): readonly string[] {
  return noted.filter((id) => purges.has(id));
}

/**
 * Whether a host is known to have carried out a purge, by the purges of the trust set that its newest view line names: it
 * signs none before everything that is purged under it is out of its home. Pure.
 */
export function saysPurged(
  told: Purges | undefined,
  { id, op }: { readonly id: string; readonly op: string },
): boolean {
  return told?.get(id)?.op === op;
}
