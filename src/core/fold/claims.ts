/**
 * R4: what is served of the claims that are live in one (subject, scope), and who parks. Source: docs/fold.md R4.
 */
import { levelRanks, rankOf } from './levels.ts';
import { isClaim, takesPart, type EventNode } from './node.ts';
import { byPlace } from './order.ts';
import type { RecordStatus } from './state.ts';
import type { WideClaims } from './wide-claims.ts';
import type { Withdrawals } from './withdrawals.ts';

/** The judgement on one (subject, scope). Lists hold the claims that were gone through: beside `wide` those of the scope. */
export interface Judgement {
  readonly status: RecordStatus;
  readonly served: EventNode | null;
  /** Live claims that say what is served, without the served one. */
  readonly agreeing: readonly EventNode[];
  /** Live claims that are parked, by reason; no group is empty. */
  readonly parked: readonly Park[];
  /** Why compared claims park whose key is not served. */
  readonly reason: ParkReason;
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

/** Live claims by what is done with them before any key is compared. */
export interface LiveClaims {
  /** R3.2: they aim above themselves. */
  readonly above: readonly EventNode[];
  /** R4.3: they say again what a signer took away. */
  readonly alone: readonly EventNode[];
  readonly compared: readonly EventNode[];
}

/** The live claims among `members`, as scope `scope` sees them. Edges must be settled. Pure. */
export function sortClaims(members: readonly EventNode[], scope: string, withdrawals: Withdrawals): LiveClaims {
  const above: EventNode[] = [];
  const alone: EventNode[] = [];
  const compared: EventNode[] = [];
  for (const node of members) {
    if (!isLive(node)) continue;
    if (node.overSigned) above.push(node);
    else if (withdrawals.parksAlone(node, scope)) alone.push(node);
    else compared.push(node);
  }
  return { above, alone, compared };
}

/**
 * Judges the live claims of a scope. `wide`: those of scope `*`, which are compared with them and not gone through; null
 * where there are none besides. Pure.
 */
export function judgeClaims({ above, alone, compared }: LiveClaims, wide: WideClaims | null): Judgement {
  const besides = [...parkOf('UNSIGNED_OVER_SIGNED', above), ...parkOf('WITHDRAWN_KEY', alone)];
  const summary = summarizeKeys(compared, wide?.summary ?? null);
  const { key, reason } = winningKey(summary);
  if (key === null) {
    const parked = [...besides, ...parkOf(reason, compared)];
    const status = parked.length > 0 || (wide?.live.count ?? 0) > 0 ? 'parked' : 'none';
    return { status, served: null, agreeing: [], parked, reason };
  }
  const agreeing = compared.filter((node) => node.key === key);
  const served = representative(agreeing, wide?.withKey(key)?.best ?? null);
  const rest = agreeing.length === compared.length ? [] : compared.filter((node) => node.key !== key);
  return {
    status: summary?.several === true ? 'contested' : 'served',
    served,
    agreeing: agreeing.length === 1 && served === agreeing[0] ? [] : agreeing.filter((node) => node !== served),
    parked: [...besides, ...parkOf(reason, rest)],
    reason,
  };
}

function parkOf(reason: ParkReason, claims: readonly EventNode[]): readonly Park[] {
  return claims.length === 0 ? [] : [{ reason, claims }];
}

/** A claim that takes part and that neither an edge in effect nor a purge withdraws. Pure. */
export function isLive(node: EventNode): boolean {
  return node.by.length === 0 && isClaim(node) && takesPart(node) && node.purge === null;
}

/** What the choice of a key looks at: enough of some compared claims to go on with others. */
export interface KeySummary {
  readonly key: number;
  /** Some claim has another key. */
  readonly several: boolean;
  /** The highest rank, and a key at it. */
  readonly top: number;
  readonly topKey: number;
  /** Some claim of that rank has another key. */
  readonly topSeveral: boolean;
}

/** The summary of these compared claims and of those that `before` speaks of; null: there are none. Pure. */
export function summarizeKeys(compared: readonly EventNode[], before: KeySummary | null): KeySummary | null {
  let summary = before;
  for (const node of compared) {
    const [rank, { key }] = [rankOf(node), node];
    if (summary === null) summary = { key, several: false, top: rank, topKey: key, topSeveral: false };
    else if (isNews(summary, rank, key)) summary = withKey(summary, rank, key);
  }
  return summary;
}

function isNews({ key: first, several, top, topKey, topSeveral }: KeySummary, rank: number, key: number): boolean {
  return (!several && key !== first) || rank > top || (rank === top && !topSeveral && key !== topKey);
}

function withKey(summary: KeySummary, rank: number, key: number): KeySummary {
  const several = summary.several || key !== summary.key;
  if (rank > summary.top) return { ...summary, several, top: rank, topKey: key, topSeveral: false };
  return { ...summary, several, topSeveral: summary.topSeveral || (rank === summary.top && key !== summary.topKey) };
}

interface Winner {
  /** null: no key is served. */
  readonly key: number | null;
  /** Why the claims of other keys park. */
  readonly reason: ParkReason;
}

/** The key that is served: the only one, or the only one at the highest level above unsigned. */
function winningKey(summary: KeySummary | null): Winner {
  if (summary === null) return { key: null, reason: 'PARKED' };
  if (!summary.several) return { key: summary.key, reason: 'PARKED' };
  if (summary.top === levelRanks.unsigned) return { key: null, reason: 'PARKED' };
  if (summary.topSeveral) return { key: null, reason: 'SIGNERS_DISAGREE' };
  return { key: summary.topKey, reason: 'UNSIGNED_CONTRADICTS_SIGNED' };
}

/** Highest level, then log name, then seq: never a matter of hook, home or text. `known`: the best of others. Pure. */
export function representative(agreeing: readonly EventNode[], known: EventNode | null = null): EventNode | null {
  let best = known;
  for (const node of agreeing) if (best === null || isBefore(node, best)) best = node;
  return best;
}

function isBefore(a: EventNode, b: EventNode): boolean {
  const difference = rankOf(b) - rankOf(a);
  if (difference !== 0 || a.place === null || b.place === null) return difference < 0;
  return byPlace(a.place, b.place) < 0;
}
