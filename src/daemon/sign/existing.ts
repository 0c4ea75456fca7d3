/** Approving an event that was said before: the same body, so the same event, and any host may carry it. */
import { isClaim, scopeOf, type Body } from '../../core/event.ts';
import { eventView, type Fold } from '../../core/fold/fold.ts';
import type { EventView } from '../../core/fold/state.ts';
import { fullId, requireIdText, unknownEvent } from '../full-ids.ts';
import { Refusal } from '../refusal.ts';
import type { Desk, Plan } from './plan.ts';
import { reachesServed } from './replace.ts';
import { sayTheSame, sidesOf, type Side } from './sides.ts';

/** An event whose body is held here. */
export type ReadableEvent = EventView & { readonly body: Body };

/** Finds an event by its id or prefix. Refuses ID_UNKNOWN, ID_AMBIGUOUS, NOTHING_TO_SIGN for one that cannot be read. */
export function requireEvent(fold: Fold, prefix = ''): ReadableEvent {
  requireIdText(prefix);
  const id = fullId(prefix, fold);
  const view = eventView(fold, id);
  if (view === undefined) throw unknownEvent(id);
  const { body } = view;
  if (body !== null) return { ...view, body };
  throw nothingToSign(`${id.slice(0, 12)} cannot be read here (${view.reason ?? view.status})`, `memctl show ${id}`);
}

/** Kinds to which an approval adds something. */
const approvable: ReadonlySet<string> = new Set(['assert', 'lesson', 'decision', 'question', 'retract', 'pin']);

/** Refuses NOTHING_TO_SIGN, and SERVED_CLAIM where the approval would take the place of a served claim that was not named. */
export function planExisting(desk: Desk, event: ReadableEvent): Plan {
  const { id, body, signers } = event;
  if (!approvable.has(body.kind)) {
    const hint = body.kind === 'propose' ? `memctl sign --promote ${id.slice(0, 12)}` : 'it is only recorded';
    throw nothingToSign(`an approval would do nothing for a ${body.kind} (${id.slice(0, 12)})`, hint);
  }
  if (event.level === 'signed' && (desk.signer === undefined || signers.includes(desk.signer))) {
    throw nothingToSign(`${id.slice(0, 12)} is signed already by ${signers.join(', ')}`, `memctl show ${id}`);
  }
  const sides = sidesOf(desk.fold, body.subject, scopeOf(body)).filter((side) => side.id !== id);
  const supersedes = body.supersedes ?? [];
  const agrees = isClaim(body.kind) ? sides.filter((side) => sayTheSame(desk.fold, side.body, body)) : [];
  const others = isClaim(body.kind) ? sides.filter((side) => !agrees.includes(side)) : [];
  requireNamed(desk, displaced(desk, event, others));
  const leaves = others.filter((side) => !supersedes.includes(side.id));
  return { body, existing: true, replacement: { supersedes, leaves, agrees } };
}

/** Served claims that the approval would take out of service: outranked by it, or at the other end of its edges. */
function displaced(
  { fold }: Desk,
  { body }: ReadableEvent,
  others: readonly Side[],
): readonly Pick<Side, 'id' | 'served' | 'body'>[] {
  const aimedAt = (body.supersedes ?? []).flatMap((id) => {
    const target = eventView(fold, id);
    const isServed = target?.status === 'served' || target?.status === 'corroborates';
    return isServed && target.body !== null ? [{ id, served: true, body: target.body }] : [];
  });
  const outranked = others.filter((side) => side.served && !aimedAt.some(({ id }) => id === side.id));
  return [...aimedAt, ...outranked];
}

function requireNamed({ named }: Desk, reached: readonly Pick<Side, 'id' | 'served' | 'body'>[]): void {
  const known = new Set([...named.supersedes, ...named.leave]);
  const unnamed = reached.filter(({ id }) => !known.has(id));
  if (unnamed.length > 0) throw reachesServed(unnamed);
}

export function nothingToSign(message: string, hint: string): Refusal {
  return new Refusal({
    code: 'NOTHING_TO_SIGN',
    message: `${message}; nothing was signed`,
    ...(hint === '' ? {} : { hint }),
    exit: 6,
  });
}
