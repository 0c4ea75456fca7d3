import { expect, test } from 'vitest';
import { isHex, isId, isSlug, isSortedIdList, shortId } from '../../../src/core/id.ts';

const id = '0123456789abcdef'.repeat(4);

test('an id is 64 lower-case hex digits and nothing else', () => {
  expect(isId(id)).toBe(true);
  for (const other of [id.slice(1), `${id}0`, id.toUpperCase(), `g${id.slice(1)}`, `${id}\n`, '', 1, null, [id]])
    expect(isId(other)).toBe(false);
});

test('isHex agrees with the regular expression for every character', () => {
  for (let unit = 0; unit < 0x180; unit += 1) {
    const character = String.fromCharCode(unit);
    expect([unit, isHex(character, 1)]).toEqual([unit, /^[0-9a-f]$/.test(character)]);
  }
});

test('a slug begins with a letter and has at most 31 characters', () => {
  for (const good of ['a', 'a'.repeat(31), 'a-1', 'z9-']) expect(isSlug(good)).toBe(true);
  for (const bad of ['', 'A', '1', '-a', 'a'.repeat(32), 'a_', 'a\n', 'é', 7, undefined])
    expect(isSlug(bad)).toBe(false);
});

test('a list of ids is ascending and has at least one', () => {
  const other = `1${id.slice(1)}`;
  expect(isSortedIdList([id, other])).toBe(true);
  for (const bad of [[], [other, id], [id, id], [id, 1], ['x']]) expect(isSortedIdList(bad)).toBe(false);
});

test('people are shown the first 12 digits of an id', () => {
  expect(shortId(id)).toBe(id.slice(0, 12));
});
