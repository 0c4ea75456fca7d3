import { describe, expect, test } from 'vitest';
import { emptyMerkle, leafCount, merkleTop, proveLeaf, putLeaf, topOfProof } from '../../../src/core/merkle.ts';
import { sha256Hex } from '../../../src/crypto/hash.ts';

/** Leaves with the first digits in common, as somebody gets them who tries names until they are. */
function chosenLeaves(prefix: string, count: number): Map<string, string> {
  return new Map(
    Array.from({ length: count }, (_, n) => [
      prefix + sha256Hex(`${prefix}${n}`).slice(prefix.length),
      sha256Hex(`${n}`),
    ]),
  );
}

/** As docs/fold.md writes it. `leaves`: the bits of a path, and path and digest. */
function naive(leaves: readonly (readonly [bits: string, text: string])[], depth = 0): string {
  const [first] = leaves;
  if (first === undefined) return '0'.repeat(64);
  if (leaves.length === 1) return sha256Hex(Buffer.from(`00${first[1]}`, 'hex'));
  const [zeros, ones] = ['0', '1'].map((bit) => leaves.filter(([bits]) => bits[depth] === bit));
  return sha256Hex(Buffer.from(`01${naive(zeros ?? [], depth + 1)}${naive(ones ?? [], depth + 1)}`, 'hex'));
}

function naiveTop(leaves: ReadonlyMap<string, string>): string {
  const bitsOf = (path: string): string => BigInt(`0x1${path}`).toString(2).slice(1);
  return naive([...leaves].map(([path, digest]) => [bitsOf(path), `${path}${digest}`]));
}

describe('a tree whose leaves were chosen to lie together', () => {
  test.each(['abc', 'abcdef0', '0123456789abcdef'])(
    'has the hash of the naive one and small buckets (%s…)',
    (prefix) => {
      const leaves = new Map([...chosenLeaves(prefix, 3_000), ...chosenLeaves('', 300)]);
      const tree = emptyMerkle();
      for (const [path, digest] of leaves) putLeaf(tree, path, digest);
      expect(merkleTop(tree)).toBe(naiveTop(leaves));
      expect(leafCount(tree)).toBe(leaves.size);
      // What one change hashes. Nobody finds thousands of names that share 48 bits and more.
      const largest = Math.max(...Array.from(tree.buckets.values(), ({ size }) => size));
      expect(largest).toBeLessThanOrEqual(prefix.length * 4 <= 48 ? 512 : 3_000);
    },
  );

  test('is the same tree when most of them go again, and proves what is there and what is not', () => {
    const leaves = chosenLeaves('abc', 2_000);
    const tree = emptyMerkle();
    for (const [path, digest] of leaves) putLeaf(tree, path, digest);
    merkleTop(tree);
    const gone = [...leaves.keys()].slice(1);
    for (const [at, path] of gone.entries()) {
      putLeaf(tree, path, null);
      leaves.delete(path);
      if (at % 500 !== 0 && leaves.size > 3) continue;
      expect(merkleTop(tree)).toBe(naiveTop(leaves));
      for (const asked of [...leaves.keys(), ...gone].slice(0, 50)) {
        const proof = proveLeaf(tree, asked);
        expect(topOfProof(asked, proof)).toBe(merkleTop(tree));
        expect(proof.leaf?.path === asked).toBe(leaves.has(asked));
      }
    }
    expect(leafCount(tree)).toBe(1);
  });
});
