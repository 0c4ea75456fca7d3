/**
 * The valid ops of one mesh with their exact ancestry, indexed by what they say. Everything in T1 and T2 is asked of a
 * view: a subset of these ops that is closed under ancestry (all of them, or exactly the ancestors of one op).
 *
 * Ancestry is a bit set over the order of admission. That order differs between hosts, so it is never compared: ties are
 * broken by rank, ancestry and id alone.
 */
import { canonicalJson, type JsonValue } from '../../crypto/canonical.ts';
import { assert } from '../../crypto/result.ts';
import type { SshPublicKey } from '../../crypto/ssh-key.ts';
import { keysOf, type Approver, type ClassFields, type RekeyFields, type SupportedOp } from './op.ts';

/** A signer as an approver: name and key together. A second key under the same name is another approver. */
export type Principal = string;

/** What one op says about one item. `equal` is the same text for ops that say the same, descriptions aside. */
export interface ItemClaim {
  readonly equal: string;
  readonly keys: readonly string[];
}

/**
 * A valid op in its place. `scopes`: what its approver had when it approved it, as its ancestors say. `grants` is the
 * approver that it adds, if any.
 */
export interface Held {
  readonly op: SupportedOp;
  readonly index: number;
  readonly ancestors: Uint32Array;
  readonly scopes: readonly string[];
  readonly claims: ReadonlyMap<string, ItemClaim>;
  readonly approver: Principal;
  readonly grants: Principal | null;
}

/** Where an op stands, as found when it was judged. */
export interface Standpoint {
  readonly ancestors: Uint32Array;
  readonly scopes: readonly string[];
}

/** Membership of a subset that is closed under ancestry. */
export type View = (held: Held) => boolean;

export interface Register {
  readonly byId: Map<string, Held>;
  readonly byItem: Map<string, Held[]>;
  readonly byKey: Map<string, Held[]>;
  readonly grantsBy: Map<Principal, Held[]>;
  /** Revocations, by the name of the signer that they end. */
  readonly revokesOf: Map<string, Held[]>;
}

/** Every op. */
export const wholeView: View = () => true;

/** The ops of a bit set. */
export function viewOf(bits: Uint32Array): View {
  return (held) => hasBit(bits, held.index);
}

/** Index over ops in order of admission. Pure. */
export function registerOf(ops: Iterable<Held>): Register {
  const register: Register = {
    byId: new Map(),
    byItem: new Map(),
    byKey: new Map(),
    grantsBy: new Map(),
    revokesOf: new Map(),
  };
  for (const held of ops) enter(register, held);
  return register;
}

/** Puts a valid op into its place and into the index. `ancestors` must be what `ancestryOf` gave for its `prev`. */
export function admit(register: Register, op: SupportedOp, { ancestors, scopes }: Standpoint): Held {
  const held: Held = {
    op,
    index: register.byId.size,
    ancestors,
    scopes,
    claims: claimsOf(op),
    approver: principalOf(op.body.by),
    grants: grantOf(op),
  };
  enter(register, held);
  return held;
}

/** Bit set of all ancestors of an op with these `prev`, or the first id that is not held. Pure. */
export function ancestryOf(register: Register, prev: readonly string[]): Uint32Array | string {
  const bits = new Uint32Array((register.byId.size + 31) >>> 5);
  for (const id of prev) {
    const parent = register.byId.get(id);
    if (parent === undefined) return id;
    uniteInto(bits, parent.ancestors);
    bits[parent.index >>> 5] = (bits[parent.index >>> 5] ?? 0) | (1 << (parent.index & 31));
  }
  return bits;
}

/** True iff `older` is a proper ancestor of `newer`. Pure. */
export function isAncestor(older: Held, newer: Held): boolean {
  return hasBit(newer.ancestors, older.index);
}

/** Bit set of all ancestors of these ops. Pure. */
export function ancestorsOfAll(ops: readonly Held[]): Uint32Array {
  const bits = new Uint32Array(ops.reduce((longest, { ancestors }) => Math.max(longest, ancestors.length), 0));
  for (const held of ops) uniteInto(bits, held.ancestors);
  return bits;
}

/** The ops that are not an ancestor of another of them, in the given order. Pure. */
export function maximalOf(ops: readonly Held[]): readonly Held[] {
  if (ops.length < 2) return ops;
  const older = ancestorsOfAll(ops);
  return ops.filter((held) => !hasBit(older, held.index));
}

/** A key that an op names. Keys were read when the op was. Pure. */
export function keyOf({ op }: Held, text: string): SshPublicKey {
  const key = op.keys.get(text);
  assert(key !== undefined, 'an op holds every key that it names');
  return key;
}

/** Name and key of an approver as one text. Neither holds a space. Pure. */
export function principalOf(by: Approver): Principal {
  return `${by.signer} ${by.key}`;
}

/** By id. Pure. */
export function byIdOrder(left: Held, right: Held): number {
  return byText(left.op.id, right.op.id);
}

/** By UTF-16 units: the same on every host. Pure. */
export function byText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

function enter(register: Register, held: Held): void {
  register.byId.set(held.op.id, held);
  for (const item of held.claims.keys()) push(register.byItem, item, held);
  for (const key of keysOf(held.op.body)) push(register.byKey, key, held);
  if (held.grants !== null) push(register.grantsBy, held.approver, held);
  if (held.op.body.op === 'signer-revoke') push(register.revokesOf, held.op.body.name, held);
}

function push<K>(index: Map<K, Held[]>, key: K, held: Held): void {
  const list = index.get(key);
  if (list === undefined) index.set(key, [held]);
  else list.push(held);
}

function hasBit(bits: Uint32Array, index: number): boolean {
  return (((bits[index >>> 5] ?? 0) >>> (index & 31)) & 1) === 1;
}

function uniteInto(bits: Uint32Array, more: Uint32Array): void {
  for (let word = 0; word < more.length; word += 1) bits[word] = (bits[word] ?? 0) | (more[word] ?? 0);
}

/** The new approver of a signer-add. The founder is added by the genesis and is where ranks start. */
function grantOf(op: SupportedOp): Principal | null {
  if (op.body.op !== 'signer-add') return null;
  const key = op.keys.get(op.body.key);
  return key === undefined ? null : principalOf({ signer: op.body.name, key: key.fingerprint });
}

function claimsOf(op: SupportedOp): ReadonlyMap<string, ItemClaim> {
  const body = op.body;
  switch (body.op) {
    case 'genesis':
      return new Map([
        hostClaim(body.host),
        signerClaim(body.signer),
        ...Object.entries(body.classes).map(([name, fields]) => classClaim(name, fields)),
        ...Object.entries(body.audiences).map(([name, fields]) => claim(`audience:${name}`, fields.includes)),
        ...Object.entries(body.policy).map(([key, value]) => claim(`policy:${key}`, value)),
      ]);
    case 'host-add':
      return new Map([hostClaim(body)]);
    case 'signer-add':
      return new Map([signerClaim(body)]);
    case 'class-add':
      return new Map([classClaim(body.name, body)]);
    case 'host-rekey':
      return new Map([rekeyClaim(body)]);
    case 'host-revoke':
      return new Map([claim(`host:${body.name}`, [body.pin.seq, body.pin.link])]);
    case 'audience-add':
      return new Map([claim(`audience:${body.name}`, body.includes)]);
    case 'policy-set':
      return new Map([claim(`policy:${body.key}`, body.value)]);
    case 'signer-revoke':
    case 'delegate':
    case 'purge':
      return new Map();
  }
}

function hostClaim(host: { name: string; sign: string; ssh: string; address: string }): [string, ItemClaim] {
  return claim(`host:${host.name}`, [host.sign, host.ssh, host.address], [host.sign, host.ssh]);
}

/** Says keys and pin: never the same as an add, which says an address. */
function rekeyClaim({ name, sign, ssh, pin }: RekeyFields): [string, ItemClaim] {
  return claim(`host:${name}`, [sign, ssh, pin.seq, pin.link], [sign, ssh]);
}

function signerClaim(signer: { name: string; key: string; scopes: readonly string[] }): [string, ItemClaim] {
  return claim(`signer:${signer.name}`, [signer.key, signer.scopes], [signer.key]);
}

function classClaim(name: string, fields: ClassFields): [string, ItemClaim] {
  return claim(`class:${name}`, [fields.revise ?? null, fields.claims ?? null]);
}

function claim(item: string, said: JsonValue, keys: readonly string[] = []): [string, ItemClaim] {
  return [item, { equal: canonicalJson(said), keys }];
}
