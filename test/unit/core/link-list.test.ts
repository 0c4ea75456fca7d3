import { expect, test } from 'vitest';
import { emptyLinks } from '../../../src/core/link-list.ts';
import { sha256Hex } from '../../../src/crypto/hash.ts';

test('every link is given back as it came, at its line, also after the list has grown', () => {
  const links = emptyLinks();
  const all = Array.from({ length: 5_000 }, (_, number) => sha256Hex(String(number)));
  for (const [index, link] of all.entries()) {
    expect(links.at(index + 1)).toBeUndefined();
    links.push(link);
    expect(links.length()).toBe(index + 1);
  }
  expect(all.map((_, index) => links.at(index + 1))).toEqual(all);
});

test('there is no line 0, and none beyond the end', () => {
  const links = emptyLinks();
  links.push('0123456789abcdef'.repeat(4));
  expect([links.at(0), links.at(1), links.at(2)]).toEqual([undefined, '0123456789abcdef'.repeat(4), undefined]);
});
