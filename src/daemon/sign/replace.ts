/**
 * What a signed event replaces. The sides of the park that it settles go of themselves; what is served, and what holds in
 * every scope, goes only when the person names it: a signature is not to reach further than its maker looked.
 */
import type { Body } from '../../core/event.ts';
import type { Fold } from '../../core/fold/fold.ts';
import { supersedesIdsMax } from '../../core/limits.ts';
import { Refusal } from '../refusal.ts';
import { sayTheSame, type Side } from './sides.ts';

/** What a person named on the command line. Full ids. */
export interface Named {
  readonly supersedes: readonly string[];
  readonly leave: readonly string[];
}

export interface Replacement {
  /** Sorted ids, at most `supersedesIdsMax`. */
  readonly supersedes: readonly string[];
  readonly leaves: readonly Side[];
  readonly agrees: readonly Side[];
}

/** What a claim replaces, leaves and agrees with. Refuses SERVED_CLAIM. */
export function replacedBy(
  fold: Fold,
  claim: { readonly body: Body; readonly scope: string },
  sides: readonly Side[],
  named: Named,
): Replacement {
  const isNamed = namesOf(fold, sides, named.supersedes);
  const others = sides.filter((side) => !sayTheSame(fold, side.body, claim.body));
  const agrees = sides.filter((side) => !others.includes(side) && !named.supersedes.includes(side.id));
  return { ...settle(others, claim.scope, { ...named, isNamed }), agrees };
}

/** What a retraction withdraws: every parked side, and what was named. Refuses SERVED_CLAIM. */
export function withdrawnBy(fold: Fold, scope: string, sides: readonly Side[], named: Named): Replacement {
  const isNamed = namesOf(fold, sides, named.supersedes);
  const parked = sides.filter((side) => !side.served || isNamed(side));
  return { ...settle(parked, scope, { ...named, isNamed }), agrees: [] };
}

/** A claim that says the same as a named one in its scope is meant with it: otherwise the same word would stand again. */
function namesOf(fold: Fold, sides: readonly Side[], ids: readonly string[]): (side: Side) => boolean {
  const named = sides.filter(({ id }) => ids.includes(id));
  return (side) => named.some((one) => one.scope === side.scope && sayTheSame(fold, one.body, side.body));
}

function settle(
  others: readonly Side[],
  scope: string,
  { supersedes, leave, isNamed }: Named & { readonly isNamed: (side: Side) => boolean },
): Omit<Replacement, 'agrees'> {
  const isKept = (side: Side): boolean => leave.includes(side.id) && !isNamed(side);
  const reached = others.filter((side) => reachesPast(side, scope) && !isNamed(side) && !isKept(side));
  if (reached.length > 0) throw reachesServed(reached);
  const replaced = others.filter((side) => !isKept(side)).map(({ id }) => id);
  const first = [...new Set([...supersedes, ...replaced])].slice(0, supersedesIdsMax).toSorted(byText);
  return { supersedes: first, leaves: others.filter(({ id }) => !first.includes(id)) };
}

/** Beyond the park: served, or holding in more scopes than the claim that would replace it. */
function reachesPast(side: Side, scope: string): boolean {
  return side.served || (side.scope === '*' && scope !== '*');
}

/** Names at most a few: the rest are seen when those are dealt with. */
export function reachesServed(reached: readonly Pick<Side, 'id' | 'served' | 'body'>[]): Refusal {
  const ids = reached.slice(0, 4).map(({ id }) => id.slice(0, 12));
  const [first] = reached;
  const why = first?.served === true ? 'is served' : 'holds in every scope';
  const more = reached.length > 1 ? ` (and ${reached.length - 1} more)` : '';
  return new Refusal({
    code: 'SERVED_CLAIM',
    message: `this would replace ${ids[0]} of ${first?.body.host}${more}, which ${why} and was not named; nothing was signed`,
    hint: `to replace it too: --supersedes ${ids.join(',')}; to let it stand beside: --leave ${ids.join(',')}`,
    ids,
    exit: 6,
  });
}

function byText(a: string, b: string): number {
  return a < b ? -1 : 1;
}
