/**
 * The root: one hash that is equal on every host that folded the same lines under the same charter and rules. For now a
 * hash over all leaves in order; the leaves are digests already, so that a Merkle tree can take the place of the one
 * hash without a change to what calls it. Source: docs/fold.md, Root.
 */
import { canonicalJson, type JsonValue } from '../crypto/canonical.ts';
import { sha256Hex } from '../crypto/hash.ts';
import type { Charter, CharterDelegation, CharterHost, CharterPurge, CharterSigner } from './trust/charter.ts';
import type { Pin } from './trust/op-types.ts';

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
  for (const [name, host] of charter.hosts) items.set(`host:${name}`, hostSays(host));
  for (const [name, signer] of charter.signers) items.set(`signer:${name}`, signerSays(signer));
  for (const [name, { claims, revise }] of charter.classes) items.set(`class:${name}`, { claims, revise });
  for (const [name, { includes }] of charter.audiences) items.set(`audience:${name}`, { includes });
  for (const [name, { value }] of charter.policy) items.set(`policy:${name}`, { value });
  for (const delegation of charter.delegations) items.set(`delegation:${delegation.op}`, delegationSays(delegation));
  for (const [id, purge] of charter.purges) items.set(`purge:${id}`, purgeSays(purge));
  return items;
}

/** Where its log is pinned and cut goes with the host: hosts that differ in it use different lines. */
function hostSays({ sign, ssh, address, status, pins, end, fork }: CharterHost): JsonValue {
  return { address, end, fork, pins: pins.map(pinSays), sign: sign.text, ssh: ssh.text, status };
}

function signerSays({ key, scopes, status, revocations }: CharterSigner): JsonValue {
  const marks = revocations.map((one) => Object.fromEntries([...one.marks].map(([log, pin]) => [log, pinSays(pin)])));
  return { key: key.text, marks, scopes, status };
}

function delegationSays({ host, key, subjects, kinds, from, upto }: CharterDelegation): JsonValue {
  return { from, host, key: key.text, kinds, subjects, upto };
}

/** What a purge makes of an event: its skeleton, and how far its edges reach. Pure. */
export function purgeSays({ target }: CharterPurge): JsonValue {
  return { target: { ...target } };
}

function pinSays({ seq, link }: Pin): JsonValue {
  return { link, seq };
}

/** The leaf of every charter item. Pure. */
export function charterLeaves(charter: Charter): ReadonlyMap<string, string> {
  return new Map([...charterItems(charter)].map(([key, item]) => [key, sha256Hex(canonicalJson(item))]));
}
