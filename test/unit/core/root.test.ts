import { describe, expect, test } from 'vitest';
import { emptyTree, provedDigest, proveKey, rootOf, setLeaf, type StateTree } from '../../../src/core/root.ts';
import { sha256Hex } from '../../../src/crypto/hash.ts';
import { oracleRoot, type OracleState } from '../../oracle/fold-state.ts';
import { randomFrom } from '../../lib/random.ts';

const context = { rules: 2, trust: 'b'.repeat(64) };
const noRecords = { records: {} } as unknown as OracleState;
const naive = (leaves: ReadonlyMap<string, string>): string => oracleRoot(noRecords, [...leaves], context.trust);

function treeOf(leaves: Iterable<readonly [string, string]>): StateTree {
  const tree = emptyTree();
  for (const [key, digest] of leaves) setLeaf(tree, key, digest);
  return tree;
}

function someLeaves(count: number): Map<string, string> {
  return new Map(Array.from({ length: count }, (_, n) => [`note/${n} *`, sha256Hex(`${n}`)] as const));
}

describe('root', () => {
  test('a tree without leaves has a root, and one leaf is enough for another', () => {
    expect(rootOf(emptyTree(), context)).toBe(naive(new Map()));
    expect(rootOf(treeOf(someLeaves(1)), context)).toBe(naive(someLeaves(1)));
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
        if (random() < 0.3) expect(rootOf(tree, context)).toBe(naive(left));
      }
      expect(rootOf(tree, context)).toBe(naive(left));
    }
  });

  test('of many leaves is that of the naive tree, after changes too', () => {
    const leaves = someLeaves(6_000);
    const tree = treeOf(leaves);
    expect(rootOf(tree, context)).toBe(naive(leaves));
    for (let n = 0; n < 6_000; n += 7) {
      leaves.delete(`note/${n} *`);
      setLeaf(tree, `note/${n} *`, null);
    }
    expect(rootOf(tree, context)).toBe(naive(leaves));
  });

  test('commits to rules and trust', () => {
    const roots = [context, { ...context, rules: 3 }, { ...context, trust: 'c'.repeat(64) }];
    expect(new Set(roots.map((one) => rootOf(emptyTree(), one))).size).toBe(3);
  });
});

describe('a proof', () => {
  const sizes = [0, 1, 2, 3, 40, 9_000];

  test.each(sizes)('says what stands at a key, and that nothing does (%i leaves)', (count) => {
    const leaves = someLeaves(count);
    const tree = treeOf(leaves);
    const root = rootOf(tree, context);
    for (let n = 0; n < count; n += Math.ceil(count / 50)) {
      const key = `note/${n} *`;
      expect(provedDigest(proveKey(tree, key), { key, root, context })).toBe(leaves.get(key));
    }
    for (let n = 0; n < 50; n += 1) {
      const key = `note/absent-${n} *`;
      expect(provedDigest(proveKey(tree, key), { key, root, context })).toBeNull();
    }
  });

  test('of another key, root or context says nothing', () => {
    const tree = treeOf(someLeaves(40));
    const root = rootOf(tree, context);
    const proof = proveKey(tree, 'note/1 *');
    const asked = { key: 'note/1 *', root, context };
    for (let n = 2; n < 40; n += 1)
      expect(provedDigest(proof, { ...asked, key: `note/${n} *` }) ?? undefined).toBeUndefined();
    expect(provedDigest(proof, { ...asked, root: sha256Hex('x') })).toBeUndefined();
    expect(provedDigest(proof, { ...asked, context: { ...context, rules: 3 } })).toBeUndefined();
    expect(provedDigest(proof, { ...asked, context: { ...context, trust: 'c'.repeat(64) } })).toBeUndefined();
  });

  test('that was changed anywhere says nothing: never another digest, and never that a leaf is absent', () => {
    const random = randomFrom(7);
    const leaves = someLeaves(40);
    const tree = treeOf(leaves);
    const root = rootOf(tree, context);
    const wrong: unknown[] = [];
    for (let round = 0; round < 400; round += 1) {
      const key = `note/${Math.floor(random() * 40)} *`;
      const { siblings, leaf } = proveKey(tree, key);
      const at = Math.floor(random() * siblings.length);
      const other = proveKey(tree, `note/${Math.floor(random() * 40)} *`);
      const forged = [
        { siblings, leaf: null },
        { siblings, leaf: other.leaf },
        { siblings: other.siblings, leaf },
        { siblings: siblings.slice(0, at), leaf },
        { siblings: siblings.slice(0, at), leaf: null },
        { siblings: [...siblings, '0'.repeat(64)], leaf },
        { siblings: siblings.with(at, sha256Hex('x')), leaf },
        { siblings: siblings.with(at, 'x'), leaf },
        { siblings: Array.from({ length: 300 }, () => '0'.repeat(64)), leaf },
        { siblings, leaf: leaf && { ...leaf, digest: sha256Hex('x') } },
        { siblings, leaf: leaf && { ...leaf, digest: 'x' } },
      ];
      for (const proof of forged) {
        const said = provedDigest(proof, { key, root, context });
        if (said !== undefined && said !== leaves.get(key)) wrong.push({ key, proof, said });
      }
    }
    expect(wrong).toEqual([]);
  });

  test('is below two KiB and a logarithm long', () => {
    const tree = treeOf(someLeaves(9_000));
    const proof = proveKey(tree, 'note/17 *');
    expect(proof.siblings.length).toBeLessThan(30);
    expect(JSON.stringify(proof).length).toBeLessThan(2_048);
  });
});
