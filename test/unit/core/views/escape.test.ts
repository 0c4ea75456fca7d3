import { describe, expect, test } from 'vitest';
import { codeSpan, inlineText, nonAsciiNote } from '../../../../src/core/views/escape.ts';
import { utf8Length } from '../../../../src/crypto/text.ts';

describe('inlineText', () => {
  const cases: readonly (readonly [why: string, raw: string, shown: string])[] = [
    [
      'plain text and its punctuation stay',
      "Don't use -r? 1.234,56 € (maybe) #4 *.ts snake_case a|b $(x)",
      "Don't use -r? 1.234,56 € (maybe) #4 *.ts snake_case a|b $(x)",
    ],
    ['a line break is shown', 'one\n# two\r\n- three\n\n> four', 'one\\n# two\\n- three\\n> four'],
    ['white space runs are folded and trimmed as the claim key does', '  a \t  b\n', 'a b'],
    ['a backslash is doubled, so that an escape cannot be written', 'a\\nb \\u{202e}', 'a\\\\nb \\\\u{202e}'],
    [
      'brackets cannot stand bare',
      '[x](http://e.test) ![i](u) [^1] [cut: 9 bytes in all]',
      '\\[x\\](http\\://e.test) !\\[i\\](u) \\[^1\\] \\[cut: 9 bytes in all\\]',
    ],
    ['code spans and fences', '`a` ```b', '\\`a\\` \\`\\`\\`b'],
    [
      'tags, comments, autolinks and control tokens',
      '<b>x</b> <!-- y --> <http://e.test> <|im_start|>',
      '&lt;b>x&lt;/b> &lt;!-- y --&gt; &lt;http\\://e.test> &lt;|im_start|>',
    ],
    ['comparisons and arrows stay', 'a < b <= c <- d -> e > f <<', 'a < b <= c <- d -> e > f <<'],
    ['what closes a comment or CDATA around the file', '--> --!> ]]>', '--&gt; --!&gt; \\]\\]&gt;'],
    ['an entity is shown as it was written', '&lt; &#60; &amp R&D', '&amp;lt; &amp;#60; &amp R&D'],
    [
      'bare links',
      'www.e.test WWW.e.test //e.test // remark a//b',
      'www\\.e.test WWW\\.e.test \\//e.test // remark a\\//b',
    ],
    ['mail addresses, but not ssh targets', 'a@e.test ops@mini', 'a\\@e.test ops@mini'],
    ['file imports of a harness', '@~/.ssh/id_rsa see @x', '\\@~/.ssh/id_rsa see \\@x'],
    ['struck text', '~~a~~ ~/x', '\\~\\~a\\~\\~ ~/x'],
    ['terminal escapes', '\u001b[31mred\u009b0m\u0007', '\\u{1b}\\[31mred\\u{9b}0m\\u{7}'],
    [
      'bidirectional and zero width',
      'a\u202eb\u2066c\u200bd\ufeffe\u00adf',
      'a\\u{202e}b\\u{2066}c\\u{200b}d\\u{feff}e\\u{ad}f',
    ],
    [
      'other line and space characters',
      'a\u2028b\u2029c\u0085d\u00a0e\u3000f',
      'a\\u{2028}b\\u{2029}c\\u{85}d\\u{a0}e\\u{3000}f',
    ],
    ['text in tag characters, which only a model reads', 'a\u{e0041}\u{e0042}', 'a\\u{e0041}\\u{e0042}'],
    ['a lone surrogate, should one ever come', 'a\ud800b', 'a\\u{d800}b'],
    ['accents stay, a tower of them does not', 'e\u0301\u0302\u0303\u0304', 'e\u0301\u0302\\u{303}\\u{304}'],
    ['a mark at the start has nothing to stand on', '\u0301a', '\\u{301}a'],
    ['a foreign letter in a Latin word', 'p\u0430ypal, αβγ, Привет', 'p\\u{430}ypal, αβγ, Привет'],
    [
      'other spellings of ASCII letters',
      '\uff41\uff44min \u212a \ufb01 \u{1d400}',
      '\\u{ff41}\\u{ff44}min \\u{212a} \\u{fb01} \\u{1d400}',
    ],
    ['other scripts, emoji and signs stay', '日本語 עברית 👍 ™ ℃ – “x”', '日本語 עברית 👍 ™ ℃ – “x”'],
    ['nothing', '', ''],
  ];
  test.each(cases)('%s', (_, raw, shown) => {
    expect(inlineText(raw, 400)).toBe(shown);
  });

  test('a long text is cut between characters, with a mark that no text can write', () => {
    expect(inlineText('é'.repeat(50), 11)).toBe('ééééé [cut: 100 bytes in all]');
    expect(inlineText('abc\\\\\\', 6), 'an escape is never halved').toBe('abc\\\\ [cut: 6 bytes in all]');
    expect(inlineText('ab\ncd', 4)).toBe('ab\\n [cut: 5 bytes in all]');
    expect(inlineText('abcd', 4)).toBe('abcd');
    expect(inlineText('[cut: 100 bytes in all]', 400).startsWith('[')).toBe(false);
  });

  test('the cut holds for every limit', () => {
    const raw = 'a<b>é\n👍[x]\u202e&amp;'.repeat(4);
    for (let bytesMax = 0; bytesMax < 300; bytesMax += 1) {
      const shown = inlineText(raw, bytesMax).replace(/ \[cut: \d+ bytes in all\]$/, '');
      expect(utf8Length(shown)).toBeLessThanOrEqual(bytesMax + 2);
    }
  });
});

describe('codeSpan', () => {
  const cases: readonly (readonly [why: string, raw: string, shown: string])[] = [
    ['a home or value stays byte for byte', 'file:a b/[c].md#x_y*z|&lt;\\d', '`file:a b/[c].md#x_y*z|&lt;\\d`'],
    ['a backtick cannot end it', 'a`b', '`a\\u{60}b`'],
    ['an escape cannot be written', '\\u{60}', '`\\u{5c}u{60}`'],
    ['tags for readers of the raw bytes', '<system>-->', '`\\u{3c}system>--\\u{3e}`'],
    ['spaces that Markdown would drop', ' a  b ', '`\\u{20}a \\u{20}b\\u{20}`'],
    ['controls and invisible ones', 'a\nb\u200b', '`a\\u{a}b\\u{200b}`'],
    ['nothing', '', '(empty)'],
  ];
  test.each(cases)('%s', (_, raw, shown) => {
    expect(codeSpan(raw, 400)).toBe(shown);
  });

  test('the mark of a cut stands outside', () => {
    expect(codeSpan('abcdef', 3)).toBe('`abc` [cut: 6 bytes in all]');
  });
});

test('nonAsciiNote names what the eye cannot tell apart', () => {
  expect(nonAsciiNote('paypal')).toBe('');
  expect(nonAsciiNote('p\u0430yp\u0430l é')).toBe('non-ASCII U+0430 U+00e9');
  expect(nonAsciiNote('абвгдежзик')).toMatch(/ and 2 more$/);
});
