/**
 * What each field of an event body may hold. Pure grammar checks, no clock and no Unicode tables: the verdict is the same
 * on every host for ever. Source: docs/format.md, section 5.
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

/** Says whether a value is right for its field. Pure. */
export type FieldCheck = (value: JsonValue) => boolean;

/** A string of 1 to `bytesMax` UTF-8 bytes. The canonical parser has refused control characters already. */
export function bounded(bytesMax: number): FieldCheck {
  return (value) => isBounded(value, bytesMax);
}

/** Exactly one of these words. */
export function oneOf(...words: readonly string[]): FieldCheck {
  return (value) => typeof value === 'string' && words.includes(value);
}

/** 1 to `idsMax` ids, strictly ascending. */
export function idList(idsMax: number): FieldCheck {
  return (value) => Array.isArray(value) && value.length <= idsMax && isSortedIdList(value);
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

const instantShape =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

/** A home: `[HOST:]file:PATH[#ANCHOR]`, `https://…` or `git:REPO:PATH@REF`. Pure. */
export function isHome(value: JsonValue): boolean {
  if (!isBounded(value, homeBytesMax)) return false;
  const home = value;
  if (home.startsWith('https://')) return isHttpsHome(home);
  if (home.startsWith('git:')) return isGitHome(home);
  const match = /^(?:[a-z][a-z0-9-]{0,30}:)?file:([^#]+)(?:#.+)?$/.exec(home);
  return match !== null && !hasDotSegments(match[1] as string);
}

/** One line for any reader: also without the line ends that are not control characters. */
const isHook: FieldCheck = (value) => isBounded(value, hookBytesMax) && !/[\u0085\u2028\u2029]/.test(value);

/** Every field of a body and what it may hold. */
export const fieldChecks: Readonly<Record<string, FieldCheck>> = {
  mesh: isId,
  host: isSlug,
  session: bounded(sessionBytesMax),
  at: isInstant,
  nonce: (value) => typeof value === 'string' && isHex(value, 32),
  kind: (value) => typeof value === 'string',
  subject: isSubject,
  content: bounded(contentBytesMax),
  value: bounded(valueBytesMax),
  polarity: oneOf('absent'),
  hook: isHook,
  text: bounded(textBytesMax),
  home: isHome,
  digest: (value) => typeof value === 'string' && /^(?:missing|sha256:[0-9a-f]{64})$/.test(value),
  basis: idList(basisIdsMax),
  supersedes: idList(supersedesIdsMax),
  proposes: oneOf('assert', 'lesson'),
  names: isNameList,
  scope: isSlug,
  // `operator` is written by absence.
  audience: (value) => isSlug(value) && value !== 'operator',
  confidence: oneOf('stated', 'verified'),
  lineage: oneOf('untrusted'),
};

/** Grammar of the reason code in a `deny`: an entity, so that no refused text fits in. Pure. */
export function isReasonCode(value: JsonValue): boolean {
  return typeof value === 'string' && isSubject(`deny/${value}`);
}

function isBounded(value: JsonValue, bytesMax: number): value is string {
  return typeof value === 'string' && value !== '' && fitsUtf8(value, bytesMax);
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return isLeapYear(year) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

function isNameList(value: JsonValue): boolean {
  if (!Array.isArray(value) || value.length === 0 || value.length > namesMax) return false;
  const isName = bounded(nameBytesMax);
  return value.every((name, index) => isName(name) && (index === 0 || value[index - 1] < name));
}

/** Lower-case host, optional port, then printable ASCII: no user, no password, no white space. */
function isHttpsHome(home: string): boolean {
  return /^https:\/\/[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[1-9][0-9]{0,4})?(?:[/?#][!-~]*)?$/.test(home);
}

/** REF is what follows the last `@`, PATH what follows the last `:` before it, REPO the rest. */
function isGitHome(home: string): boolean {
  const match = /^git:([^\s-][^\s]*):([^:/][^:]*)@([A-Za-z0-9_][A-Za-z0-9._/-]*)$/.exec(home);
  if (match === null) return false;
  const [, , path = '', ref = ''] = match;
  return !hasDotSegments(path) && !ref.includes('..') && !ref.includes('//') && !ref.endsWith('/');
}

/** A path with `.` or `..` segments names a place in several ways, or leaves its root. */
function hasDotSegments(path: string): boolean {
  return path.split('/').some((segment) => segment === '..' || segment === '.');
}
