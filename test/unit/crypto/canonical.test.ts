import { describe, expect, test } from 'vitest';
import { canonicalJson, isJsonObject, parseCanonical, type JsonValue } from '../../../src/crypto/canonical.ts';
import { decodeUtf8 } from '../../../src/crypto/text.ts';
import { readOutsideBytes, readOutsideJson, withOutsideVectors } from '../../lib/outside-vectors.ts';
import { readVectors } from '../../lib/vectors.ts';

const limits = { depthMax: 6 };

function codeOf(text: string): string {
  const parsed = parseCanonical(text, limits);
  return parsed.ok ? 'ok' : parsed.code;
}

describe('parseCanonical', () => {
  test('says which rule a text breaks', () => {
    const cases: readonly (readonly [string, string])[] = [
      ['{', 'NOT_JSON'],
      ['', 'NOT_JSON'],
      ['\ufeff{}', 'NOT_JSON'],
      ['{"a":"\ud800"}', 'NOT_WELL_FORMED'],
      ['{"a":"\\ud800"}', 'NOT_WELL_FORMED'],
      ['{"\\udc00":1}', 'NOT_WELL_FORMED'],
      ['{"a":"\\n"}', 'CONTROL_CHARACTER'],
      ['{"content":"\\r"}', 'CONTROL_CHARACTER'],
      ['{"a":1.5}', 'NUMBER_NOT_SAFE'],
      ['{"a":9007199254740992}', 'NUMBER_NOT_SAFE'],
      ['{"a":1e400}', 'NUMBER_NOT_SAFE'],
      ['{"a":-0}', 'NOT_CANONICAL'],
      ['{"a":1.0}', 'NOT_CANONICAL'],
      ['{"__proto__":1}', 'KEY_FORBIDDEN'],
      ['{"7":1}', 'KEY_FORBIDDEN'],
      ['{"b":1,"a":1}', 'NOT_CANONICAL'],
      ['[[[[[[[]]]]]]]', 'TOO_DEEP'],
      ['{"a":1}', 'ok'],
    ];
    for (const [text, code] of cases) expect([text, codeOf(text)]).toEqual([text, code]);
  });

  test('a hundred thousand levels are refused, not a crash', () => {
    for (const open of ['[', '{"a":']) {
      const close = open === '[' ? ']' : '}';
      expect(codeOf(open.repeat(100_000) + '1' + close.repeat(100_000))).toBe('TOO_DEEP');
      expect(codeOf(open.repeat(100_000))).toBe('NOT_JSON');
    }
  });

  test('a hostile number of keys costs no more than sorting them', () => {
    const keys = Array.from({ length: 50_000 }, (_, index) => `k${String(index).padStart(6, '0')}`);
    expect(codeOf(`{${keys.map((key) => `"${key}":1`).join(',')}}`)).toBe('ok');
  });

  test('refusing leaves no trace on any prototype', () => {
    codeOf('{"__proto__":{"admin":true}}');
    codeOf('{"constructor":{"prototype":{"admin":true}}}');
    expect('admin' in {}).toBe(false);
  });

  test('depth is counted per caller: 0 takes scalars only', () => {
    expect(parseCanonical('"x"', { depthMax: 0 }).ok).toBe(true);
    expect(parseCanonical('[]', { depthMax: 0 }).ok).toBe(false);
  });

  test('no detail quotes the text', () => {
    const quoted = readVectors('canonical').filter(({ text = '' }) => {
      const parsed = parseCanonical(text, limits);
      return !parsed.ok && text.length > 4 && parsed.detail.includes(text);
    });
    expect(quoted).toEqual([]);
  });
});

/** The slow, obvious form of the rules: what the parser must agree with. */
function isCanonicalByDefinition(text: string): boolean {
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
    if (canonicalJson(value) !== text) return false;
  } catch {
    return false;
  }
  return obeys(value, 6, '');
}

function obeys(value: JsonValue, depth: number, member: string): boolean {
  if (typeof value === 'number') return Number.isSafeInteger(value);
  if (typeof value === 'string')
    return !/[\u0000-\u001f]/.test(/^(?:content|text)$/.test(member) ? value.replaceAll(/[\n\t]/g, '') : value);
  if (typeof value !== 'object' || value === null) return true;
  if (depth === 0) return false;
  if (!isJsonObject(value)) return value.every((item) => obeys(item, depth - 1, ''));
  return Object.entries(value).every(
    ([key, item]) =>
      !/^(?:__proto__|constructor|prototype|0|[1-9]\d*)$/.test(key) &&
      obeys(key, depth, '') &&
      obeys(item, depth - 1, key),
  );
}

test('the fast parser agrees with the definition on every vector and on every text that is one character away', () => {
  const alphabet = ['"', '\\', '0', 'e', ' ', ',', '\u0001', '\ud800'];
  let compared = 0;
  for (const row of readVectors('canonical')) {
    const text = row.text ?? '';
    if (text.length > 120) continue;
    const near = [text];
    for (let at = 0; at <= text.length; at += 1) {
      near.push(text.slice(0, at) + text.slice(at + 1));
      for (const letter of alphabet) near.push(text.slice(0, at) + letter + text.slice(at));
    }
    for (const candidate of near) {
      if (isCanonicalByDefinition(candidate) !== (codeOf(candidate) === 'ok'))
        expect(candidate).toBe('a text on which both agree');
      compared += 1;
    }
  }
  expect(compared).toBeGreaterThan(20_000);
});

withOutsideVectors('jcs', (folder) => {
  describe('outside vectors jcs', () => {
    interface Adversarial {
      readonly id: string;
      readonly input_b64: string | null;
      readonly right: 'reject' | 'canonical';
      readonly canonical?: string;
      readonly canonical_hex?: string | null;
    }
    /** Inputs that the file only describes. */
    const builtInputs: Readonly<Record<string, string>> = {
      'deep-100000': '['.repeat(100_000) + ']'.repeat(100_000),
      'deep-obj-20000': `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`,
      'long-string-1m': JSON.stringify('a'.repeat(1_000_000)),
      'many-keys-5000': `{${Array.from({ length: 5_000 }, (_, index) => `"k${index}":0`).join(',')}}`,
    };
    const rows = readOutsideJson(folder, 'adversarial.json') as readonly Adversarial[];

    test.each(rows.map((row) => [row.id, row] as const))('adversarial: %s', (_, row) => {
      const text = row.input_b64 === null ? builtInputs[row.id] : decodeUtf8(Buffer.from(row.input_b64, 'base64'));
      if (row.input_b64 === null) expect(text).toBeDefined();
      const accepted = text !== undefined && parseCanonical(text, limits).ok;
      if (row.right === 'reject' || text === undefined) expect(accepted).toBe(false);
      else expect(accepted).toBe(isCanonicalByDefinition(text));
      if (row.right === 'canonical' && typeof row.canonical_hex === 'string' && text !== undefined) {
        const written = Buffer.from(canonicalJson(JSON.parse(text) as JsonValue)).toString('hex');
        expect(written).toBe(row.canonical_hex);
      }
    });

    test.each(['arrays', 'french', 'structures', 'unicode', 'values', 'weird'])('RFC 8785 example: %s', (name) => {
      const input = JSON.parse(
        Buffer.from(readOutsideBytes(folder, `input/${name}.json`)).toString('utf8'),
      ) as JsonValue;
      const hex = Buffer.from(readOutsideBytes(folder, `outhex/${name}.txt`))
        .toString('ascii')
        .replaceAll(/\s/g, '');
      expect(Buffer.from(canonicalJson(input)).toString('hex')).toBe(hex);
    });

    test('RFC 8785 numbers are written as the RFC says', () => {
      const view = new DataView(new ArrayBuffer(8));
      const lines = Buffer.from(readOutsideBytes(folder, 'es6-numbers-10000.txt')).toString('ascii').trim().split('\n');
      expect(lines.length).toBe(10_000);
      for (const line of lines) {
        const [bits = '', text] = line.split(',');
        view.setBigUint64(0, BigInt(`0x${bits}`));
        expect(canonicalJson(view.getFloat64(0))).toBe(text);
      }
    });
  });
});

withOutsideVectors('jsontestsuite', (folder) => {
  describe('outside vectors jsontestsuite', () => {
    interface Row {
      readonly file: string;
      readonly suite: string;
      readonly signed_event: string;
    }
    const rows = readOutsideJson(folder, 'index.json') as readonly Row[];

    test.each(rows.map((row) => [row.file, row] as const))('%s', (_, row) => {
      const bytes = readOutsideBytes(folder, row.file);
      const text = decodeUtf8(bytes);
      const accepted = text !== undefined && parseCanonical(text, limits).ok;
      if (row.signed_event.startsWith('refuse')) expect(accepted).toBe(false);
      // What the suite accepts as JSON is accepted here exactly when its bytes are canonical.
      else expect(accepted).toBe(text !== undefined && isCanonicalByDefinition(text));
    });
  });
});

describe('canonicalJson', () => {
  test('refuses what has no canonical form as a programmer error', () => {
    expect(() => canonicalJson('\ud800')).toThrow('Lone surrogate');
    expect(() => canonicalJson(Number.NaN)).toThrow('NaN');
  });
});
