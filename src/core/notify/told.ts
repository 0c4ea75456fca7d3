/**
 * What was told: for each alarm how often it was told, as raised (odd) or cleared (even). It only grows, so that what
 * several hosts say of it is merged by the larger number, and no clock decides.
 */
import { notifyToldMax } from '../limits.ts';

/** Identity of an alarm → number. What is missing was never told: 0. */
export type Told = ReadonlyMap<string, number>;

/** Whether the last thing told of it is that it was raised. Pure. */
export function isRaised(n: number): boolean {
  return n % 2 === 1;
}

/** The larger number of each. Pure. */
export function mergeTold(told: Told, more: Told): Told {
  const merged = new Map(told);
  for (const [key, n] of more) if (n > (merged.get(key) ?? 0)) merged.set(key, n);
  return merged;
}

/**
 * At most `notifyToldMax` entries, the newest; those that were told as cleared go first. What is forgotten may be told
 * once more. Pure.
 */
export function boundTold(told: Told): Told {
  let surplus = told.size - notifyToldMax;
  if (surplus <= 0) return told;
  const kept = new Map(told);
  for (const raised of [false, true])
    for (const [key, n] of told)
      if (surplus > 0 && isRaised(n) === raised) {
        kept.delete(key);
        surplus -= 1;
      }
  return kept;
}
