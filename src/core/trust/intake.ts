/** One `addOps` call: every op goes where it belongs, and those that waited for it follow. */
import { ok, refuse, type Result } from '../../crypto/result.ts';
import type { ApprovalVerifier } from '../../crypto/sshsig.ts';
import { trustOpsMax, trustPendingMax } from '../limits.ts';
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
import { trimVoid } from './void.ts';

/** The mutable side of one `addOps` call. `waiting`: what is set aside, by the first missing ancestor. */
export interface Intake {
  readonly meshId: string;
  readonly verify: ApprovalVerifier;
  readonly register: Register;
  readonly forks: Map<string, ForkProofOp>;
  readonly pending: Map<string, PendingOp>;
  readonly waiting: Map<string, PendingOp[]>;
  readonly unsupported: Map<string, UnsupportedOp>;
  readonly offered: Set<string>;
  readonly loud: Map<string, string>;
  readonly added: string[];
  readonly dropped: Dropped[];
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
  const { register, dropped, quiet, ...trimmed } = trimVoid(intake);
  const brought = new Set(
    [...intake.pending.values()].filter(({ op }) => intake.offered.has(op.id)).map(({ op }) => op.id),
  );
  const { meshId, pending } = intake;
  // What rests on a void op that is not kept goes with it: a thief could bring both again and again.
  const isHeld = (id: string): boolean => register.byId.has(id);
  const forks = new Map([...intake.forks].filter(([source]) => isHeld(source)));
  const unsupported = new Map([...trimmed.unsupported].filter(([, { body }]) => body.prev.every(isHeld)));
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
  admit(intake.register, read, place);
  intake.added.push(op.id);
  const woken = intake.waiting.get(op.id) ?? [];
  intake.waiting.delete(op.id);
  return woken;
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

/** An op that a signer approved, its keys read, and where it stands. */
interface Judged {
  readonly op: SupportedOp | UnsupportedOp;
  readonly place: Standpoint;
}

function judge(intake: Intake, op: ApprovedOp | UnreadOp, ancestors: Uint32Array): Result<Judged, DropCode> {
  if (intake.register.byId.size + intake.unsupported.size >= trustOpsMax)
    return refuse('SET_FULL', `the mesh has ${trustOpsMax} trust ops`);
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
