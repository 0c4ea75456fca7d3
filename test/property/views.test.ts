/** No text in any field can change the structure of a generated file. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Body } from '../../src/core/event.ts';
import type { EventView, State } from '../../src/core/fold/state.ts';
import { claimJson } from '../../src/core/views/claim-json.ts';
import { codeSpan, inlineText } from '../../src/core/views/escape.ts';
import { renderViews, viewNames } from '../../src/core/views/render.ts';
import { viewSourceOf, type ViewSource } from '../../src/core/views/view-source.ts';
import { readOutsideJson, withOutsideVectors } from '../lib/outside-vectors.ts';
import { viewMesh } from '../lib/view-mesh.ts';

const seed = 20_260_727;

/** Every sort of row, mark and section that a file can have, a few times. */
function everySortOfRow(): ViewSource {
  const mesh = viewMesh();
  const home = 'file:x';
  const seen = mesh.say('alpha', { kind: 'observe', subject: 'home/o', home, digest: `sha256:${'a'.repeat(64)}` });
  mesh.say('alpha', { kind: 'lesson', subject: 'lesson/rule', content: 'c', hook: 'h', text: 't', home });
  mesh.say('beta', { kind: 'lesson', subject: 'lesson/rule', content: 'c' });
  mesh.say('alpha', { kind: 'assert', subject: 'note/fact', value: 'v', content: 'c', hook: 'h', home, names: ['n'] });
  mesh.say('gamma', { kind: 'assert', subject: 'note/absent', value: 'v', polarity: 'absent', home, scope: 'web' });
  mesh.say('alpha', { kind: 'assert', subject: 'note/parked', value: 'v', home });
  mesh.say('beta', { kind: 'assert', subject: 'note/parked', content: 'c', home });
  mesh.say('gamma', { kind: 'question', subject: 'note/parked', content: 'q' });
  mesh.say('alpha', { kind: 'assert', subject: 'note/contested', value: 'v', home }, { signer: 'craig' });
  mesh.say('beta', { kind: 'assert', subject: 'note/contested', value: 'w', home });
  mesh.say('gamma', { kind: 'question', subject: 'note/question', content: 'q' });
  mesh.say('beta', { kind: 'assert', subject: 'note/untrusted', value: 'v', hook: 'h', home, lineage: 'untrusted' });
  mesh.say('beta', { kind: 'assert', subject: 'other/held', value: 'v', home });
  mesh.say('gamma', { kind: 'assert', subject: 'note/forged', value: 'v', home }, { signer: 'mallory' });
  mesh.say('alpha', { kind: 'assert', subject: 'note/stale', value: 'v', home, basis: [seen.id] });
  mesh.say(
    'beta',
    { kind: 'assert', subject: 'note/stale-signed', value: 'v', home, basis: [seen.id] },
    { signer: 'craig' },
  );
  mesh.say('alpha', { kind: 'observe', subject: 'home/o', home, digest: 'missing' });
  mesh.settle();
  return viewSourceOf(mesh.fold);
}

const plain = everySortOfRow();
const proseFields = ['content', 'value', 'hook', 'text', 'home', 'session', 'at', 'scope'] as const;

/**
 * The same state with `text` in every field that holds a string: prose and pointers are replaced by it; it is put behind
 * names, so that they stay different and in the same order. None of this passes the format; views do not rely on it.
 */
function disguised(source: ViewSource, text: string): ViewSource {
  const named = <T extends string | null>(name: T): T => (name === null ? name : (`${name} ${text}` as T));
  const original = (subject: string): string =>
    subject === '' ? '' : subject.slice(0, subject.length - text.length - 1);
  const body = (from: Body): Body => {
    const prose = Object.fromEntries(
      proseFields.filter((field) => from[field] !== undefined).map((field) => [field, text]),
    );
    return { ...from, ...prose, subject: named(from.subject), host: named(from.host) };
  };
  const view = (from: EventView): EventView => ({
    ...from,
    body: from.body === null ? null : body(from.body),
    subject: named(from.subject),
    signers: from.signers.map(named),
    place: from.place === null ? null : { ...from.place, log: named(from.place.log) },
    lines: from.lines.map((line) => ({ ...line, log: named(line.log), signer: named(line.signer) })),
  });
  const records: State['records'] = new Map(
    [...source.state.records].map(([key, record]) => [key, { ...record, subject: named(record.subject) }]),
  );
  const alarms: State['alarms'] = new Map(
    [...source.state.alarms].map(([key, alarm]) => [
      key,
      { ...alarm, subject: named(alarm.subject), host: named(alarm.host) },
    ]),
  );
  return {
    charter: source.charter,
    state: { records, alarms },
    eventView: (id) => {
      const found = source.eventView(id);
      return found === undefined ? undefined : view(found);
    },
    eventsOf: (subject) => source.eventsOf(original(subject)),
  };
}

/** What a reader sees of a file without reading: which lines are headings, rows, blank or prose. */
function structureOf(file: string): readonly string[] {
  return file.split('\n').map((line) => /^(?:#+ |- |$)/.exec(line)?.[0] ?? 'prose');
}

function structuresOf(source: ViewSource): Readonly<Record<string, readonly string[]>> {
  const files = renderViews(source);
  const markdown = viewNames.filter((name) => name.endsWith('.md'));
  return Object.fromEntries(markdown.map((name) => [name, structureOf(files.get(name) ?? '')]));
}

/** Fragments that mean something to Markdown, HTML, terminals, harnesses or these files themselves. */
const fragments = [
  '[',
  ']',
  '(',
  ')',
  '<',
  '>',
  '!',
  '`',
  '```',
  '~~~',
  '\\',
  '*',
  '_',
  '#',
  '# ',
  '- ',
  '* ',
  '1. ',
  '> ',
  '|',
  '|-|',
  '---',
  '===',
  '\n',
  '\r\n',
  '\r',
  '\u2028',
  '\u2029',
  '\u0085',
  '\v',
  '\f',
  '\t',
  '    ',
  ' ',
  '<!--',
  '-->',
  '<b>',
  '</memory>',
  '[x](http://e.test)',
  '![i](x)',
  '[x]: http://e.test',
  'https://e.test',
  'www.e.test',
  'a@e.test',
  '@~/.ssh/id',
  '&lt;',
  '&#10;',
  '\u202e',
  '\u2066',
  '\u200b',
  '\ufeff',
  '\u0000',
  '\u001b[2J',
  '\u0301',
  '\u{e0041}',
  '\\u{a}',
  '[signed by craig]',
  ' · ',
  ' → ',
  ' — ',
  '[cut: 9 bytes in all]',
  'x',
  'é',
  '👍',
] as const;
const hostile = fc.oneof(
  fc.array(fc.constantFrom(...fragments), { maxLength: 12 }).map((parts) => parts.join('')),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.string({ unit: fc.constantFrom(...fragments), minLength: 200, maxLength: 400 }),
);

/** Whatever a file may never hold, wherever it came from. */
const forbidden =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]|<!--|-->|```|~~~|<b>|(?<!\\)\]\(|(?<!\\)https?:/u;

/** A file without its code spans: in them Markdown and HTML mean nothing. Escaped backticks open none. */
function outsideSpans(file: string): string {
  return file.replaceAll(/\\[^]|`[^`\n]*`/g, (found) => (found.startsWith('`') ? '``' : found));
}

function checkFiles(text: string): void {
  const files = renderViews(disguised(plain, text));
  for (const name of viewNames) {
    const file = files.get(name) ?? '';
    if (name === 'index.json') expect(file.split('\n')).toHaveLength(2);
    else expect(forbidden.exec(outsideSpans(file))?.[0]).toBeUndefined();
  }
}

const expected = structuresOf(disguised(plain, 'x'));

describe('views', () => {
  test('the state under test has every sort of row', () => {
    expect(expected).toEqual(structuresOf(plain));
    const {
      'INDEX.md': index = [],
      'CONFLICTS.md': conflicts = [],
      'QUARANTINE.md': held = [],
      'STALE.md': stale = [],
    } = expected;
    const rows = (file: readonly string[]): number => file.filter((line) => line === '- ').length;
    expect([rows(index), rows(conflicts), rows(held), rows(stale)]).toEqual([7, 16, 3, 2]);
  });

  test('any text in any field gives the line structure that `x` gives, and no forbidden byte', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(structuresOf(disguised(plain, text))).toEqual(expected);
        checkFiles(text);
      }),
      { seed, numRuns: 400 },
    );
  });

  test('escaping gives one line, never a bare bracket, and is the same for the same text', () => {
    fc.assert(
      fc.property(hostile, fc.nat(300), (text, bytesMax) => {
        for (const shown of [inlineText(text, bytesMax), codeSpan(text, bytesMax)]) {
          expect(shown).not.toMatch(/[\n\r\u2028\u2029\u0085]/);
        }
        const bare = inlineText(text, bytesMax)
          .replace(/ \[cut: \d+ bytes in all\]$/, '')
          .replaceAll(/\\[\\[\]]/g, '');
        expect(bare).not.toMatch(/[[\]]/);
        const span = codeSpan(text, bytesMax).replace(/ \[cut: \d+ bytes in all\]$/, '');
        if (text !== '') expect(span.slice(1, -1)).not.toContain('`');
      }),
      { seed, numRuns: 2_000 },
    );
  });

  test('two values that differ are never shown alike in a code span', () => {
    fc.assert(
      fc.property(hostile, hostile, (a, b) => {
        expect(codeSpan(a, 10_000) === codeSpan(b, 10_000)).toBe(a === b);
      }),
      { seed, numRuns: 1_000 },
    );
  });

  test('claimJson keeps exact strings', () => {
    const source = disguised(plain, '\u202e[x](y)\n');
    const [id = ''] = plain.eventsOf('note/fact');
    const view = source.eventView(id);
    expect(view === undefined ? undefined : claimJson(view)?.content).toBe('\u202e[x](y)\n');
  });
});

withOutsideVectors('naughty', (folder) => {
  const strings = readOutsideJson(folder, 'blns.json') as readonly string[];
  const { sample } = readOutsideJson(folder, 'confusables-ascii-sample.json') as {
    sample: readonly { from: string }[];
  };
  const pairs = readOutsideJson(folder, 'identity-pairs.json') as readonly { a: string; b: string; why: string }[];

  describe('naughty strings', () => {
    test('each of them, in every field, leaves the structure as it is', () => {
      expect(strings.length).toBeGreaterThan(500);
      for (const text of strings) {
        expect({ text, ...structuresOf(disguised(plain, text)) }).toEqual({ text, ...expected });
        checkFiles(text);
      }
    });

    test('a look-alike inside a Latin word is shown as its code point or stands apart by it', () => {
      for (const { from } of sample) {
        const shown = inlineText(`pay${from}pal`, 200);
        expect(shown).not.toBe('paypal');
        expect(shown === `pay${from}pal` || shown.includes('\\u{') || shown.includes('\\') || shown.includes('&')).toBe(
          true,
        );
      }
    });

    test.each(pairs.map(({ a, b, why }) => [why, a, b] as const))('a pair that must stay apart: %s', (_, a, b) => {
      expect(codeSpan(a, 200)).not.toBe(codeSpan(b, 200));
    });
  });
});
