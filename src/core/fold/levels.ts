/**
 * R1: what authority a line proves for an event. Levels are an ordered type, so that a level between the two of today
 * takes its place by adding one entry to `levelRanks`. Source: docs/fold.md R1.
 */

/** The authority that an event carries, lowest first. */
export type Level = 'unsigned' | 'signed';

/** Order of the levels. Comparisons go through this table and never through the names. */
export const levelRanks: Readonly<Record<Level, number>> = { unsigned: 0, signed: 2 };

/** Negative, zero or positive as `a` is below, equal to or above `b`. Pure. */
export function compareLevels(a: Level, b: Level): number {
  return levelRanks[a] - levelRanks[b];
}
