import { expect, test } from 'vitest';
import { checkSource } from '../../../scripts/check-source.ts';
import { scanSource } from '../../../scripts/lib/source-text.ts';

const names = (layer: string, text: string): string[] => checkSource(layer, text).map(({ name }) => name);

test('comments, strings and regular expressions are told from code, and lines stay where they are', () => {
  const source = scanSource(
    `const a = 'import(1)'; // import(2)\nconst b = /import\\(3\\)/;\nconst c = d / e / import(4);\n`,
  );
  expect(source.code.split('\n').map((line) => line.includes('import'))).toEqual([false, false, true, false]);
  expect(source.comments).toEqual([{ text: '// import(2)', line: 1 }]);
  expect(source.regexes).toEqual([{ text: '/import\\(3\\)/', line: 2 }]);
});

test('a regular expression with a quote or a slash in a class does not hide what follows', () => {
  expect(names('core', `const a = /['"\`/]/;\nconst b = import('x');\n`)).toEqual(['no-dynamic-import']);
});

test('a pure layer neither loads later nor switches rules off; other layers may, with a reason', () => {
  expect(names('core', `await import('../x.ts');`)).toEqual(['no-dynamic-import']);
  expect(names('cli', `await import('../x.ts');`)).toEqual([]);
  expect(names('crypto', '// oxlint-disable-next-line eqeqeq -- because')).toEqual(['no-suppression']);
  expect(names('store', '// oxlint-disable-next-line eqeqeq -- because')).toEqual([]);
  expect(names('store', '// oxlint-disable-next-line eqeqeq')).toEqual(['suppression-reason']);
});

test('only regular expressions that need Unicode tables are refused in core', () => {
  expect(names('core', String.raw`const a = /\p{L}/u;`)).toEqual(['no-unicode-tables']);
  expect(names('core', 'const a = /k/iu;')).toEqual(['no-unicode-tables']);
  expect(names('core', 'const a = /www$/i;')).toEqual([]);
  expect(names('agent', String.raw`const a = /\p{L}/u;`)).toEqual([]);
});

test('sorting without a comparator is found in its three spellings', () => {
  expect(names('core', 'a.sort(); b.toSorted(); c.toSorted(undefined); d.toSorted(byName);')).toHaveLength(3);
});

test('the only classes are kinds of Error', () => {
  expect(names('store', 'export class OperatingError extends Error {}')).toEqual([]);
  expect(names('store', 'export class Manager {}')).toEqual(['no-class']);
  expect(names('store', 'class Cache extends Map {}')).toEqual(['no-class']);
});
