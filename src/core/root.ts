/**
 * The root: one hash that is equal on every host that folded the same lines under the same charter and rules, and to which
 * a single record can be proved. Source: docs/fold.md, Root.
 */
import { canonicalJson, type JsonValue } from '../crypto/canonical.ts';
import { sha256Hex } from '../crypto/hash.ts';
import { emptyMerkle, merkleTop, proveLeaf, putLeaf, topOfProof, type MerkleProof, type MerkleTree } from './merkle.ts';
import type { Charter, CharterDelegation, CharterHost, CharterPurge, CharterSigner } from './trust/charter.ts';
import type { Pin } from './trust/op-types.ts';

/** Leaves by key. Mutable. */
export type StateTree = MerkleTree;

/** What a root commits to besides the leaves. */
export interface RootContext {
  readonly rules: number;
  readonly trust: string;
}

/** A tree without leaves. */
export function emptyTree(): StateTree {
  return emptyMerkle();
}

/** Sets the leaf of a key to the digest (64 hex) of what stands there, or removes it with null. */
export function setLeaf(tree: StateTree, key: string, digest: string | null): void {
  putLeaf(tree, pathOf(key), digest);
}

/** sha256 of the JCS of {rules, top, trust}, `top` being the hash of the Merkle tree over all leaves. */
export function rootOf(tree: StateTree, context: RootContext): string {
  return rootWith(merkleTop(tree), context);
}

/** Proves what a root says of a key: the digest of what stands there, or that nothing does. */
export function proveKey(tree: StateTree, key: string): MerkleProof {
  return proveLeaf(tree, pathOf(key));
}

/**
 * What a root says of a key by a proof that anybody may have made: the digest (64 hex) of what stands there, null when
 * nothing does; undefined when the proof is not of this root. Pure.
 */
export function provedDigest(
  proof: MerkleProof,
  { key, root, context }: { readonly key: string; readonly root: string; readonly context: RootContext },
): string | null | undefined {
  const path = pathOf(key);
  const top = topOfProof(path, proof);
  if (top === undefined || rootWith(top, context) !== root) return undefined;
  return proof.leaf?.path === path ? proof.leaf.digest : null;
}

function rootWith(top: string, { rules, trust }: RootContext): string {
  return sha256Hex(JSON.stringify({ rules, top, trust }));
}

/** sha256 of the JCS of [subject, scope], or of [item]: no part of a key holds a space. */
function pathOf(key: string): string {
  return sha256Hex(JSON.stringify(key.split(' ')));
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
