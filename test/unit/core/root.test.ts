import { describe, expect, test } from 'vitest';
import { canonicalJson } from '../../../src/crypto/canonical.ts';
import { sha256Hex } from '../../../src/crypto/hash.ts';
import { emptyTree, rootOf, setLeaf } from '../../../src/core/root.ts';
import { randomFrom } from '../../lib/random.ts';

const context = { rules: 1, trust: 'b'.repeat(64) };

describe('root', () => {
  test('a tree without leaves has a root', () => {
    expect(rootOf(emptyTree(), context)).toBe(sha256Hex(canonicalJson({ leaves: [], ...context })));
  });

  test('leaves set and removed in any order, with roots in between, give the root of what is left', () => {
    for (let seed = 0; seed < 50; seed += 1) {
      const random = randomFrom(seed);
      const tree = emptyTree();
      const left = new Map<string, string>();
      for (let step = 0; step < 60; step += 1) {
        const key = `note/${Math.floor(random() * 20)} *`;
        const digest = random() < 0.3 ? null : sha256Hex(`${step}`);
        setLeaf(tree, key, digest);
        if (digest === null) left.delete(key);
        else left.set(key, digest);
        if (random() < 0.3) rootOf(tree, context);
      }
      const leaves = [...left].toSorted(([a], [b]) => (a < b ? -1 : 1));
      expect(rootOf(tree, context)).toBe(sha256Hex(canonicalJson({ leaves, ...context })));
    }
  });

  test('commits to rules and trust', () => {
    const roots = [context, { ...context, rules: 2 }, { ...context, trust: 'c'.repeat(64) }];
    expect(new Set(roots.map((one) => rootOf(emptyTree(), one))).size).toBe(3);
  });
});
