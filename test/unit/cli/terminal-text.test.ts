import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { terminalJson, terminalText } from '../../../src/cli/terminal-text.ts';
import { isInvisible } from '../../../src/core/views/unsafe-characters.ts';

const invisible = (text: string): string[] =>
  Array.from(text).filter((char) => char !== '\n' && char !== '\t' && isInvisible(char.codePointAt(0) ?? 0));

describe('text on its way to a terminal', () => {
  test('what is seen stays, what is not is shown', () => {
    expect(terminalText('plain, é, 日本, 🙂\n\ttabbed')).toBe('plain, é, 日本, 🙂\n\ttabbed');
    expect(terminalText('\u001B[31mred\u202Etxt\u0000\u009B')).toBe('\\u{1b}[31mred\\u{202e}txt\\u{0}\\u{9b}');
    expect(terminalText('tag\u{E0041} half \uD800')).toBe('tag\\u{e0041} half \\u{d800}');
  });

  test('JSON says the same, in any text at all', () => {
    const texts = fc.string({
      unit: fc
        .oneof(fc.integer({ min: 0, max: 0xff }), fc.constantFrom(0x202e, 0xfeff, 0x2028, 0xe0041, 0xd800, 0x1f642))
        .map((point) => String.fromCodePoint(point)),
    });
    fc.assert(
      fc.property(fc.dictionary(texts, texts), (value) => {
        const json = terminalJson(JSON.stringify(value));
        expect(JSON.parse(json)).toEqual(value);
        expect(invisible(json)).toEqual([]);
        expect(invisible(terminalText(Object.values(value).join(' ')))).toEqual([]);
      }),
      { seed: 20_261_130, numRuns: 300 },
    );
  });
});
