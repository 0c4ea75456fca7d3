import { describe, expect, test } from 'vitest';
import { requireOwnLogWhole } from '../../../../src/daemon/own/own-log-first.ts';

const link = (digit: string): string => digit.repeat(64);
const own = 'alpha';
const book = (links: readonly string[]): Parameters<typeof requireOwnLogWhole>[0] => ({
  tip: () => (links.length === 0 ? undefined : { oid: '', seq: links.length, link: links.at(-1) ?? '' }),
  linkAt: (_, seq) => links[seq - 1],
});
const holding = (...tips: [number, string][]): Parameters<typeof requireOwnLogWhole>[1] => ({
  proofs: () => tips.map(([seq, text]) => ({ peer: 'beta', line: { seq, link: text } })),
});

describe('what peers are known to hold of the own log', () => {
  test('as much as we do, or less of the same, is no reason to stop', () => {
    const ours = book([link('a'), link('b')]);
    expect(() => requireOwnLogWhole(ours, holding([2, link('b')], [1, link('a')]), own)).not.toThrow();
    expect(() => requireOwnLogWhole(book([]), holding(), own)).not.toThrow();
  });

  test('more, or another line, is', () => {
    const refused = (links: string[], seq: number, text: string): unknown => {
      try {
        return requireOwnLogWhole(book(links), holding([seq, text]), own);
      } catch (error) {
        return error;
      }
    };
    expect(refused([link('a')], 2, link('b'))).toMatchObject({
      code: 'OWN_LOG_BEHIND',
      hint: expect.stringContaining('memctl fetch beta'),
    });
    expect(refused([], 1, link('a'))).toMatchObject({ code: 'OWN_LOG_BEHIND' });
    expect(refused([link('a'), link('b')], 1, link('c'))).toMatchObject({
      code: 'OWN_LOG_BEHIND',
      message: expect.stringContaining('another line 1'),
    });
  });
});
