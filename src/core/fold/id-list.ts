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
  return { count: all.length, digest: sha256Hex(JSON.stringify(all)), first: all.slice(0, recordIdsMax) };
}
