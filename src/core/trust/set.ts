/**
 * The trust set: a grow-only set of ops, closed under ancestry, merged by union. What it holds does not depend on the
 * order of arrival. Source: docs/fold.md T1; docs/format.md, trust ops.
 */
import { canonicalJson, type JsonObject } from '../../crypto/canonical.ts';
import { sha256Hex } from '../../crypto/hash.ts';
import { assert, ok, refuse, type Result } from '../../crypto/result.ts';
import { trustOpsMax, trustPendingMax, trustPrevMax } from '../limits.ts';
import { evaluate, itemState } from './items.ts';
import { checkTrustBody, type SupportedOp, type TrustBody, type TrustOp, type UnsupportedOp } from './op.ts';
import {
  admit,
  ancestryOf,
  byIdOrder,
  byText,
  maximalOf,
  registerOf,
  wholeView,
  type Held,
  type Register,
} from './register.ts';
import { judgeGenesis, judgeOp, judgeSignature, type InvalidCode } from './validity.ts';

/** An op with a missing ancestor, and the peer that brought it. */
export interface PendingOp {
  readonly op: TrustOp;
  readonly peer: string;
}

/**
 * Immutable. `held`: the valid ops, ancestors first. `pending`, by text: set aside until their ancestors arrive; neither
 * relayed nor in the trust hash. `unsupported`: validly approved ops that this version cannot apply. While there is one,
 * the charter may say less than the mesh decided: callers alarm.
 */
export interface TrustSet {
  readonly meshId: string;
  readonly held: ReadonlyMap<string, Held>;
  readonly pending: ReadonlyMap<string, PendingOp>;
  readonly unsupported: ReadonlyMap<string, UnsupportedOp>;
}

/** SET_FULL: the mesh has `trustOpsMax` ops. PENDING_FULL: the peer brought too many ops whose ancestors are missing. */
export type DropCode = InvalidCode | 'SET_FULL' | 'PENDING_FULL';

export interface Dropped {
  readonly id: string;
  readonly code: DropCode;
  readonly detail: string;
}

/**
 * What became of ops. `added`: ids that are valid now and were not, ancestors first (pending ones of earlier calls
 * included). `pending`: ids of this call that wait for an ancestor. `dropped`: refused for good, with the reason.
 * `unsupported`: ids of this call that this version cannot apply, with the name of the op; never empty silently.
 */
export interface Added {
  readonly set: TrustSet;
  readonly added: readonly string[];
  readonly pending: readonly string[];
  readonly dropped: readonly Dropped[];
  readonly unsupported: readonly { readonly id: string; readonly op: string }[];
}

/** The set that knows only which mesh it is of. Pure. */
export function emptyTrustSet(meshId: string): TrustSet {
  return { meshId, held: new Map(), pending: new Map(), unsupported: new Map() };
}

/**
 * Union with more ops. Duplicates change nothing. `peer` names who brought them, so that one peer's junk cannot push out
 * what another brought early. Pure; never throws for what an op says.
 */
export function addOps(set: TrustSet, ops: Iterable<TrustOp>, peer = ''): Added {
  const intake = openIntake(set);
  for (const op of ops) offer(intake, { op, peer });
  const overflow = trimPending(intake);
  const brought = new Set(
    [...intake.pending.values()].filter(({ op }) => intake.offered.has(op.id)).map(({ op }) => op.id),
  );
  return {
    set: { meshId: set.meshId, held: intake.register.byId, pending: intake.pending, unsupported: intake.unsupported },
    added: intake.added,
    pending: [...brought].toSorted(byText),
    dropped: [...intake.dropped, ...overflow],
    unsupported: [...intake.loud].map(([id, op]) => ({ id, op })),
  };
}

/** sha256 of the canonical list of all valid op ids, sorted. Equal on two hosts iff they hold the same set. Pure. */
export function trustHash(set: TrustSet): string {
  return sha256Hex(canonicalJson([...set.held.keys()].toSorted(byText)));
}

/**
 * The same over all ops that are kept: those too that this version cannot apply. Two hosts may agree on what counts while
 * only one of them has heard of such an op. Pure.
 */
export function keptHash(set: TrustSet): string {
  return sha256Hex(canonicalJson([...set.held.keys(), ...set.unsupported.keys()].toSorted(byText)));
}

/** The valid ops, ancestors first. Pure. */
export function validOps(set: TrustSet): readonly SupportedOp[] {
  return Array.from(set.held.values(), ({ op }) => op);
}

/**
 * `prev` of a new op: ids of the maximal counted ops, sorted. If there are more than a `prev` may name, those with most
 * ancestors: the new op then knows as much as one op can. Empty only before the genesis is held. Pure.
 */
export function maximalOps(set: TrustSet): readonly string[] {
  const heads = maximalOf([...set.held.values()]);
  const known = heads.map((held) => ({ held, size: countBits(held.ancestors) }));
  known.sort((left, right) => right.size - left.size || byIdOrder(left.held, right.held));
  return known
    .slice(0, trustPrevMax)
    .map(({ held }) => held.op.id)
    .toSorted(byText);
}

/**
 * What would become of an op with this body once approved, to be asked before a person signs. Refused with the code it
 * would be dropped with, or with the conflict it would cause (CHARTER_FORK, KEY_REUSED). Pure.
 */
export function previewOp(
  set: TrustSet,
  body: TrustBody,
): Result<true, DropCode | 'PENDING' | 'CHARTER_FORK' | 'KEY_REUSED'> {
  const register = registerOf(set.held.values());
  const ancestors = ancestryOf(register, body.prev);
  if (typeof ancestors === 'string') return refuse('PENDING', `the op ${ancestors.slice(0, 12)} is not held here`);
  const verdict = judgeOp(register, set.meshId, { body, unsupported: null }, ancestors);
  if (!verdict.ok) return verdict;
  const held = admit(register, unapproved(body), ancestors);
  const founder = register.byId.get(set.meshId) ?? held;
  const evaluation = evaluate(register, wholeView, founder);
  for (const item of held.claims.keys()) {
    const [conflict] = itemState(evaluation, item).conflicts;
    if (conflict !== undefined) return refuse(conflict.kind, conflict.detail);
  }
  return ok(true);
}

/** The op that a body would be, but for its approval. */
function unapproved(body: TrustBody): SupportedOp {
  const checked = checkTrustBody(body as unknown as JsonObject);
  assert(checked.ok && checked.value.unsupported === null, 'a body made by a builder passes its checks');
  const text = canonicalJson(body as unknown as JsonObject);
  const auth = { key: body.by.key, signer: body.by.signer, sshsig: '' };
  return { id: sha256Hex(text), auth, body, text, keys: checked.value.keys, unsupported: null };
}

/** The mutable side of one `addOps` call. `waiting`: what is set aside, by the first missing ancestor. */
interface Intake {
  readonly meshId: string;
  readonly register: Register;
  readonly pending: Map<string, PendingOp>;
  readonly waiting: Map<string, PendingOp[]>;
  readonly unsupported: Map<string, UnsupportedOp>;
  readonly offered: Set<string>;
  readonly loud: Map<string, string>;
  readonly added: string[];
  readonly dropped: Dropped[];
}

function openIntake(set: TrustSet): Intake {
  const intake: Intake = {
    meshId: set.meshId,
    register: registerOf(set.held.values()),
    pending: new Map(),
    waiting: new Map(),
    unsupported: new Map(set.unsupported),
    offered: new Set(),
    loud: new Map(),
    added: [],
    dropped: [],
  };
  for (const entry of set.pending.values()) setAside(intake, entry, missingAncestor(intake, entry.op) ?? '');
  return intake;
}

function offer(intake: Intake, entry: PendingOp): void {
  intake.offered.add(entry.op.id);
  if (intake.pending.has(entry.op.text)) return;
  for (const queue = [entry]; queue.length > 0;) {
    const next = queue.pop();
    if (next !== undefined) queue.push(...place(intake, next));
  }
}

/** Puts one op where it belongs and hands back those that waited for it. */
function place(intake: Intake, entry: PendingOp): readonly PendingOp[] {
  const { op } = entry;
  intake.pending.delete(op.text);
  if (intake.register.byId.has(op.id)) return [];
  if (op.unsupported !== null && isBeyondJudging(intake.meshId, op)) {
    intake.loud.set(op.id, op.unsupported);
    return [];
  }
  const ancestors = ancestryOf(intake.register, op.auth === null ? [] : op.body.prev);
  if (typeof ancestors === 'string') {
    setAside(intake, entry, ancestors);
    return [];
  }
  const verdict = judge(intake, op, ancestors);
  if (!verdict.ok) {
    intake.dropped.push({ id: op.id, code: verdict.code, detail: verdict.detail });
    return [];
  }
  if (op.unsupported !== null) {
    intake.unsupported.set(op.id, op);
    intake.loud.set(op.id, op.unsupported);
    return [];
  }
  admit(intake.register, op, ancestors);
  intake.added.push(op.id);
  const woken = intake.waiting.get(op.id) ?? [];
  intake.waiting.delete(op.id);
  return woken;
}

/** Not even its approval can be checked: a fork-proof has none, and the genesis may be approved by a key of another type. */
function isBeyondJudging(meshId: string, op: UnsupportedOp): boolean {
  return op.auth === null ? op.body.mesh === meshId : op.id === meshId;
}

function judge(intake: Intake, op: TrustOp, ancestors: Uint32Array): Result<true, DropCode> {
  if (intake.register.byId.size + intake.unsupported.size >= trustOpsMax)
    return refuse('SET_FULL', `the mesh has ${trustOpsMax} trust ops`);
  if (op.body.op === 'genesis') return judgeGenesis(intake.meshId, op);
  const signer = judgeOp(intake.register, intake.meshId, op, ancestors);
  return signer.ok ? judgeSignature(op, signer.value.key) : signer;
}

/** Keyed by text, not id: an op with the same body and a broken approval must not take the place of the real one. */
function setAside(intake: Intake, entry: PendingOp, missing: string): void {
  if (intake.pending.has(entry.op.text)) return;
  intake.pending.set(entry.op.text, entry);
  const list = intake.waiting.get(missing);
  if (list === undefined) intake.waiting.set(missing, [entry]);
  else list.push(entry);
}

function missingAncestor(intake: Intake, op: TrustOp): string | undefined {
  return op.body.prev.find((id) => !intake.register.byId.has(id));
}

/** Keeps the lowest ids of every peer. */
function trimPending(intake: Intake): readonly Dropped[] {
  const kept = new Map<string, number>();
  const dropped: Dropped[] = [];
  const entries = [...intake.pending].toSorted(
    ([leftText, left], [rightText, right]) => byText(left.op.id, right.op.id) || byText(leftText, rightText),
  );
  for (const [text, { op, peer }] of entries) {
    const count = kept.get(peer) ?? 0;
    kept.set(peer, count + 1);
    if (count < trustPendingMax) continue;
    intake.pending.delete(text);
    dropped.push({ id: op.id, code: 'PENDING_FULL', detail: `more than ${trustPendingMax} ops wait for an ancestor` });
  }
  return dropped;
}

function countBits(bits: Uint32Array): number {
  let count = 0;
  for (const word of bits) for (let rest = word; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}
