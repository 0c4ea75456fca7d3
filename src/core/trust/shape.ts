/**
 * Checks of a parsed canonical value, small enough to be combined into one table per trust op. A check answers
 * undefined when the value is fine, else what is wrong with it, as the end of a sentence that starts with its place.
 */
import { isJsonObject, type JsonObject, type JsonValue } from '../../crypto/canonical.ts';
import { fitsUtf8 } from '../../crypto/text.ts';

export type Check = (value: JsonValue) => string | undefined;

/** A string that the pattern matches. */
export function pattern(expression: RegExp, what: string): Check {
  return (value) => (typeof value === 'string' && expression.test(value) ? undefined : `must be ${what}`);
}

/** A string for which `accepts` is true. */
export function textThat(accepts: (text: string) => boolean, what: string): Check {
  return (value) => (typeof value === 'string' && accepts(value) ? undefined : `must be ${what}`);
}

/** One of a few words. */
export function oneOf(...words: readonly string[]): Check {
  return textThat((text) => words.includes(text), words.join(' or '));
}

/** One line of text without control characters, at most `bytesMax` bytes of UTF-8; may be empty. */
export function oneLine(bytesMax: number): Check {
  return textThat(
    (text) => fitsUtf8(text, bytesMax) && !/[\u0000-\u001f\u007f]/.test(text),
    `one line of at most ${bytesMax} bytes`,
  );
}

/** A whole number from `min` on. */
export function integer(min: number): Check {
  return (value) => (typeof value === 'number' && value >= min ? undefined : `must be a whole number from ${min} on`);
}

/** Null, or what passes the check. */
export function nullOr(check: Check): Check {
  return (value) => (value === null ? undefined : check(value));
}

/** A list of objects that each pass `item`, sorted by a text member that no two of them share. */
export function listBy(member: string, item: Check, bounds: { readonly min: number; readonly max: number }): Check {
  return (value) => {
    if (!Array.isArray(value)) return 'must be a list';
    if (value.length < bounds.min || value.length > bounds.max)
      return `must hold ${bounds.min} to ${bounds.max} entries`;
    const entries = value as readonly JsonValue[];
    for (const [index, entry] of entries.entries()) {
      const fault = item(entry);
      if (fault !== undefined) return `entry ${index + 1} ${fault}`;
    }
    const names = entries.map((entry) => (entry as JsonObject)[member] as string);
    const sorted = names.every((name, index) => index === 0 || (names[index - 1] as string) < name);
    return sorted ? undefined : `must be sorted by ${member}, without repeats`;
  };
}

/** A sorted list of distinct strings, each of which passes `item`. */
export function sortedList(item: Check, bounds: { readonly min: number; readonly max: number }): Check {
  return (value) => {
    if (!Array.isArray(value)) return 'must be a list';
    if (value.length < bounds.min || value.length > bounds.max) {
      return `must hold ${bounds.min} to ${bounds.max} entries`;
    }
    const entries = value as readonly JsonValue[];
    for (const [index, entry] of entries.entries()) {
      const fault = item(entry);
      if (fault !== undefined) return `entry ${index + 1} ${fault}`;
      if (index > 0 && (entries[index - 1] as string) >= (entry as string)) return 'must be sorted, without repeats';
    }
    return undefined;
  };
}

/** An object with exactly these members, each of which passes its check. */
export function members(checks: Readonly<Record<string, Check>>): Check {
  return (value) => {
    if (!isJsonObject(value)) return 'must be an object';
    for (const name of Object.keys(value))
      if (!Object.hasOwn(checks, name)) return `has the unknown member ${name.slice(0, 40)}`;
    for (const [name, check] of Object.entries(checks)) {
      const member = value[name];
      const fault = member === undefined ? 'is missing' : check(member);
      if (fault !== undefined) return `${name} ${fault}`;
    }
    return undefined;
  };
}

/** An object of freely named members: at most `max` of them, every name and every value passing its check. */
export function namedEntries(name: Check, entry: Check, max: number): Check {
  return (value) => {
    if (!isJsonObject(value)) return 'must be an object';
    const names = Object.keys(value);
    if (names.length > max) return `must hold at most ${max} entries`;
    for (const key of names) {
      const fault = name(key) ?? entry(value[key] as JsonValue);
      if (fault !== undefined) return `entry ${key.slice(0, 40)} ${fault}`;
    }
    return undefined;
  };
}

/** The first check that passes decides; the complaint is that of the last. */
export function either(first: Check, second: Check): Check {
  return (value) => (first(value) === undefined ? undefined : second(value));
}
