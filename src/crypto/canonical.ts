/**
 * Canonical JSON (RFC 8785) and the strict parser: there is exactly one byte form per object, and the parser verifies it
 * before it hands the object out. Source: docs/format.md, section 1.
 */
import canonicalize from 'canonicalize';
import { assert, ok, refuse, type Result } from './result.ts';

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** Why a text is not one of ours. docs/errors.md explains each. */
export type CanonicalFault =
  | 'NOT_JSON'
  | 'NOT_CANONICAL'
  | 'NOT_WELL_FORMED'
  | 'CONTROL_CHARACTER'
  | 'NUMBER_NOT_SAFE'
  | 'KEY_FORBIDDEN'
  | 'TOO_DEEP';

/** Members whose strings may hold newline and tab; every other string holds no control character at all. */
const multilineMembers: ReadonlySet<string> = new Set(['content', 'text']);
const forbiddenKeys: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** JCS text of a plain value. The value must be made of JSON types; anything else is a programmer error. Pure. */
export function canonicalJson(value: JsonValue): string {
  const text = canonicalize(value);
  assert(text !== undefined, 'only JSON values have a canonical form');
  return text;
}

/**
 * Parses a text that must be canonical: sorted keys without integer-like or forbidden ones, well-formed strings, no
 * control characters (newline and tab in `content` and `text` excepted), safe integers only, nesting at most
 * `depthMax`, and byte for byte what a writer would write. Pure. Source: docs/format.md F1.
 */
export function parseCanonical(
  text: string,
  limits: { readonly depthMax: number },
): Result<JsonValue, CanonicalFault> {
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    return refuse('NOT_JSON', 'not JSON');
  }
  // Without a backslash no string can hold a control character or an escaped surrogate: both are always escaped.
  const plain = !text.includes('\\') && text.isWellFormed();
  const fault = findFault(value, limits.depthMax, plain, '');
  if (fault !== undefined) return refuse(fault, faultSentences[fault]);
  if (!text.isWellFormed()) return refuse('NOT_WELL_FORMED', faultSentences.NOT_WELL_FORMED);
  if (JSON.stringify(value) !== text) return refuse('NOT_CANONICAL', faultSentences.NOT_CANONICAL);
  return ok(value);
}

/** True for an object that is not an array. Pure. */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const faultSentences: Readonly<Record<CanonicalFault, string>> = {
  NOT_JSON: 'not JSON',
  NOT_CANONICAL: 'not in canonical form (unsorted or duplicate keys, white space or another spelling)',
  NOT_WELL_FORMED: 'a string holds a lone surrogate',
  CONTROL_CHARACTER: 'a string holds a control character',
  NUMBER_NOT_SAFE: 'a number is not a safe integer',
  KEY_FORBIDDEN: 'a key is forbidden (__proto__, constructor, prototype or integer-like)',
  TOO_DEEP: 'nested too deeply',
};

function findFault(
  value: JsonValue,
  depthLeft: number,
  plain: boolean,
  member: string,
): CanonicalFault | undefined {
  switch (typeof value) {
    case 'string':
      return plain ? undefined : stringFault(value, multilineMembers.has(member));
    case 'number':
      return Number.isSafeInteger(value) ? undefined : 'NUMBER_NOT_SAFE';
    case 'boolean':
      return undefined;
    default:
  }
  if (value === null) return undefined;
  if (depthLeft === 0) return 'TOO_DEEP';
  return Array.isArray(value)
    ? arrayFault(value, depthLeft - 1, plain)
    : objectFault(value as JsonObject, depthLeft - 1, plain);
}

function arrayFault(values: readonly JsonValue[], depthLeft: number, plain: boolean): CanonicalFault | undefined {
  for (const value of values) {
    const fault = findFault(value, depthLeft, plain, '');
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function objectFault(object: JsonObject, depthLeft: number, plain: boolean): CanonicalFault | undefined {
  let previous: string | undefined;
  for (const key of Object.keys(object)) {
    const fault = keyFault(key, previous, plain) ?? findFault(object[key] as JsonValue, depthLeft, plain, key);
    if (fault !== undefined) return fault;
    previous = key;
  }
  return undefined;
}

function keyFault(key: string, previous: string | undefined, plain: boolean): CanonicalFault | undefined {
  if (forbiddenKeys.has(key) || isIntegerLike(key)) return 'KEY_FORBIDDEN';
  if (previous !== undefined && previous >= key) return 'NOT_CANONICAL';
  return plain ? undefined : stringFault(key, false);
}

function stringFault(text: string, multiline: boolean): CanonicalFault | undefined {
  if (!text.isWellFormed()) return 'NOT_WELL_FORMED';
  const controls = multiline ? /[\u0000-\u0008\u000b-\u001f]/ : /[\u0000-\u001f]/;
  return controls.test(text) ? 'CONTROL_CHARACTER' : undefined;
}

/** Keys that engines move to the front of an object: their order could not be told from the bytes. */
function isIntegerLike(key: string): boolean {
  const first = key.charCodeAt(0);
  return first >= 0x30 && first <= 0x39 && /^(?:0|[1-9][0-9]*)$/.test(key);
}
