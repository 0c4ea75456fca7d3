/** Keys of claims: when two claims of a subject say the same. Source: docs/fold.md R4.1. */
import { sha256Hex, sha256Units } from '../../crypto/hash.ts';
import type { Body } from '../event.ts';
import { grown } from '../kept.ts';
import type { ClaimKeys, SubjectEvents } from './node.ts';
import type { Bodies } from './said.ts';

/** Of a subject without claims. */
export function emptyKeys(): ClaimKeys {
  return { marks: noMarks, byMark: null, byDigest: null };
}

const noMarks: readonly string[] = [];

/**
 * Key of a claim as R4.1 writes it: JCS of the class's sort of claims, polarity, and the value, or else the content with
 * runs of ASCII white space folded and trimmed. Two claims say the same iff their keys are equal. Pure.
 */
export function claimKey(claims: 'fact' | 'rule' | null, body: Body): string {
  return keyText(claims, comparablePart(body));
}

/**
 * Number of the key of a claim within its subject: equal iff the keys are equal. The class is the same for a whole
 * subject, so it is left out.
 */
export function keyNumber(keys: ClaimKeys, body: Body): number {
  const part = comparablePart(body);
  const mark = markOf(part);
  const known = keys.byMark === null ? keys.marks.indexOf(mark) : keys.byMark.get(mark);
  if (known !== undefined && known !== -1) return known;
  const digest = keys.byDigest === null ? null : digestOf(part);
  const number = (digest === null ? undefined : keys.byDigest?.get(digest)) ?? keys.marks.length;
  remember(keys, number, mark);
  if (digest !== null) keys.byDigest?.set(digest, number);
  return number;
}

/** The same for a purged claim, of which the digest of a skeleton is all that is left. */
export function purgedKeyNumber(bodies: Bodies, subject: SubjectEvents, digest: string): number {
  const { keys } = subject;
  keys.byDigest ??= digestsOf(bodies, subject);
  const number = keys.byDigest.get(digest) ?? keys.marks.length;
  if (number === keys.marks.length) remember(keys, number, unknownMark);
  keys.byDigest.set(digest, number);
  return number;
}

interface ComparablePart {
  readonly polarity: 'absent' | 'exists';
  readonly sort: 'v' | 'c';
  readonly text: string;
}

function keyText(claims: 'fact' | 'rule' | null, { polarity, sort, text }: ComparablePart): string {
  // An array of strings has only one JSON form, so this is JCS.
  return JSON.stringify([claims, polarity, sort, text]);
}

/** Keys up to which a subject has no map: at more of them looking through all would be slower. */
const fewKeysMax = 8;

/** Of a key whose text is gone. No other mark is empty. */
const unknownMark = '';

/** Equal iff what is compared is. A digest, so that no text stays because of its key. */
function markOf({ polarity, sort, text }: ComparablePart): string {
  return sha256Units(`${polarity} ${sort} ${text}`);
}

function remember(keys: ClaimKeys, number: number, mark: string): void {
  if (number < keys.marks.length) (keys.marks as string[])[number] = mark;
  else keys.marks = grown(keys.marks, mark);
  if (keys.byMark !== null) keys.byMark.set(mark, number);
  else if (keys.marks.length > fewKeysMax) keys.byMark = new Map(keys.marks.map((one, at) => [one, at]));
}

/** By the digest that a skeleton has of it, the number of every claim that has one. */
function digestsOf(bodies: Bodies, { events }: SubjectEvents): Map<string, number> {
  const numbered = events.filter(({ key, words }) => key !== -1 && words !== -1);
  return new Map(numbered.map(({ key, words }) => [digestOf(comparablePart(bodies.read(words))), key]));
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
