import { expect, test } from 'vitest';
import { checkText, dependencyFindings, limitFindings, linkFindings } from '../../../scripts/lib/tidy-rules.ts';

const sentences = (file: string, text: string): string[] => checkText(file, text).map(({ sentence }) => sentence);

test('a file over 400 lines must say why in its header', () => {
  const body = 'const a = 1;\n'.repeat(401);
  expect(sentences('src/core/a.ts', body)).toHaveLength(1);
  expect(sentences('src/core/a.ts', `/** Long because a table is best read whole. */\n${body}`)).toEqual([]);
  expect(sentences('docs/a.md', body)).toEqual([]);
});

test('open ends and focused or skipped tests are found; conditional ones are not', () => {
  expect(sentences('src/core/a.ts', '// TODO later')).toHaveLength(1);
  expect(sentences('test/unit/a.test.ts', 'test.only(1); \nit.skip(2)')).toHaveLength(2);
  expect(sentences('test/unit/a.test.ts', 'test.skipIf(notRoot)("as root: …")')).toEqual([]);
});

test('machine paths, registry hosts and other languages are found', () => {
  expect(sentences('docs/a.md', 'see /root/code/src')).toHaveLength(1);
  expect(sentences('README.md', 'https://artifactory.example/npm')).toHaveLength(1);
  expect(sentences('docs/a.md', 'Das ist nicht gut.')).toHaveLength(1);
  expect(sentences('docs/a.md', 'This is good.')).toEqual([]);
});

test('data files hold whatever their case needs', () => {
  expect(sentences('test/vectors/line.jsonl', 'TODO /root/code')).toEqual([]);
});

test('a dependency without a row, a row without a dependency, and a loose version are found', () => {
  const manifest = JSON.stringify({ dependencies: { a: '1.0.0', b: '^1.0.0' } });
  const page = '| package | why | notes |\n|---|---|---|\n| `a` | Because. | MIT |\n| `c` | Because. | MIT |\n';
  const found = dependencyFindings(manifest, page, '{}').map(({ sentence }) => sentence);
  expect(found).toEqual(['no row for b', 'c is not a dependency', 'b ^1.0.0: pin it']);
  expect(dependencyFindings('{}', '', '{"resolved":"https://x"}')).toHaveLength(1);
});

test('every limit has a comment, its own or that of its group', () => {
  const text = '/** Bytes. */\nexport const aMax = 1;\nexport const bMax = 2;\n\nexport const cMax = 3;\n';
  expect(limitFindings('limits.ts', text)).toEqual([
    { file: 'limits.ts', line: 5, sentence: 'cMax says neither unit nor reason' },
  ]);
});

test('relative links must lead somewhere, those in code fences and to the web are left alone', () => {
  const text = '[a](format.md#x) [b](gone.md) [c](https://example.org)\n```\n[d](gone.md)\n```\n`[e](gone.md)`\n';
  const found = linkFindings('docs/a.md', text, (path) => path === 'docs/format.md');
  expect(found.map(({ line, sentence }) => [line, sentence])).toEqual([[1, 'the link gone.md leads nowhere']]);
});
