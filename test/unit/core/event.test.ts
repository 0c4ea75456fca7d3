import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { commonFields, fieldTable, type KindFields } from '../../../src/core/body-table.ts';
import {
  audienceOf,
  classOf,
  eventId,
  isClaim,
  makeBody,
  parseBody,
  scopeOf,
  type BodyInput,
} from '../../../src/core/event.ts';
import { bodyBytesMax } from '../../../src/core/limits.ts';
import { canonicalJson, type JsonObject, type JsonValue } from '../../../src/crypto/canonical.ts';
import { sha256Hex } from '../../../src/crypto/hash.ts';
import { readOutsideJson, withOutsideVectors } from '../../lib/outside-vectors.ts';
import { bodyOf, mesh } from '../../lib/events.ts';

const stamp = { mesh, host: 'alpha', session: 's', at: '2026-01-02T03:04:05.678Z', nonce: '0'.repeat(32) };

function codeOf(input: unknown): string {
  const made = makeBody(input as BodyInput, stamp);
  return made.ok ? 'ok' : made.code;
}

describe('makeBody', () => {
  test('writes NFC, sorts lists, drops repeats, and leaves defaults and empty lists out', () => {
    const made = bodyOf({
      kind: 'assert',
      subject: 'endpoint/api',
      content: 'cafe\u0301',
      home: 'file:a',
      names: ['b', 'a', 'b', 'cafe\u0301', 'caf\u00e9'],
      basis: [],
      scope: '*',
      audience: 'operator',
    });
    expect(made).toMatchObject({ content: 'caf\u00e9', names: ['a', 'b', 'caf\u00e9'] });
    expect(Object.keys(made)).not.toContain('basis');
    expect(Object.keys(made)).not.toContain('scope');
    expect(Object.keys(made)).not.toContain('audience');
  });

  test('the words of the defaults are left out too', () => {
    const input = {
      kind: 'assert',
      subject: 'endpoint/api',
      value: '1',
      home: 'file:a',
      polarity: 'exists',
      confidence: 'inferred',
      lineage: 'trusted',
    };
    const made = makeBody(input as unknown as BodyInput, stamp);
    expect(made.ok && Object.keys(made.value)).not.toEqual(expect.arrayContaining(['polarity']));
    expect(made.ok && canonicalJson(made.value as unknown as JsonValue)).not.toMatch(/exists|inferred|trusted/);
  });

  test('E13: both forms of an accented text are one event', () => {
    const one = bodyOf({ kind: 'lesson', subject: 'lesson/cafe', content: 'café con acento', names: ['café'] });
    const two = bodyOf({
      kind: 'lesson',
      subject: 'lesson/cafe',
      content: 'cafe\u0301 con acento',
      names: ['cafe\u0301'],
    });
    expect(eventId(two)).toBe(eventId(one));
  });

  test('host, mesh, time and nonce come from the process, whatever the input says', () => {
    const spoofed = {
      kind: 'pin',
      subject: 'note/x',
      host: 'beta',
      mesh: 'f'.repeat(64),
      at: '2082-01-01T00:00:00.000Z',
      nonce: 'f'.repeat(32),
    };
    const made = makeBody(spoofed as unknown as BodyInput, stamp);
    expect(made.ok && made.value).toMatchObject(stamp);
  });

  test('refuses with the field and what it must be', () => {
    const made = makeBody({ kind: 'lesson', subject: 'Lesson/x', content: 'x' }, stamp);
    expect(made).toMatchObject({ ok: false, code: 'FIELD_VALUE' });
    if (!made.ok)
      expect(made.detail).toBe('subject must be class/entity, as in endpoint/api (lower case, no //, .. or final /)');
  });

  test('input from outside that is not text is refused, not stringified', () => {
    const base = { kind: 'lesson', subject: 'lesson/x', content: 'x' };
    for (const bad of [
      { content: 5 },
      { content: null },
      { content: { a: 1 } },
      { names: [1] },
      { names: [['a']] },
      { hook: true },
    ]) {
      expect([bad, codeOf({ ...base, ...bad })]).toEqual([bad, 'BODY_SHAPE']);
    }
    expect(codeOf({ ...base, content: 'a\ud800' })).toBe('BODY_SHAPE');
    expect(codeOf({ ...base, content: 'a\u0000' })).toBe('BODY_SHAPE');
    expect(codeOf({ ...base, hook: 'a\nb' })).toBe('BODY_SHAPE');
    expect(codeOf({ ...base, color: 'red' })).toBe('FIELD_FORBIDDEN');
    expect(codeOf({ ...base, '7': 'x' })).toBe('BODY_SHAPE');
  });

  test('__proto__ from a file is refused and changes nothing', () => {
    const input = JSON.parse('{"kind":"pin","subject":"note/x","__proto__":"x"}') as unknown;
    expect(codeOf(input)).toBe('BODY_SHAPE');
    const nested = JSON.parse('{"kind":"pin","subject":"note/x","__proto__":{"scope":"x"}}') as unknown;
    expect(codeOf(nested)).toBe('BODY_SHAPE');
  });

  test('an absolute file home without a host is refused, with a host it stands', () => {
    const home = (text: string): string =>
      codeOf({ kind: 'observe', subject: 'home/x', home: text, digest: 'missing' });
    expect(home('file:/etc/hosts')).toBe('FIELD_VALUE');
    expect(home('alpha:file:/etc/hosts')).toBe('ok');
    expect(home('file:docs/a.md')).toBe('ok');
  });

  test('a body that could never be approved in one line is refused at once', () => {
    const lesson = (size: number): string =>
      codeOf({ kind: 'lesson', subject: 'lesson/x', content: '"'.repeat(4_000), text: 'x'.repeat(size) });
    expect(lesson(bodyBytesMax - 8_000 - 400)).toBe('ok');
    expect(lesson(bodyBytesMax - 8_000)).toBe('BODY_TOO_LONG');
  });
});

describe('parseBody', () => {
  test('no name of Object.prototype counts as a field, a kind or a row', () => {
    const body = bodyOf({ kind: 'pin', subject: 'note/x' }) as unknown as JsonObject;
    for (const name of ['toString', 'valueOf', 'hasOwnProperty']) {
      expect(parseBody({ ...body, [name]: 'x' })).toMatchObject({ ok: false, code: 'FIELD_FORBIDDEN' });
      expect(parseBody({ ...body, kind: name })).toMatchObject({ ok: false, code: 'KIND_UNKNOWN' });
      expect(parseBody({ ...body, kind: 'propose', proposes: name })).toMatchObject({ ok: false, code: 'FIELD_VALUE' });
    }
    expect(parseBody({ ...body, kind: 'propose', proposes: { toString: 1 } })).toMatchObject({ ok: false });
    expect(parseBody({ ...body, kind: 'propose', proposes: ['assert'] })).toMatchObject({ ok: false });
  });

  test('a hostile field name is not quoted', () => {
    const body = bodyOf({ kind: 'pin', subject: 'note/x' }) as unknown as JsonObject;
    const parsed = parseBody({ ...body, '\u001b[2J': 'x' });
    expect(parsed.ok ? '' : parsed.detail).not.toContain('\u001b');
  });
});

test('the id is sha256 of the canonical form, whatever the order of members', () => {
  const body = bodyOf({ kind: 'lesson', subject: 'lesson/x', content: 'x' });
  const reversed = Object.fromEntries(Object.entries(body).reverse()) as unknown as typeof body;
  expect(eventId(reversed)).toBe(eventId(body));
  expect(eventId(body)).toBe(sha256Hex(canonicalJson(body as unknown as JsonValue)));
});

test('class, scope, audience and claim are read with their defaults', () => {
  expect(classOf('endpoint/a/b')).toBe('endpoint');
  expect([scopeOf({}), scopeOf({ scope: 'x' })]).toEqual(['*', 'x']);
  expect([audienceOf({}), audienceOf({ audience: 'x' })]).toEqual(['operator', 'x']);
  expect([isClaim('assert'), isClaim('lesson'), isClaim('decision'), isClaim('propose')]).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

describe('the field table', () => {
  /** Rows of the table in docs/format.md: field, required by, allowed for. */
  const document = readFileSync(new URL('../../../docs/format.md', import.meta.url), 'utf8');
  const rows = [...document.matchAll(/^\| `(\w+)` \|[^|]*\|([^|]*)\|([^|]*)\|$/gm)].map(
    ([, field, required = '', allowed = '']) => ({
      field,
      required: kindsIn(required),
      allowed: kindsIn(allowed),
    }),
  );

  function kindsIn(cell: string): readonly string[] {
    return cell
      .split(',')
      .map((word) => word.trim())
      .filter((word) => word !== '');
  }

  /** The document writes a propose as "the fields of the kind that it names", so its rows are left out here. */
  const tableRows = Object.entries(fieldTable).filter(([kind]) => !kind.startsWith('propose')) as readonly (readonly [
    string,
    KindFields,
  ])[];

  test('of the document has every field of the code, and no other', () => {
    const fields = new Set([
      ...commonFields.required,
      ...commonFields.optional,
      ...tableRows.flatMap(([, row]) => [...row.required, ...row.optional]),
      'proposes',
    ]);
    expect(new Set(rows.map((row) => row.field))).toEqual(fields);
  });

  test('of the document says for every kind what the code says', () => {
    for (const { field = '', required, allowed } of rows) {
      if (field === 'proposes') continue;
      const inCode = (part: 'required' | 'optional'): readonly string[] =>
        commonFields[part].includes(field)
          ? ['all']
          : tableRows.filter(([, row]) => row[part].includes(field)).map(([kind]) => kind);
      expect([field, [...required].sort(), [...allowed].sort()]).toEqual([
        field,
        [...inCode('required')].sort(),
        [...inCode('optional')].sort(),
      ]);
    }
  });

  test('gives a propose the fields of what it proposes', () => {
    for (const kind of ['assert', 'lesson'] as const) {
      expect(fieldTable[`propose ${kind}`]).toEqual({
        required: ['proposes', ...fieldTable[kind].required],
        optional: fieldTable[kind].optional,
      });
    }
  });
});

withOutsideVectors('naughty', (folder) => {
  describe('outside vectors naughty', () => {
    const strings = readOutsideJson(folder, 'blns.json') as readonly string[];

    test('a naughty string is kept byte for byte after NFC, or refused; never changed otherwise', () => {
      let [kept, refused] = [0, 0];
      for (const text of strings) {
        const made = makeBody({ kind: 'lesson', subject: 'lesson/naughty', content: text, names: [text] }, stamp);
        if (made.ok) {
          expect(made.value.content).toBe(text.normalize('NFC'));
          kept += 1;
        } else {
          expect(['BODY_SHAPE', 'FIELD_VALUE', 'FIELD_MISSING']).toContain(made.code);
          refused += 1;
        }
      }
      expect(kept).toBeGreaterThan(300);
      expect(refused).toBeGreaterThan(0);
    });

    test('no naughty string is a subject, host, scope or session unless it is plain', () => {
      for (const text of strings) {
        const asSubject = makeBody({ kind: 'pin', subject: `note/${text}` }, stamp);
        expect(asSubject.ok).toBe(/^[a-z0-9][a-z0-9._:/-]{0,119}$/.test(text) && !/\/\/|\.\.|\/$/.test(text));
        expect(makeBody({ kind: 'pin', subject: 'note/x', scope: text }, stamp).ok).toBe(
          /^(?:\*|[a-z][a-z0-9-]{0,30})$/.test(text),
        );
      }
    });

    test('look-alikes and normal forms: two names are equal only if their bytes are, after NFC', () => {
      interface Pair {
        readonly a: string;
        readonly b: string;
        readonly nfc_equal: boolean;
      }
      const pairs = readOutsideJson(folder, 'identity-pairs.json') as readonly Pair[];
      for (const { a, b, nfc_equal: equal } of pairs) {
        const [one, two] = [a, b].map((text) =>
          makeBody({ kind: 'lesson', subject: 'lesson/x', content: text }, stamp),
        );
        if (one?.ok === true && two?.ok === true)
          expect([a, b, eventId(one.value) === eventId(two.value)]).toEqual([a, b, equal]);
      }
      expect(pairs.length).toBeGreaterThan(10);
    });
  });
});
