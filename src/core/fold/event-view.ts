/** Reading single events and lists of them out of a fold. */
import type { Fold } from './fold-index.ts';
import { isStanding } from './levels.ts';
import { carriersOf, isClaim, isSeen, type Carrier, type EventNode } from './node.ts';
import { byCodeUnits, byPlace } from './order.ts';
import { isStale } from './staleness.ts';
import type { EventLine, EventView, SubjectRecord } from './state.ts';

/** Everything about one id; undefined when no usable line carries it and no signed skeleton speaks for it. */
export function eventView(fold: Fold, id: string): EventView | undefined {
  const node = fold.nodes.get(id);
  if (node === undefined || !isSeen(node)) return undefined;
  const { words, level, status, reason, place, purge, signers } = node;
  return {
    id,
    body: words === -1 ? null : fold.bodies.read(words),
    subject: node.subject || null,
    level,
    status,
    reason,
    by: node.by.map((from) => from.id).sort(byCodeUnits),
    lines: carriersOf(node)
      .map((carrier) => lineOf(node, carrier))
      .sort(byPlace),
    place: place === null ? null : { log: place.log, seq: place.seq },
    signers,
    purge,
    stale: purge === null && isClaim(node) && isStale(fold.observations, node),
  };
}

/** Sorted ids of the events of `subject`; '' asks for those whose subject cannot be read. Empty when there is none. */
export function eventsOf(fold: Fold, subject: string): readonly string[] {
  return (fold.subjects.get(subject)?.events ?? []).map(({ id }) => id).sort(byCodeUnits);
}

/** Every subject that an event names, sorted by code units. */
export function subjectsOf(fold: Fold): readonly string[] {
  return [...fold.subjects.keys()].filter((name) => name !== '').sort(byCodeUnits);
}

/** Full ids of events held that start with `prefix`, sorted, at most `max` of them. */
export function idsWithPrefix(fold: Fold, prefix: string, max: number): readonly string[] {
  const ids: string[] = [];
  for (const node of fold.nodes.values()) if (isSeen(node) && node.id.startsWith(prefix)) ids.push(node.id);
  return ids.sort(byCodeUnits).slice(0, max);
}

/** The records of a subject, one per scope that its events name; empty when there is none. */
export function recordsOf(fold: Fold, subject: string): readonly SubjectRecord[] {
  return fold.outcomes.get(subject)?.records ?? [];
}

/** Ids of the events that name an event, sorted: in their `supersedes`, and in their `basis`. Pure. */
export function namersOf(
  fold: Fold,
  id: string,
): { readonly supersedes: readonly string[]; readonly basis: readonly string[] } {
  const node = fold.nodes.get(id);
  const sorted = (nodes: readonly EventNode[] = []): readonly string[] =>
    nodes.map((from) => from.id).sort(byCodeUnits);
  return { supersedes: sorted(node?.namedBy), basis: sorted(node?.citedBy) };
}

function lineOf(node: EventNode, { log, seq, approval }: Carrier): EventLine {
  if (approval === null) return { log, seq, signer: null, verdict: null };
  const isRevoked = approval.verdict === 'ok' && !isStanding(node, approval);
  return { log, seq, signer: approval.auth.signer, verdict: isRevoked ? 'revoked' : approval.verdict };
}
