/** One `addOps` call: every op goes where it belongs, and those that waited for it follow. */
import { ok, refuse, type Result } from '../../crypto/result.ts';
import type { ApprovalVerifier } from '../../crypto/sshsig.ts';
import { trustOpsMax, trustPendingMax, trustRoomTriesMax } from '../limits.ts';
import { isLower, judgeForkProof } from './forks.ts';
import {
  readOpKeys,
  type ApprovedOp,
  type ForkProofOp,
  type OfferedOp,
  type SupportedOp,
  type UnreadOp,
  type UnsupportedOp,
} from './op.ts';
import { admit, ancestryOf, byText, registerOf, type Register, type Standpoint } from './register.ts';
import type { Added, DropCode, Dropped, PendingOp, TrustSet } from './set.ts';
import { judgeGenesis, judgeOp, judgeSignature, type KeyFault, type SignerInEffect } from './validity.ts';
import { boundVoid, isFull, makeRoom, type Trimmed } from './void.ts';

/** The mutable side of one `addOps` call. `waiting`: what is set aside, by the first missing ancestor. */
export interface Intake {
  readonly meshId: string;
  readonly verify: ApprovalVerifier;
  /** Another one once a revocation has made room. */
  register: Register;
  readonly forks: Map<string, ForkProofOp>;
  readonly pending: Map<string, PendingOp>;
  readonly waiting: Map<string, PendingOp[]>;
  readonly unsupported: Map<string, UnsupportedOp>;
  readonly offered: Set<string>;
  readonly loud: Map<string, string>;
  readonly added: string[];
  readonly dropped: Dropped[];
  /** How many revocations were found to make no room in a full set: each costs a look at all of it. */
  vainTries: number;
  /** Size of the register when its void ops were last bounded. */
  boundedAt: number;
}

/** Takes what a set holds. */
export function openIntake(set: TrustSet, verify: ApprovalVerifier): Intake {
  const intake: Intake = {
    meshId: set.meshId,
    verify,
    register: registerOf(set.held.values()),
    forks: new Map(set.forks),
    pending: new Map(),
    waiting: new Map(),
    unsupported: new Map(set.unsupported),
    offered: new Set(),
    loud: new Map(),
    added: [],
    dropped: [],
    vainTries: 0,
    boundedAt: 0,
  };
  for (const entry of set.pending.values()) setAside(intake, entry, missingAncestor(intake, entry.op) ?? '');
  return intake;
}

/** Judges one op and whatever waited for it. */
export function offer(intake: Intake, entry: PendingOp): void {
  intake.offered.add(entry.op.id);
  if (intake.pending.has(entry.op.text)) return;
  for (const queue = [entry]; queue.length > 0;) {
    const next = queue.pop();
    if (next !== undefined) queue.push(...place(intake, next));
  }
}

/** Bounds what is kept beside the counted ops, and says what became of everything. */
export function closeIntake(intake: Intake): Added {
  const overflow = trimPending(intake);
  const { register, dropped, quiet, unsupported } = boundVoid(intake);
  const brought = new Set(
    [...intake.pending.values()].filter(({ op }) => intake.offered.has(op.id)).map(({ op }) => op.id),
  );
  const { meshId, pending } = intake;
  const isHeld = (id: string): boolean => register.byId.has(id);
  const forks = new Map([...intake.forks].filter(([source]) => isHeld(source)));
  const kept = new Set([...register.byId.keys(), ...Array.from(forks.values(), ({ id }) => id)]);
  return {
    set: { meshId, held: register.byId, forks, pending, unsupported },
    added: intake.added.filter((id) => kept.has(id)),
    pending: [...brought].toSorted(byText),
    dropped: [...intake.dropped, ...overflow, ...dropped],
    unsupported: [...intake.loud].flatMap(([id, op]) => (quiet.has(id) ? [] : [{ id, op }])),
  };
}

/** Puts one op where it belongs and hands back those that waited for it. */
function place(intake: Intake, entry: PendingOp): readonly PendingOp[] {
  const { op } = entry;
  intake.pending.delete(op.text);
  if (intake.register.byId.has(op.id)) return [];
  if (op.auth === null) return placeForkProof(intake, entry, op);
  clearVoid(intake);
  const ancestors = ancestryOf(intake.register, op.body.prev);
  if (typeof ancestors === 'string') {
    setAside(intake, entry, ancestors);
    return [];
  }
  const verdict = judge(intake, op, ancestors);
  if (!verdict.ok) {
    intake.dropped.push({ id: op.id, code: verdict.code, detail: verdict.detail });
    return [];
  }
  const { op: read, place } = verdict.value;
  if (read.unsupported !== null) {
    intake.unsupported.set(read.id, read);
    intake.loud.set(read.id, read.unsupported);
    return [];
  }
  if (!isFull(intake)) admit(intake.register, read, place);
  else if (!squeezeIn(intake, read, place)) {
    intake.dropped.push(setFull(op.id));
    return [];
  }
  intake.added.push(op.id);
  const woken = intake.waiting.get(op.id) ?? [];
  intake.waiting.delete(op.id);
  return woken;
}

/** Takes a revocation into a full set, if it makes room for itself: what it voids goes at once, so that others fit again. */
function squeezeIn(intake: Intake, op: SupportedOp, place: Standpoint): boolean {
  const made = intake.vainTries < trustRoomTriesMax ? makeRoom(intake, op, place) : undefined;
  if (made === undefined) {
    intake.vainTries += 1;
    return false;
  }
  replaceBy(intake, made);
  return true;
}

/** Void ops beyond their bound keep nothing out. How often that is looked at is bounded too: it costs a look at all ops. */
function clearVoid(intake: Intake): void {
  const { size } = intake.register.byId;
  if (!isFull(intake) || size < intake.boundedAt + trustVoidStep) return;
  intake.boundedAt = size;
  const trimmed = boundVoid(intake);
  if (trimmed.dropped.length > 0) replaceBy(intake, trimmed);
}

function replaceBy(intake: Intake, { register, unsupported, dropped }: Trimmed): void {
  intake.register = register;
  intake.boundedAt = register.byId.size;
  for (const id of intake.unsupported.keys()) if (!unsupported.has(id)) intake.unsupported.delete(id);
  for (const id of intake.loud.keys()) if (!unsupported.has(id)) intake.loud.delete(id);
  intake.dropped.push(...dropped);
}

function setFull(id: string): Dropped {
  return { id, code: 'SET_FULL', detail: `the mesh has ${trustOpsMax} trust ops` };
}

/** Of the proofs against one key only the lowest is kept: it alone can cut, and a thief can make one for every seq. */
function placeForkProof(intake: Intake, entry: PendingOp, op: ForkProofOp): readonly PendingOp[] {
  const [source] = op.body.prev;
  const known = intake.forks.get(source);
  if (known !== undefined && !isLower(op, known)) return [];
  const brought = intake.register.byId.get(source);
  if (brought === undefined) {
    setAside(intake, entry, source);
    return [];
  }
  const verdict = judgeForkProof(intake.meshId, brought, op);
  if (verdict.ok) {
    intake.forks.set(source, op);
    intake.added.push(op.id);
  } else intake.dropped.push({ id: op.id, code: verdict.code, detail: verdict.detail });
  return [];
}

/** Growth of a register before its void ops are bounded anew. */
const trustVoidStep = 256;

/** An op that a signer approved, its keys read, and where it stands. */
interface Judged {
  readonly op: SupportedOp | UnsupportedOp;
  readonly place: Standpoint;
}

function judge(intake: Intake, op: ApprovedOp | UnreadOp, ancestors: Uint32Array): Result<Judged, DropCode> {
  // Only what may make room for itself is looked at any further.
  if (isFull(intake) && (op.unsupported !== null || op.body.op !== 'signer-revoke')) {
    return refuse('SET_FULL', setFull(op.id).detail);
  }
  const approver = judgeApproval(intake, op, ancestors);
  if (!approver.ok) return approver;
  // Last of all: an op that no signer approved is not worth the reading of its keys.
  const read = op.unsupported === null ? readOpKeys(op) : ok(op);
  if (!read.ok) return read as Result<never, KeyFault>;
  return ok({ op: read.value, place: { ancestors, scopes: approver.value.fields.scopes } });
}

function judgeApproval(
  { register, meshId, verify }: Intake,
  op: ApprovedOp | UnreadOp,
  ancestors: Uint32Array,
): Result<SignerInEffect, DropCode> {
  if (op.body.op === 'genesis') return judgeGenesis(meshId, op);
  const signer = judgeOp(register, meshId, op, ancestors);
  if (!signer.ok) return signer;
  const signature = judgeSignature(op, signer.value.key, verify);
  return signature.ok ? signer : signature;
}

/** Keyed by text, not id: an op with the same body and a broken approval must not take the place of the real one. */
function setAside(intake: Intake, entry: PendingOp, missing: string): void {
  if (intake.pending.has(entry.op.text)) return;
  intake.pending.set(entry.op.text, entry);
  const list = intake.waiting.get(missing);
  if (list === undefined) intake.waiting.set(missing, [entry]);
  else list.push(entry);
}

function missingAncestor(intake: Intake, op: OfferedOp): string | undefined {
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
