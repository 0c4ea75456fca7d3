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
export function parseCanonical(text: string, limits: { readonly depthMax: number }): Result<JsonValue, CanonicalFault> {
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    return fault('NOT_JSON');
  }
  const found = findFault(value, limits.depthMax, mayHideCharacters(text), '');
  if (found !== undefined) return fault(found);
  if (JSON.stringify(value) === text) return ok(value);
  // A raw lone surrogate fails the round trip, because JSON.stringify escapes it; only its name is looked up here.
  return fault(text.isWellFormed() ? 'NOT_CANONICAL' : 'NOT_WELL_FORMED');
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

function fault(code: CanonicalFault): Result<never, CanonicalFault> {
  return refuse(code, faultSentences[code]);
}

/**
 * A string can hold a control character or a lone surrogate only where the text has one of these escapes, so a text
 * without them needs no look into its strings. A text that spells them otherwise fails the round trip anyway.
 */
function mayHideCharacters(text: string): boolean {
  return text.includes('\\') && /\\[bfnrtu]/.test(text);
}

/** The first fault of a value. `look`: whether strings need looking into; `member`: the key it stands under. */
function findFault(value: JsonValue, depthLeft: number, look: boolean, member: string): CanonicalFault | undefined {
  if (typeof value === 'string') return look ? stringFault(value, multilineMembers.has(member)) : undefined;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? undefined : 'NUMBER_NOT_SAFE';
  if (typeof value === 'boolean' || value === null) return undefined;
  if (depthLeft === 0) return 'TOO_DEEP';
  return Array.isArray(value)
    ? arrayFault(value, depthLeft - 1, look)
    : objectFault(value as JsonObject, depthLeft - 1, look);
}

function arrayFault(values: readonly JsonValue[], depthLeft: number, look: boolean): CanonicalFault | undefined {
  for (const value of values) {
    const found = findFault(value, depthLeft, look, '');
    if (found !== undefined) return found;
  }
  return undefined;
}

function objectFault(object: JsonObject, depthLeft: number, look: boolean): CanonicalFault | undefined {
  let previous = '';
  // Only own keys exist: the object comes from JSON.parse. for-in is several times faster than Object.keys here.
  for (const key in object) {
    if (isForbiddenKey(key)) return 'KEY_FORBIDDEN';
    // Never equal: of a repeated name JSON.parse keeps one, and the round trip finds it.
    if (previous > key) return 'NOT_CANONICAL';
    const found =
      (look ? stringFault(key, false) : undefined) ?? findFault(object[key] as JsonValue, depthLeft, look, key);
    if (found !== undefined) return found;
    previous = key;
  }
  return undefined;
}

function stringFault(text: string, multiline: boolean): CanonicalFault | undefined {
  if (!text.isWellFormed()) return 'NOT_WELL_FORMED';
  const controls = multiline ? /[\u0000-\u0008\u000b-\u001f]/ : /[\u0000-\u001f]/;
  return controls.test(text) ? 'CONTROL_CHARACTER' : undefined;
}

/**
 * Names that reach a prototype, and integer-like keys, which engines move to the front of an object, so that their
 * order in the bytes could not be checked.
 */
function isForbiddenKey(key: string): boolean {
  const first = key.charCodeAt(0);
  if (first > digit9 && first !== underscore && first !== lowerC && first !== lowerP) return false;
  return /^(?:0|[1-9][0-9]*|__proto__|constructor|prototype)$/.test(key);
}

const [digit9, underscore, lowerC, lowerP] = [0x39, 0x5f, 0x63, 0x70];
