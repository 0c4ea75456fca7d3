/**
 * R4: what is served of the claims that are live in one (subject, scope), and who parks. Source: docs/fold.md R4.
 */
import type { Body } from '../event.ts';
import { levelRanks, rankOf } from './levels.ts';
import { isClaim, takesPart, type EventNode } from './node.ts';
import { byPlace } from './order.ts';
import type { EventReason, RecordStatus } from './state.ts';
import type { Withdrawals } from './withdrawals.ts';

/** The judgement on one (subject, scope). */
export interface Judgement {
  readonly status: RecordStatus;
  readonly served: EventNode | null;
  /** Live claims that say what is served, without the served one. */
  readonly agreeing: readonly EventNode[];
  /** Live claims that are parked, with the reason. */
  readonly parked: ReadonlyMap<EventNode, EventReason>;
}

/**
 * The comparable part of a claim, as JCS: the class's sort of claims, polarity, and the value, or else the content with
 * runs of ASCII white space folded and trimmed. Two claims say the same iff their keys are equal. Pure.
 */
export function claimKey(claims: 'fact' | 'rule' | null, body: Body): string {
  const polarity = body.polarity ?? 'exists';
  // An array of strings has only one JSON form, so this is JCS.
  if (body.value !== undefined) return JSON.stringify([claims, polarity, 'v', body.value]);
  return JSON.stringify([claims, polarity, 'c', foldSpace(body.content ?? '')]);
}

/** Judges the live claims among `members`: the events of scope `scope` and of `*`. Edges must be settled. Pure. */
export function judgeClaims(members: readonly EventNode[], scope: string, withdrawals: Withdrawals): Judgement {
  const parked = new Map<EventNode, EventReason>();
  const compared: EventNode[] = [];
  for (const node of members) {
    if (!isLive(node)) continue;
    if (node.overSigned) parked.set(node, 'UNSIGNED_OVER_SIGNED');
    else if (withdrawals.parksAlone(node, scope)) parked.set(node, 'WITHDRAWN_KEY');
    else compared.push(node);
  }
  const winner = winningKey(compared);
  if (winner.key === null) {
    for (const node of compared) parked.set(node, winner.reason);
    return { status: parked.size > 0 ? 'parked' : 'none', served: null, agreeing: [], parked };
  }
  const agreeing = compared.filter(({ key }) => key === winner.key);
  const served = representative(agreeing);
  for (const node of compared) if (node.key !== winner.key) parked.set(node, winner.reason);
  const status = agreeing.length === compared.length ? 'served' : 'contested';
  return { status, served, agreeing: agreeing.filter((node) => node !== served), parked };
}

/** A claim that takes part and that no edge in effect withdraws. Pure. */
export function isLive(node: EventNode): boolean {
  return node.by.length === 0 && isClaim(node) && takesPart(node);
}

interface Winner {
  /** null: no key is served. */
  readonly key: number | null;
  /** Why the claims of other keys park. */
  readonly reason: EventReason;
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

function foldSpace(text: string): string {
  let [from, upto] = [0, text.length];
  while (from < upto && isSpace(text.charCodeAt(from))) from += 1;
  while (upto > from && isSpace(text.charCodeAt(upto - 1))) upto -= 1;
  const trimmed = text.slice(from, upto);
  return /[\t\n\v\f\r]| {2}/.test(trimmed) ? trimmed.replaceAll(/[\t\n\v\f\r ]+/g, ' ') : trimmed;
}

function isSpace(unit: number): boolean {
  return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
}
