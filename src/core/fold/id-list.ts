/** Bounded lists: a record stays small however many events stand behind it. Source: docs/fold.md, Records. */
import { sha256Hex } from '../../crypto/hash.ts';
import { recordIdsMax } from '../limits.ts';
import { byCodeUnits } from './order.ts';
import type { IdList } from './state.ts';

const emptyList: IdList = { count: 0, digest: null, first: [] };

/** The bounded form of texts without quotes or backslashes (ids, host names): in any order, no text twice. Pure. */
export function idListOf(texts: readonly string[]): IdList {
  if (texts.length === 0) return emptyList;
  const all = texts.toSorted(byCodeUnits);
  if (all.length <= recordIdsMax) return { count: all.length, digest: null, first: all };
  return { count: all.length, digest: digestOf(all), first: lowest(all) };
}

/** What scope `*` gives to a list of each scope: worked out once, however many scopes there are. */
export interface WidePart {
  readonly count: number;
  /** The lowest `recordIdsMax` of them, sorted. */
  readonly first: readonly string[];
  /** What stands for the part in the digest of a list. */
  readonly digest: () => string;
}

/** Where `*` gives nothing. */
export const noWidePart: WidePart = { count: 0, first: [], digest: () => digestOf([]) };

/**
 * The bounded list of a record: the part of `*` and that of its own scope, which is in any order. The digest is made of
 * the parts: a hash over the whole list would cost each of a thousand scopes the way through all that is said of `*`. Pure.
 */
export function idListIn(wide: WidePart, own: readonly string[]): IdList {
  const count = wide.count + own.length;
  if (count === 0) return emptyList;
  const sorted = own.toSorted(byCodeUnits);
  const both = wide.count === 0 ? sorted : [...wide.first, ...lowest(sorted)].sort(byCodeUnits);
  const digest = count <= recordIdsMax ? null : sha256Hex(JSON.stringify([wide.digest(), sorted]));
  return { count, digest, first: lowest(both) };
}

/** The part that these ids of `*` are, in any order. */
export function partOf(ids: readonly string[]): WidePart {
  if (ids.length === 0) return noWidePart;
  const sorted = ids.toSorted(byCodeUnits);
  let digest: string | undefined;
  return { count: ids.length, first: lowest(sorted), digest: () => (digest ??= digestOf(sorted)) };
}

/** The first `recordIdsMax` of sorted ids. Pure. */
export function lowest(sorted: readonly string[]): readonly string[] {
  return sorted.length <= recordIdsMax ? sorted : sorted.slice(0, recordIdsMax);
}

/** sha256 of the JCS of sorted ids. */
function digestOf(sorted: readonly string[]): string {
  return sha256Hex(JSON.stringify(sorted));
}
