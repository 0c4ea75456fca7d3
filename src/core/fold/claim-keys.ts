/** Keys of claims: when two claims of a subject say the same. Source: docs/fold.md R4.1. */
import { sha256Hex } from '../../crypto/hash.ts';
import type { Body } from '../event.ts';
import { grown } from '../kept.ts';
import type { ClaimKeys, KeyNumber } from './node.ts';

/** Of a subject without claims. */
export function emptyKeys(): ClaimKeys {
  return { count: 0, few: noKeys, many: null, byDigest: null };
}

const noKeys: readonly KeyNumber[] = [];

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
  const known = knownNumber(keys, place, part.text);
  if (known !== undefined) return known;
  const { byDigest } = keys;
  const number = byDigest === null ? nextNumber(keys) : numberOfDigest(keys, byDigest, digestOf(part));
  remember(keys, { place, text: part.text, number });
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

/** In the order of `KeyNumber.place`. */
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

/** Keys up to which a subject has no map: at more of them looking through all would be slower. */
const fewKeysMax = 8;

function knownNumber({ few, many }: ClaimKeys, place: number, text: string): number | undefined {
  for (const key of few) if (key.place === place && key.text === text) return key.number;
  return many?.[place]?.get(text);
}

function remember(keys: ClaimKeys, key: KeyNumber): void {
  if (keys.few.length < fewKeysMax) {
    keys.few = grown(keys.few, key);
    return;
  }
  keys.many ??= [];
  const numbers = keys.many[key.place] ?? new Map<string, number>();
  keys.many[key.place] = numbers.set(key.text, key.number);
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

function digestsOf({ few, many }: ClaimKeys): Map<string, number> {
  const rest = (many ?? []).flatMap((numbers, place) =>
    [...(numbers ?? [])].map(([text, number]): KeyNumber => ({ place, text, number })),
  );
  return new Map([...few, ...rest].map(({ place, text, number }) => [digestAt(place, text), number]));
}

function digestAt(place: number, text: string): string {
  const { polarity, sort } = places[place] ?? { polarity: 'exists', sort: 'v' };
  return digestOf({ polarity, sort, text });
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
