/**
 * The root: one hash that is equal on every host that folded the same lines under the same charter and rules. For now a
 * hash over all leaves in order; the leaves are digests already, so that a Merkle tree can take the place of the one
 * hash without a change to what calls it. Source: docs/fold.md, Root.
 */
import { canonicalJson, type JsonValue } from '../crypto/canonical.ts';
import { sha256Hex } from '../crypto/hash.ts';
import type { Charter } from './trust/charter.ts';

/** Leaves by key. Mutable; `order` and `root` are worked out anew after a change. */
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
  return { leaves: new Map(), order: [] };
}

/** Sets the leaf of a key to the digest (64 hex) of what stands there, or removes it with null. */
export function setLeaf(tree: StateTree, key: string, digest: string | null): void {
  if (digest === null) {
    if (tree.leaves.delete(key)) tree.order = null;
    return;
  }
  if (!tree.leaves.has(key)) tree.order = null;
  tree.leaves.set(key, digest);
}

/** sha256 of the JCS of {leaves: [[key, digest], …] sorted by key, rules, trust}. */
export function rootOf(tree: StateTree, { rules, trust }: RootContext): string {
  tree.order ??= [...tree.leaves.keys()].sort((a, b) => (a < b ? -1 : 1));
  const leaves = tree.order.map((key) => [key, tree.leaves.get(key)]);
  return sha256Hex(JSON.stringify({ leaves, rules, trust }));
}

/**
 * Leaf per effective charter item (`host:alpha`, `class:note`, …): what the item says, not which op says it. No key
 * holds a space, so none collides with that of a record. Pure.
 */
export function charterLeaves(charter: Charter): ReadonlyMap<string, string> {
  const leaves = new Map<string, string>();
  const add = (key: string, value: JsonValue): void => void leaves.set(key, sha256Hex(canonicalJson(value)));
  for (const [name, { sign, ssh, address, status }] of charter.hosts) {
    add(`host:${name}`, { address, sign: sign.text, ssh: ssh.text, status });
  }
  for (const [name, { key, scopes }] of charter.signers) add(`signer:${name}`, { key: key.text, scopes });
  for (const [name, { claims, revise }] of charter.classes) add(`class:${name}`, { claims, revise });
  for (const [name, { includes }] of charter.audiences) add(`audience:${name}`, { includes });
  for (const [name, { value }] of charter.policy) add(`policy:${name}`, { value });
  return leaves;
}
