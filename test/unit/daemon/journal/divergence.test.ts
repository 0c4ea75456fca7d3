import { describe, expect, test } from 'vitest';
import { statementsKeptMax } from '../../../../src/core/limits.ts';
import { sha256Hex } from '../../../../src/crypto/hash.ts';
import { createDivergences } from '../../../../src/daemon/journal/divergence.ts';
import { nextViewLine } from '../../../lib/view-lines.ts';

const [good, bad] = [sha256Hex('good'), sha256Hex('bad')];
const heads = new Map([['alpha', { seq: 1, link: sha256Hex('link') }]]);
const line = (host: string, n: number, root: string, more: object = {}): ReturnType<typeof nextViewLine> =>
  nextViewLine(host, null, { n, root, heads, ...more });

describe('divergence', () => {
  test.each([
    ['this host speaks first', true],
    ['the other host speaks first', false],
  ])('the same input with another root is told, and both hosts find it: %s', (_, first) => {
    for (const [us, them] of [
      ['alpha', 'beta'],
      ['beta', 'alpha'],
    ] as const) {
      const divergences = createDivergences();
      if (first) divergences.say(line(us, 1, good));
      divergences.hear(line(them, 4, bad));
      if (!first) divergences.say(line(us, 1, good));
      expect(divergences.standing()).toMatchObject([{ host: them, n: 4, theirs: bad, ours: good }]);
    }
  });

  test('other heads, another trust set, and other rules are another input', () => {
    const divergences = createDivergences();
    divergences.say(line('alpha', 1, good));
    for (const more of [{ heads: new Map() }, { trust: sha256Hex('other') }, { rules: 2 }])
      divergences.hear(line('beta', 1, bad, more));
    expect(divergences.standing()).toEqual([]);
  });

  test('the newest line that can be compared decides, in whatever order lines come', () => {
    const divergences = createDivergences();
    divergences.say(line('alpha', 1, good));
    divergences.hear(line('beta', 3, good));
    divergences.hear(line('beta', 2, bad));
    expect(divergences.standing()).toEqual([]);
    divergences.hear(line('beta', 4, bad));
    expect(divergences.standing()).toHaveLength(1);
    // It says something of an input that is not known here: nothing is settled by that.
    divergences.hear(line('beta', 5, good, { trust: sha256Hex('other') }));
    expect(divergences.standing()).toHaveLength(1);
    divergences.hear(line('beta', 6, good));
    expect(divergences.standing()).toEqual([]);
  });

  test('a host that left the charter is forgotten', () => {
    const divergences = createDivergences();
    divergences.say(line('alpha', 1, good));
    divergences.hear(line('beta', 1, bad));
    divergences.forget((host) => host !== 'beta');
    expect(divergences.standing()).toEqual([]);
  });

  test('what is kept is bounded: the oldest input goes', () => {
    const divergences = createDivergences();
    divergences.say(line('alpha', 1, good));
    for (let n = 0; n < statementsKeptMax; n += 1) divergences.say(line('alpha', 1, good, { rules: n + 2 }));
    divergences.hear(line('beta', 1, bad));
    expect(divergences.standing()).toEqual([]);
  });
});
