/** The charter of a past moment, as far as it can still be folded under. */
import type { VerifiedLine } from './log.ts';
import type { Charter } from './trust/charter.ts';

/**
 * What was purged since folds as its skeleton, as everywhere; of the bodies nothing is left. `gone`: ids that were there
 * then. Pure.
 */
export function withPurges(
  then: Charter,
  now: Charter,
  lines: readonly VerifiedLine[],
): { readonly charter: Charter; readonly gone: readonly string[] } {
  const since = [...now.purges].filter(([id]) => !then.purges.has(id));
  const ids = new Set(since.length === 0 ? [] : lines.map(({ id }) => id));
  const gone = since.filter(([id]) => ids.has(id));
  const purges = new Map([...then.purges, ...gone]);
  return { charter: gone.length === 0 ? then : { ...then, purges }, gone: gone.map(([id]) => id) };
}
