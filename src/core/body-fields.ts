/**
 * What each field of an event body may hold. Pure grammar checks, no clock and no Unicode tables: the verdict is the same
 * on every host for ever. Values come from the canonical parser, so control characters and lone surrogates are gone.
 * Source: docs/format.md, section 5.
 */
import type { JsonValue } from '../crypto/canonical.ts';
import { fitsUtf8 } from '../crypto/text.ts';
import { isHex, isId, isSlug, isSortedIdList } from './id.ts';
import {
  basisIdsMax,
  contentBytesMax,
  homeBytesMax,
  hookBytesMax,
  nameBytesMax,
  namesMax,
  sessionBytesMax,
  supersedesIdsMax,
  textBytesMax,
  valueBytesMax,
} from './limits.ts';

/** Grammar of one field: the check, and what a person reads after "must be". */
export interface FieldGrammar {
  readonly check: (value: JsonValue) => boolean;
  readonly says: string;
}

/** `<class>/<entity>` of the subject grammar. Pure. */
export function isSubject(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    /^[a-z][a-z0-9-]{0,30}\/[a-z0-9][a-z0-9._:/-]{0,119}$/.test(value) &&
    !value.includes('//') &&
    !value.includes('..') &&
    !value.endsWith('/')
  );
}

/** `YYYY-MM-DDTHH:MM:SS.mmmZ` naming an instant of the proleptic Gregorian calendar; no leap second. Pure. */
export function isInstant(value: unknown): value is string {
  if (typeof value !== 'string' || !instantShape.test(value)) return false;
  const day = Number(value.slice(8, 10));
  return day <= 28 || day <= daysInMonth(Number(value.slice(0, 4)), Number(value.slice(5, 7)));
}

/** A home: `[HOST:]file:PATH[#ANCHOR]`, `https://…` or `git:REPO:PATH@REF`. Pure. */
export function isHome(value: JsonValue): value is string {
  if (!isBounded(value, homeBytesMax)) return false;
  if (value.startsWith('https://')) return isHttpsHome(value);
  if (value.startsWith('git:')) return isGitHome(value);
  const match = /^(?:[a-z][a-z0-9-]{0,30}:)?file:([^#]+)(?:#.+)?$/.exec(value);
  return match !== null && !hasDotSegments(match[1] as string);
}

/** Grammar of the reason code in a `deny`: an entity, so that no refused text fits in. Pure. */
export function isReasonCode(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && isSubject(`deny/${value}`);
}

/** Every field of a body and what it may hold, in the order of docs/format.md. */
export const fieldGrammars: Readonly<Record<string, FieldGrammar>> = {
  mesh: { check: isId, says: '64 hex digits' },
  host: { check: isSlug, says: 'a name like alpha-2 (a-z, 0-9, -, at most 31)' },
  session: bounded(sessionBytesMax),
  at: { check: isInstant, says: 'a real instant like 2026-07-27T15:04:05.000Z' },
  nonce: { check: (value) => typeof value === 'string' && isHex(value, 32), says: '32 hex digits' },
  kind: { check: (value) => typeof value === 'string', says: 'a word' },
  subject: { check: isSubject, says: 'class/entity, as in endpoint/api (lower case, no //, .. or final /)' },
  content: bounded(contentBytesMax),
  value: bounded(valueBytesMax),
  polarity: oneOf('absent'),
  hook: { check: isHook, says: `one line of 1 to ${hookBytesMax} bytes` },
  text: bounded(textBytesMax),
  home: { check: isHome, says: '[HOST:]file:PATH[#ANCHOR], https://… or git:REPO:PATH@REF' },
  digest: {
    check: (value) => typeof value === 'string' && /^(?:missing|sha256:[0-9a-f]{64})$/.test(value),
    says: 'sha256: and 64 hex digits, or missing',
  },
  basis: idList(basisIdsMax),
  supersedes: idList(supersedesIdsMax),
  proposes: oneOf('assert', 'lesson'),
  names: { check: isNameList, says: `1 to ${namesMax} sorted, different names of at most ${nameBytesMax} bytes` },
  scope: { check: isSlug, says: 'a name like my-project (a-z, 0-9, -, at most 31)' },
  audience: {
    check: (value) => isSlug(value) && value !== 'operator',
    says: 'a name like reviewers; operator is written by leaving it out',
  },
  confidence: oneOf('stated', 'verified'),
  lineage: oneOf('untrusted'),
};

function bounded(bytesMax: number): FieldGrammar {
  return { check: (value) => isBounded(value, bytesMax), says: `text of 1 to ${bytesMax} bytes` };
}

function oneOf(...words: readonly string[]): FieldGrammar {
  const check: FieldGrammar['check'] = (value) => typeof value === 'string' && words.includes(value);
  return { check, says: `${words.join(' or ')}, or left out` };
}

function idList(idsMax: number): FieldGrammar {
  const check: FieldGrammar['check'] = (value) =>
    Array.isArray(value) && value.length <= idsMax && isSortedIdList(value);
  return { check, says: `1 to ${idsMax} sorted, different ids of 64 hex digits` };
}

function isBounded(value: JsonValue | undefined, bytesMax: number): value is string {
  return typeof value === 'string' && value !== '' && fitsUtf8(value, bytesMax);
}

/** One line for any reader: also without the line ends that are not control characters. */
function isHook(value: JsonValue): boolean {
  return isBounded(value, hookBytesMax) && !/[\u0085\u2028\u2029]/.test(value);
}

function isNameList(value: JsonValue): boolean {
  if (!Array.isArray(value) || value.length === 0 || value.length > namesMax) return false;
  const names: readonly JsonValue[] = value;
  return names.every((name, index) => {
    const previous = index === 0 ? '' : names[index - 1];
    return isBounded(name, nameBytesMax) && typeof previous === 'string' && previous < name;
  });
}

const instantShape = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

function daysInMonth(year: number, month: number): number {
  if (month === 2) return isLeapYear(year) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

/** Lower-case host, optional port, then printable ASCII: no user, no password, no white space. */
function isHttpsHome(home: string): boolean {
  return /^https:\/\/[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[1-9][0-9]{0,4})?(?:[/?#][!-~]*)?$/.test(home);
}

/** REF is what follows the last `@`, PATH what follows the last `:` before it, REPO the rest. No part is an option. */
function isGitHome(home: string): boolean {
  const match = /^git:([^ -][^ ]*):([^:/-][^:]*)@([A-Za-z0-9_][A-Za-z0-9._/-]*)$/.exec(home);
  if (match === null) return false;
  const [, , path = '', ref = ''] = match;
  return !hasDotSegments(path) && !ref.includes('..') && !ref.includes('//') && !ref.endsWith('/');
}

/** A path with `.` or `..` segments names one place in several ways, or leaves its root. */
function hasDotSegments(path: string): boolean {
  return /(?:^|\/)\.\.?(?:\/|$)/.test(path);
}
