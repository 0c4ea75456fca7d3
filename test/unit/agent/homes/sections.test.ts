import { describe, expect, test } from 'vitest';
import { anchorsOf, sectionOf } from '../../../../src/agent/homes/sections.ts';

const slugs: [string, string][] = [
  ['# Hello World', 'hello-world'],
  ['## What’s new?', 'whats-new'],
  ['## A & B', 'a--b'],
  ['### `memctl recall` SUBJECT', 'memctl-recall-subject'],
  ['## [Link words](https://example.org/x)', 'link-words'],
  ['## Größe über alles', 'größe-über-alles'],
  ['## 日本語 の 見出し', '日本語-の-見出し'],
  ['## snake_case-and-dash', 'snake_case-and-dash'],
  ['## closed by marks ##', 'closed-by-marks'],
  ['## **Bold** <b>tag</b>', 'bold-tag'],
  ['   ## indented by three', 'indented-by-three'],
  ['## v1.2.3', 'v123'],
];
test.each(slugs)('sections: %s is #%s', (heading, slug) => {
  expect(anchorsOf(`${heading}\ntext\n`)).toEqual([slug]);
});

describe('sections: what is a heading', () => {
  test('names that occur again are numbered, also around a name that looks numbered', () => {
    expect(anchorsOf('# a\n# a\n# a-1\n# a\n')).toEqual(['a', 'a-1', 'a-1-1', 'a-2']);
  });

  test('code, front matter, table rules and rulers hold none', () => {
    const text = [
      '---',
      'title: x',
      '---',
      '```sh',
      '# a comment',
      '~~~',
      '```',
      '~~~~',
      '# also code',
      '~~~',
      '~~~~',
      '    # indented code',
      '| a |',
      '---',
      '',
      '---',
      '- item',
      '---',
      '#nospace',
      '# real',
    ].join('\n');
    expect(anchorsOf(text)).toEqual(['real']);
  });

  test('underlined headings count', () => {
    expect(anchorsOf('First\n=====\ntext\n\nSecond\n---\n')).toEqual(['first', 'second']);
  });

  test('a code block that is never closed hides the rest', () => {
    expect(anchorsOf('# a\n```\n# b\n')).toEqual(['a']);
  });

  test('Windows line ends', () => {
    expect(anchorsOf('# One\r\ntext\r\n## Two\r\n')).toEqual(['one', 'two']);
  });
});

describe('sections: the text of one', () => {
  const text = '# Top\nintro\n## Ports\n3000\n### Deep\nx\n## Ports\n4000\n# End\n';

  test('it ends before the next heading of the same or a higher level', () => {
    expect(sectionOf(text, 'ports')?.text).toBe('## Ports\n3000\n### Deep\nx');
    expect(sectionOf(text, 'ports-1')?.text).toBe('## Ports\n4000');
    expect(sectionOf(text, 'end')?.text).toBe('# End');
  });

  test('a name that occurs twice says so', () => {
    expect(sectionOf(text, 'ports')?.sameName).toBe(2);
    expect(sectionOf(text, 'deep')?.sameName).toBe(1);
  });

  test('an anchor that no heading has is nothing, in any spelling', () => {
    expect(sectionOf(text, 'Ports')).toBeUndefined();
    expect(sectionOf(text, 'ports-2')).toBeUndefined();
    expect(sectionOf('', 'x')).toBeUndefined();
  });
});
