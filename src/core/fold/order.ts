/** The only order of texts in the fold: UTF-16 code units. No locale, no Unicode version. */

/** Comparator by code units. Pure. */
export function byCodeUnits(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** A sorted copy without repetitions. Pure. */
export function sortedUnique(texts: Iterable<string>): string[] {
  return [...new Set(texts)].sort(byCodeUnits);
}

/** Comparator by log name, then position. Pure. */
export function byPlace(a: { log: string; seq: number }, b: { log: string; seq: number }): number {
  return byCodeUnits(a.log, b.log) || a.seq - b.seq;
}
