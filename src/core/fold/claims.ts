/**
 * R4: what is served of the claims that are live in one (subject, scope), and who parks. Source: docs/fold.md R4.
 */
import { sha256Hex } from '../../crypto/hash.ts';
import type { Body } from '../event.ts';
import { levelRanks, rankOf } from './levels.ts';
import { isClaim, takesPart, type ClaimKeys, type EventNode } from './node.ts';
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

/**
 * Key of a claim as R4.1 writes it: JCS of the class's sort of claims, polarity, and the value, or else the content with
 * runs of ASCII white space folded and trimmed. Two claims say the same iff their keys are equal. Pure.
 */
export function claimKey(claims: 'fact' | 'rule' | null, body: Body): string {
  return keyText(claims, comparablePart(body));
}

/**
 * Number of the key of a claim within its subject: equal iff the keys are equal. The class is the same for a whole
 * subject, so it is left out, and the text is looked up as it stands in the body: no copy of it is made or kept.
 */
export function keyNumber(keys: ClaimKeys, body: Body): number {
  const part = comparablePart(body);
  const place = (part.polarity === 'absent' ? 2 : 0) + (part.sort === 'c' ? 1 : 0);
  const numbers = keys.numbers[place] ?? new Map<string, number>();
  keys.numbers[place] = numbers;
  const known = numbers.get(part.text);
  if (known !== undefined) return known;
  const { byDigest } = keys;
  const number = byDigest === null ? nextNumber(keys) : numberOfDigest(keys, byDigest, digestOf(part));
  numbers.set(part.text, number);
  return number;
}

/** The same for a purged claim, of which the digest of a skeleton is all that is left. */
export function purgedKeyNumber(keys: ClaimKeys, digest: string): number {
  keys.byDigest ??= digestsOf(keys);
  return numberOfDigest(keys, keys.byDigest, digest);
}

interface ComparablePart {
  readonly polarity: 'absent' | 'exists';
  readonly sort: 'v' | 'c';
  readonly text: string;
}

/** In the order in which `ClaimKeys.numbers` has them. */
const places: readonly Omit<ComparablePart, 'text'>[] = [
  { polarity: 'exists', sort: 'v' },
  { polarity: 'exists', sort: 'c' },
  { polarity: 'absent', sort: 'v' },
  { polarity: 'absent', sort: 'c' },
];

function keyText(claims: 'fact' | 'rule' | null, { polarity, sort, text }: ComparablePart): string {
  // An array of strings has only one JSON form, so this is JCS.
  return JSON.stringify([claims, polarity, sort, text]);
}

function nextNumber(keys: ClaimKeys): number {
  keys.count += 1;
  return keys.count - 1;
}

function numberOfDigest(keys: ClaimKeys, byDigest: Map<string, number>, digest: string): number {
  const number = byDigest.get(digest) ?? nextNumber(keys);
  byDigest.set(digest, number);
  return number;
}

function digestsOf({ numbers }: ClaimKeys): Map<string, number> {
  const known = places.flatMap((place, i) =>
    [...(numbers[i] ?? [])].map(([text, number]): [string, number] => [digestOf({ ...place, text }), number]),
  );
  return new Map(known);
}

/** As skeletons have it: without the class, which is the same for the whole subject. */
function digestOf(part: ComparablePart): string {
  return sha256Hex(keyText(null, part));
}

function comparablePart(body: Body): ComparablePart {
  const polarity = body.polarity ?? 'exists';
  if (body.value !== undefined) return { polarity, sort: 'v', text: body.value };
  return { polarity, sort: 'c', text: foldSpace(body.content ?? '') };
}

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
