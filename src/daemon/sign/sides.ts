/** What stands on a subject when a person is about to sign something on it: who says the same, who says otherwise. */
import { classOf, isClaim, scopeOf, type Body } from '../../core/event.ts';
import { claimKey } from '../../core/fold/claim-keys.ts';
import { eventsOf, eventView, recordsOf, type Fold } from '../../core/fold/fold.ts';
import type { EventView } from '../../core/fold/state.ts';
import { claimJson, type ClaimJson } from '../../core/views/claim-json.ts';

/** A live claim: one that is served, agrees with what is, or is parked. */
export interface Side {
  readonly id: string;
  readonly body: Body;
  readonly view: EventView;
  readonly scope: string;
  /** Served somewhere, itself or by a claim that says the same. */
  readonly served: boolean;
}

/** Live claims of a subject that are compared in `scope`: those of it and those of everywhere. Sorted by id. */
export function sidesOf(fold: Fold, subject: string, scope: string): readonly Side[] {
  const served = new Set(recordsOf(fold, subject).flatMap((record) => record.served ?? []));
  return eventsOf(fold, subject).flatMap((id): Side[] => {
    const view = eventView(fold, id);
    if (view?.body === null || view === undefined || !isLiveClaim(view)) return [];
    const own = scopeOf(view.body);
    if (own !== '*' && own !== scope) return [];
    const isServed = view.status !== 'parked' || served.has(id);
    return [{ id, body: view.body, view, scope: own, served: isServed }];
  });
}

function isLiveClaim({ body, status }: EventView): boolean {
  if (body === null || !isClaim(body.kind)) return false;
  return status === 'served' || status === 'corroborates' || status === 'parked';
}

/** Whether two claims of one subject say the same. Pure. */
export function sayTheSame(fold: Fold, a: Body, b: Body): boolean {
  const sort = fold.charter.classes.get(classOf(a.subject))?.claims ?? null;
  return claimKey(sort, a) === claimKey(sort, b);
}

/** Scopes in which a subject is parked, or has sides parked beside what is served. Sorted. */
export function parkedScopes(fold: Fold, subject: string): readonly string[] {
  return recordsOf(fold, subject)
    .filter(({ parked }) => parked.count > 0)
    .map(({ scope }) => scope)
    .toSorted((a, b) => (a < b ? -1 : 1));
}

/** Questions that are open on a subject in a scope. */
export function openQuestions(fold: Fold, subject: string, scope: string): readonly ClaimJson[] {
  return eventsOf(fold, subject).flatMap((id) => {
    const view = eventView(fold, id);
    if (view?.body?.kind !== 'question' || view.status !== 'open') return [];
    const own = scopeOf(view.body);
    return own === '*' || own === scope ? (claimJson(view) ?? []) : [];
  });
}

/** Sides as they are shown. */
export function shown(sides: readonly Side[]): readonly ClaimJson[] {
  return sides.flatMap(({ view }) => claimJson(view) ?? []);
}
