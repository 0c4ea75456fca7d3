/**
 * R4: what is served of the claims that are live in one (subject, scope), and who parks. Source: docs/fold.md R4.
 */
import { levelRanks, rankOf } from './levels.ts';
import { isClaim, takesPart, type EventNode } from './node.ts';
import { byPlace } from './order.ts';
import type { RecordStatus } from './state.ts';
import type { Withdrawals } from './withdrawals.ts';

/** The judgement on one (subject, scope). */
export interface Judgement {
  readonly status: RecordStatus;
  readonly served: EventNode | null;
  /** Live claims that say what is served, without the served one. */
  readonly agreeing: readonly EventNode[];
  /** Live claims that are parked, by reason; no group is empty. */
  readonly parked: readonly Park[];
}

/** Claims that park for one reason. */
export interface Park {
  readonly reason: ParkReason;
  readonly claims: readonly EventNode[];
}

export type ParkReason =
  | 'PARKED'
  | 'SIGNERS_DISAGREE'
  | 'UNSIGNED_CONTRADICTS_SIGNED'
  | 'UNSIGNED_OVER_SIGNED'
  | 'WITHDRAWN_KEY';

/** Judges the live claims among `members`: the events of scope `scope` and of `*`. Edges must be settled. Pure. */
export function judgeClaims(members: readonly EventNode[], scope: string, withdrawals: Withdrawals): Judgement {
  const above: EventNode[] = [];
  const alone: EventNode[] = [];
  const compared: EventNode[] = [];
  for (const node of members) {
    if (!isLive(node)) continue;
    if (node.overSigned) above.push(node);
    else if (withdrawals.parksAlone(node, scope)) alone.push(node);
    else compared.push(node);
  }
  const besides = [...parkOf('UNSIGNED_OVER_SIGNED', above), ...parkOf('WITHDRAWN_KEY', alone)];
  const { key, reason } = winningKey(compared);
  if (key === null) {
    const parked = [...besides, ...parkOf(reason, compared)];
    return { status: parked.length > 0 ? 'parked' : 'none', served: null, agreeing: [], parked };
  }
  const agreeing = compared.filter((node) => node.key === key);
  const served = representative(agreeing);
  const rest = agreeing.length === compared.length ? [] : compared.filter((node) => node.key !== key);
  return {
    status: rest.length === 0 ? 'served' : 'contested',
    served,
    agreeing: agreeing.length === 1 ? [] : agreeing.filter((node) => node !== served),
    parked: [...besides, ...parkOf(reason, rest)],
  };
}

function parkOf(reason: ParkReason, claims: readonly EventNode[]): readonly Park[] {
  return claims.length === 0 ? [] : [{ reason, claims }];
}

/** A claim that takes part and that neither an edge in effect nor a purge withdraws. Pure. */
export function isLive(node: EventNode): boolean {
  return node.by.length === 0 && isClaim(node) && takesPart(node) && node.purge === null;
}

interface Winner {
  /** null: no key is served. */
  readonly key: number | null;
  /** Why the claims of other keys park. */
  readonly reason: ParkReason;
}

/** The key that is served: the only one, or the only one at the highest level above unsigned. */
function winningKey(compared: readonly EventNode[]): Winner {
  const first = compared[0];
  if (first === undefined) return { key: null, reason: 'PARKED' };
  if (compared.every(({ key }) => key === first.key)) return { key: first.key, reason: 'PARKED' };
  const top = compared.reduce((highest, node) => Math.max(highest, rankOf(node)), levelRanks.unsigned);
  if (top === levelRanks.unsigned) return { key: null, reason: 'PARKED' };
  const [leader, ...others] = new Set(compared.filter((node) => rankOf(node) === top).map(({ key }) => key));
  if (leader === undefined || others.length > 0) return { key: null, reason: 'SIGNERS_DISAGREE' };
  return { key: leader, reason: 'UNSIGNED_CONTRADICTS_SIGNED' };
}

/** Highest level, then log name, then seq: never a matter of hook, home or text. */
function representative(agreeing: readonly EventNode[]): EventNode | null {
  let best: EventNode | null = null;
  for (const node of agreeing) if (best === null || isBefore(node, best)) best = node;
  return best;
}

function isBefore(a: EventNode, b: EventNode): boolean {
  const difference = rankOf(b) - rankOf(a);
  if (difference !== 0 || a.place === null || b.place === null) return difference < 0;
  return byPlace(a.place, b.place) < 0;
}
