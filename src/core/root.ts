/**
 * The root: one hash that is equal on every host that folded the same lines under the same charter and rules. For now a
 * hash over all leaves in order; the leaves are digests already, so that a Merkle tree can take the place of the one
 * hash without a change to what calls it. Source: docs/fold.md, Root.
 */
import { canonicalJson, type JsonValue } from '../crypto/canonical.ts';
import { sha256Hex } from '../crypto/hash.ts';
import type { Charter } from './trust/charter.ts';

/** Leaves by key. Mutable. `order`: the keys, sorted; null until a root is first asked for. */
export interface StateTree {
  readonly leaves: Map<string, string>;
  order: string[] | null;
}

/** What a root commits to besides the leaves. */
export interface RootContext {
  readonly rules: number;
  readonly trust: string;
}

/** A tree without leaves. */
export function emptyTree(): StateTree {
  return { leaves: new Map(), order: null };
}

/** Sets the leaf of a key to the digest (64 hex) of what stands there, or removes it with null. */
export function setLeaf(tree: StateTree, key: string, digest: string | null): void {
  const known = tree.leaves.has(key);
  if (digest === null) tree.leaves.delete(key);
  else tree.leaves.set(key, digest);
  if (tree.order === null || known === (digest !== null)) return;
  // A sort of all keys for each new subject would cost more than the rest of a root.
  const place = placeOf(tree.order, key);
  if (digest === null) tree.order.splice(place, 1);
  else tree.order.splice(place, 0, key);
}

/** sha256 of the JCS of {leaves: [[key, digest], …] sorted by key, rules, trust}. */
export function rootOf(tree: StateTree, { rules, trust }: RootContext): string {
  tree.order ??= [...tree.leaves.keys()].sort((a, b) => (a < b ? -1 : 1));
  const leaves = tree.order.map((key) => [key, tree.leaves.get(key)]);
  return sha256Hex(JSON.stringify({ leaves, rules, trust }));
}

/** Where the key stands, or would stand, in sorted keys. */
function placeOf(order: readonly string[], key: string): number {
  let [from, upto] = [0, order.length];
  while (from < upto) {
    const middle = (from + upto) >>> 1;
    if ((order[middle] ?? '') < key) from = middle + 1;
    else upto = middle;
  }
  return from;
}

/**
 * What every effective charter item (`host:alpha`, `class:note`, …) says, not which op says it. No key holds a space, so
 * none collides with that of a record. Pure.
 */
export function charterItems(charter: Charter): ReadonlyMap<string, JsonValue> {
  const items = new Map<string, JsonValue>();
  for (const [name, { sign, ssh, address, status }] of charter.hosts) {
    items.set(`host:${name}`, { address, sign: sign.text, ssh: ssh.text, status });
  }
  for (const [name, { key, scopes }] of charter.signers) items.set(`signer:${name}`, { key: key.text, scopes });
  for (const [name, { claims, revise }] of charter.classes) items.set(`class:${name}`, { claims, revise });
  for (const [name, { includes }] of charter.audiences) items.set(`audience:${name}`, { includes });
  for (const [name, { value }] of charter.policy) items.set(`policy:${name}`, { value });
  return items;
}

/** The leaf of every charter item. Pure. */
export function charterLeaves(charter: Charter): ReadonlyMap<string, string> {
  return new Map([...charterItems(charter)].map(([key, item]) => [key, sha256Hex(canonicalJson(item))]));
}
