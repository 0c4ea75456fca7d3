/**
 * A sparse Merkle tree over 256-bit paths, compressed: a subtree with one leaf is that leaf, whatever its depth, so that
 * the tree is about as deep as the logarithm of its leaves. One leaf can be proved, and that there is none, with a hash for
 * each level.
 *
 *   T(no leaf) = 32 zero bytes     T(one leaf) = sha256(00 path digest)     T(more) = sha256(01 T(bit 0) T(bit 1))
 *
 * Leaves lie in buckets by their first bits; a change hashes its bucket and the levels above, so its cost hardly follows
 * the size of the tree. Source: docs/fold.md, Root.
 */
import { assert } from '../crypto/result.ts';
import { sha256OfHex } from '../crypto/hash.ts';
import { isId } from './id.ts';

/** Mutable. Paths and digests are 64 hex digits. */
export interface MerkleTree {
  /** By the first `bucketBits` bits: digest by path. */
  readonly buckets: Map<number, Map<string, string>>;
  /** Subtrees that hold a leaf: 1 is the whole, 2 i and 2 i + 1 are the halves of i, buckets are the lowest. */
  readonly nodes: Map<number, MerkleNode>;
  /** Buckets that changed since `nodes` were worked out. */
  readonly dirty: Set<number>;
}

interface MerkleNode {
  readonly hash: string;
  readonly leaves: number;
}

/** A leaf as it stands in the tree. */
export interface MerkleLeaf {
  readonly path: string;
  readonly digest: string;
}

/** What one path comes to: the other halves from the top down, and the leaf where it ends, its own, another one, or none. */
export interface MerkleProof {
  readonly siblings: readonly string[];
  readonly leaf: MerkleLeaf | null;
}

const bucketBits = 12;
const bucketDigits: number = bucketBits / 4;
const pathBits = 256;
const nothing: string = '0'.repeat(64);

export function emptyMerkle(): MerkleTree {
  return { buckets: new Map(), nodes: new Map(), dirty: new Set() };
}

/** Sets the leaf at a path, or removes it with null. */
export function putLeaf(tree: MerkleTree, path: string, digest: string | null): void {
  const index = Number.parseInt(path.slice(0, bucketDigits), 16);
  const bucket = tree.buckets.get(index) ?? new Map<string, string>();
  if (bucket.get(path) === (digest ?? undefined)) return;
  if (digest === null) bucket.delete(path);
  else bucket.set(path, digest);
  if (bucket.size === 0) tree.buckets.delete(index);
  else tree.buckets.set(index, bucket);
  tree.dirty.add(index);
}

/** How many leaves it has. */
export function leafCount(tree: MerkleTree): number {
  merkleTop(tree);
  return tree.nodes.get(1)?.leaves ?? 0;
}

/** The hash of the whole tree. */
export function merkleTop(tree: MerkleTree): string {
  let changed = new Set<number>();
  for (const index of tree.dirty) {
    const leaves = leavesIn(tree, index);
    putNode(tree, (1 << bucketBits) + index, { hash: subtree(leaves, bucketBits), leaves: leaves.length });
    changed.add(((1 << bucketBits) + index) >> 1);
  }
  tree.dirty.clear();
  while (changed.size > 0) {
    const above = new Set<number>();
    for (const place of changed) {
      putNode(tree, place, joined(tree.nodes.get(2 * place), tree.nodes.get(2 * place + 1)));
      if (place > 1) above.add(place >> 1);
    }
    changed = above;
  }
  return tree.nodes.get(1)?.hash ?? nothing;
}

/** Proves what stands at a path: a leaf, or that there is none. */
export function proveLeaf(tree: MerkleTree, path: string): MerkleProof {
  merkleTop(tree);
  const siblings: string[] = [];
  let place = 1;
  while (siblings.length < bucketBits && (tree.nodes.get(place)?.leaves ?? 0) > 1) {
    const bit = bitOf(path, siblings.length);
    siblings.push(tree.nodes.get(2 * place + (1 - bit))?.hash ?? nothing);
    place = 2 * place + bit;
  }
  let leaves = leavesBelow(tree, place);
  while (leaves.length > 1) {
    const depth = siblings.length;
    const [zeros, ones] = halves(leaves, depth);
    const isOne = bitOf(path, depth) === 1;
    siblings.push(subtree(isOne ? zeros : ones, depth + 1));
    leaves = isOne ? ones : zeros;
  }
  return { siblings, leaf: leaves[0] ?? null };
}

/**
 * The hash of a tree in which the path comes to what the proof says; undefined for a proof that can be of no tree. The
 * proof may come from anybody: whoever compares the hash with one that is signed knows. Pure.
 */
export function topOfProof(path: string, { siblings, leaf }: MerkleProof): string | undefined {
  if (siblings.length > pathBits || !siblings.every(isId)) return undefined;
  if (leaf !== null && !(isId(leaf.path) && isId(leaf.digest))) return undefined;
  // Another leaf shows that this one is not there only if it lies where this one would.
  const depths = Array.from(siblings, (_, depth) => depth);
  if (leaf !== null && depths.some((depth) => bitOf(leaf.path, depth) !== bitOf(path, depth))) return undefined;
  let hash = leaf === null ? nothing : leafHash(leaf);
  for (let depth = siblings.length - 1; depth >= 0; depth -= 1) {
    const sibling = siblings[depth] ?? nothing;
    hash = bitOf(path, depth) === 1 ? nodeHash(sibling, hash) : nodeHash(hash, sibling);
  }
  return hash;
}

/** Sorted by path. */
function leavesIn({ buckets }: MerkleTree, index: number): MerkleLeaf[] {
  const leaves = [...(buckets.get(index) ?? [])].map(([path, digest]) => ({ path, digest }));
  return leaves.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Those of a bucket, or the only leaf of a larger subtree. */
function leavesBelow(tree: MerkleTree, place: number): readonly MerkleLeaf[] {
  let [at, held] = [place, tree.nodes.get(place)?.leaves ?? 0];
  if (held === 0) return [];
  while (at < 1 << bucketBits) {
    held = tree.nodes.get(2 * at)?.leaves ?? 0;
    at = 2 * at + (held === 0 ? 1 : 0);
  }
  return leavesIn(tree, at - (1 << bucketBits));
}

function putNode({ nodes }: MerkleTree, place: number, node: MerkleNode | undefined): void {
  if (node === undefined || node.leaves === 0) nodes.delete(place);
  else nodes.set(place, node);
}

function joined(left: MerkleNode | undefined, right: MerkleNode | undefined): MerkleNode | undefined {
  const leaves = (left?.leaves ?? 0) + (right?.leaves ?? 0);
  if (leaves <= 1) return left ?? right;
  return { hash: nodeHash(left?.hash ?? nothing, right?.hash ?? nothing), leaves };
}

/** T of leaves, sorted by path, that share their first `depth` bits. */
function subtree(leaves: readonly MerkleLeaf[], depth: number): string {
  return rangeHash(leaves, depth, { from: 0, upto: leaves.length });
}

/** A stretch of sorted leaves: not copied, since every leaf of a fold comes through here. */
interface Range {
  readonly from: number;
  readonly upto: number;
}

function rangeHash(leaves: readonly MerkleLeaf[], depth: number, { from, upto }: Range): string {
  const first = leaves[from];
  if (first === undefined || from >= upto) return nothing;
  if (upto - from === 1) return leafHash(first);
  assert(depth < pathBits, 'no two leaves have one path');
  const middle = firstOne(leaves, depth, { from, upto });
  const left = rangeHash(leaves, depth + 1, { from, upto: middle });
  return nodeHash(left, rangeHash(leaves, depth + 1, { from: middle, upto }));
}

/** Place of the first leaf of the range whose bit at this depth is 1; its end when there is none. */
function firstOne(leaves: readonly MerkleLeaf[], depth: number, { from, upto }: Range): number {
  let at = from;
  while (at < upto && bitOf(leaves[at]?.path ?? '', depth) === 0) at += 1;
  return at;
}

function halves(leaves: readonly MerkleLeaf[], depth: number): readonly [MerkleLeaf[], MerkleLeaf[]] {
  const middle = firstOne(leaves, depth, { from: 0, upto: leaves.length });
  return [leaves.slice(0, middle), leaves.slice(middle)];
}

const codeOfZero = 48;
const codeOfA = 97;

function bitOf(path: string, depth: number): 0 | 1 {
  const code = path.charCodeAt(depth >> 2);
  const digit = code < codeOfA ? code - codeOfZero : code - codeOfA + 10;
  return ((digit >> (3 - (depth & 3))) & 1) as 0 | 1;
}

function leafHash({ path, digest }: MerkleLeaf): string {
  return sha256OfHex(`00${path}${digest}`);
}

function nodeHash(left: string, right: string): string {
  return sha256OfHex(`01${left}${right}`);
}
