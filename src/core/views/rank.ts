/** R6: which claims are resident, and in which order. Source: docs/fold.md R6. */
import { byCodeUnits } from '../fold/order.ts';

/** What rank looks at. No clock, no text: neither a date nor a wording can move a claim. */
export interface Rankable {
  readonly subject: string;
  readonly scope: string;
  /** Higher first: by the claim's level and by pins. */
  readonly tier: number;
  /** The log that the claim stands in, and where. */
  readonly host: string;
  readonly seq: number;
  /** How often the subject was corrected. */
  readonly corrections: number;
  /** Other hosts that say the same. */
  readonly corroborating: number;
}

/**
 * Best first. Tiers one after the other; within a tier hosts take turns by name, so that none can crowd out another;
 * within a host by corrections, then corroborating hosts, then newest. Total: ties end at subject and scope. Pure.
 */
export function rankEntries<T extends Rankable>(entries: readonly T[]): readonly T[] {
  const tiers = Map.groupBy(entries, ({ tier }) => tier);
  return [...tiers].sort(([a], [b]) => b - a).flatMap(([, members]) => dealByHost(members));
}

function dealByHost<T extends Rankable>(entries: readonly T[]): readonly T[] {
  const queues = [...Map.groupBy(entries, ({ host }) => host)].sort(([a], [b]) => byCodeUnits(a, b));
  return dealRoundRobin(queues.map(([, queue]) => [...queue].sort(withinHost)));
}

function withinHost(a: Rankable, b: Rankable): number {
  return (
    b.corrections - a.corrections ||
    b.corroborating - a.corroborating ||
    b.seq - a.seq ||
    byCodeUnits(a.subject, b.subject) ||
    byCodeUnits(a.scope, b.scope)
  );
}

/** One from each queue in turn, until all are empty. Pure. */
export function dealRoundRobin<T>(queues: readonly (readonly T[])[]): readonly T[] {
  const dealt: T[] = [];
  let left = queues.filter((queue) => queue.length > 0);
  for (let turn = 0; left.length > 0; turn += 1) {
    for (const queue of left) dealt.push(queue[turn] as T);
    left = left.filter((queue) => queue.length > turn + 1);
  }
  return dealt;
}
