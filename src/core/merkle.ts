/**
 * A sparse Merkle tree over 256-bit paths, compressed: a subtree with one leaf is that leaf, whatever its depth, so that
 * the tree is about as deep as the logarithm of its leaves. One leaf can be proved, and that there is none, with a hash for
 * each level.
 *
 *   T(no leaf) = 32 zero bytes     T(one leaf) = sha256(00 path digest)     T(more) = sha256(01 T(bit 0) T(bit 1))
 *
 * Leaves lie in buckets by their first bits; a change hashes its bucket and the levels above, so its cost hardly follows
 * the size of the tree. A bucket that has too many is split: whoever names subjects can choose them by their first bits.
 * Source: docs/fold.md, Root.
 */
import { assert } from '../crypto/result.ts';
import { sha256OfHex } from '../crypto/hash.ts';
import { isId } from './id.ts';

/** Mutable. Paths and digests are 64 hex digits. A place is a subtree: 1 is the whole, 2 i and 2 i + 1 are the halves of i. */
export interface MerkleTree {
  /** By place: digest by path. None is empty. */
  readonly buckets: Map<number, Map<string, string>>;
  /** Places that were buckets before they had too many leaves. */
  readonly split: Set<number>;
  /** Places that hold a leaf; buckets are the lowest. */
  readonly nodes: Map<number, MerkleNode>;
  /** By place, the depth of buckets that changed since `nodes` were worked out. */
  readonly dirty: Map<number, number>;
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

/** Depth of a bucket that was never split, and of one that is split no more: a place stays an exact number up to 52. */
const bucketBits = 12;
const bucketBitsMax = 48;
const bucketDigits: number = bucketBits / 4;
/** Leaves of a bucket: a million spread evenly are 244 in each. */
const bucketLeavesMax = 512;
const pathBits = 256;
const nothing: string = '0'.repeat(64);

export function emptyMerkle(): MerkleTree {
  return { buckets: new Map(), split: new Set(), nodes: new Map(), dirty: new Map() };
}

/** Sets the leaf at a path, or removes it with null. */
export function putLeaf(tree: MerkleTree, path: string, digest: string | null): void {
  const { place, depth } = bucketOf(tree, path);
  const bucket = tree.buckets.get(place) ?? new Map<string, string>();
  if (bucket.get(path) === (digest ?? undefined)) return;
  if (digest === null) bucket.delete(path);
  else bucket.set(path, digest);
  putBucket(tree, { place, depth }, bucket);
}

interface Place {
  readonly place: number;
  readonly depth: number;
}

/** The bucket in which a path lies, or would lie. */
function bucketOf({ split }: MerkleTree, path: string): Place {
  let place = (1 << bucketBits) + Number.parseInt(path.slice(0, bucketDigits), 16);
  let depth = bucketBits;
  for (; split.has(place); depth += 1) place = 2 * place + bitOf(path, depth);
  return { place, depth };
}

function putBucket(tree: MerkleTree, { place, depth }: Place, bucket: Map<string, string>): void {
  if (bucket.size > bucketLeavesMax && depth < bucketBitsMax) return splitBucket(tree, { place, depth }, bucket);
  if (bucket.size === 0) tree.buckets.delete(place);
  else tree.buckets.set(place, bucket);
  tree.dirty.set(place, depth);
}

function splitBucket(tree: MerkleTree, { place, depth }: Place, bucket: ReadonlyMap<string, string>): void {
  tree.buckets.delete(place);
  tree.dirty.delete(place);
  tree.split.add(place);
  const isOne = ([path]: readonly [string, string]): boolean => bitOf(path, depth) === 1;
  const [zeros, ones] = [[...bucket].filter((leaf) => !isOne(leaf)), [...bucket].filter(isOne)];
  putBucket(tree, { place: 2 * place, depth: depth + 1 }, new Map(zeros));
  putBucket(tree, { place: 2 * place + 1, depth: depth + 1 }, new Map(ones));
}

/** How many leaves it has. */
export function leafCount(tree: MerkleTree): number {
  merkleTop(tree);
  return tree.nodes.get(1)?.leaves ?? 0;
}

/** The hash of the whole tree. */
export function merkleTop(tree: MerkleTree): string {
  /** By depth, the places above what changed. */
  const levels: Set<number>[] = Array.from({ length: bucketBitsMax }, () => new Set());
  for (const [place, depth] of tree.dirty) {
    const leaves = leavesIn(tree, place);
    putNode(tree, place, { hash: subtree(leaves, depth), leaves: leaves.length });
    levels[depth - 1]?.add(Math.floor(place / 2));
  }
  tree.dirty.clear();
  for (let depth = bucketBitsMax - 1; depth >= 0; depth -= 1) {
    for (const place of levels[depth] ?? []) {
      putNode(tree, place, joined(tree.nodes.get(2 * place), tree.nodes.get(2 * place + 1)));
      levels[depth - 1]?.add(Math.floor(place / 2));
    }
  }
  return tree.nodes.get(1)?.hash ?? nothing;
}

/** Proves what stands at a path: a leaf, or that there is none. */
export function proveLeaf(tree: MerkleTree, path: string): MerkleProof {
  merkleTop(tree);
  const siblings: string[] = [];
  let place = 1;
  while (isAbove(tree, place) && (tree.nodes.get(place)?.leaves ?? 0) > 1) {
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

/** Whether buckets lie below a place. */
function isAbove({ split }: MerkleTree, place: number): boolean {
  return place < 1 << bucketBits || split.has(place);
}

/** Sorted by path. */
function leavesIn({ buckets }: MerkleTree, place: number): MerkleLeaf[] {
  const leaves = [...(buckets.get(place) ?? [])].map(([path, digest]) => ({ path, digest }));
  return leaves.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Those of a bucket, or the only leaf of a larger subtree. */
function leavesBelow(tree: MerkleTree, place: number): readonly MerkleLeaf[] {
  if (!tree.nodes.has(place)) return [];
  let at = place;
  while (isAbove(tree, at)) at = tree.nodes.has(2 * at) ? 2 * at : 2 * at + 1;
  return leavesIn(tree, at);
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
