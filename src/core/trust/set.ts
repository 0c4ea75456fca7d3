/**
 * The trust set: a grow-only set of ops, closed under ancestry, merged by union. What it holds does not depend on the
 * order of arrival. Source: docs/fold.md T1; docs/format.md, trust ops.
 */
import { verifySshsig, type ApprovalVerifier } from '../../crypto/sshsig.ts';
import { canonicalJson, type JsonValue } from '../../crypto/canonical.ts';
import { sha256Hex } from '../../crypto/hash.ts';
import { trustPrevMax } from '../limits.ts';
import { lowestForks } from './forks.ts';
import { closeIntake, offer, openIntake } from './intake.ts';
import { evaluate, type Evaluation } from './items.ts';
import type { ForkProofOp, OfferedOp, SupportedOp, TrustOp, UnsupportedOp } from './op.ts';
import { byIdOrder, byText, maximalOf, registerOf, wholeView, type Held } from './register.ts';
import { counts } from './standing.ts';
import type { InvalidCode, KeyFault } from './validity.ts';

/** An op with a missing ancestor, and the peer that brought it. */
export interface PendingOp {
  readonly op: OfferedOp;
  readonly peer: string;
}

/**
 * Immutable. `held`: the valid ops, ancestors first. `forks`: per op that brought a host its sign key, the valid fork-proof
 * of the lowest seq. `pending`, by text: set aside until their ancestors arrive; neither relayed nor in the trust hash.
 * `unsupported`: validly approved ops of later versions. While there is one, the charter may say less than the mesh
 * decided: callers alarm.
 */
export interface TrustSet {
  readonly meshId: string;
  readonly held: ReadonlyMap<string, Held>;
  readonly forks: ReadonlyMap<string, ForkProofOp>;
  readonly pending: ReadonlyMap<string, PendingOp>;
  readonly unsupported: ReadonlyMap<string, UnsupportedOp>;
}

/**
 * BAD_KEY, KEY_REPEATED: a signer approved an op with keys that are none. SET_FULL: the mesh has `trustOpsMax` ops.
 * PENDING_FULL: the peer brought too many ops whose ancestors are missing. VOID_FULL: of a revoked signer, and it has
 * more void ops than are kept.
 */
export type DropCode = InvalidCode | KeyFault | 'SET_FULL' | 'PENDING_FULL' | 'VOID_FULL';

export interface Dropped {
  readonly id: string;
  readonly code: DropCode;
  readonly detail: string;
}

/**
 * What became of ops. `added`: ids that are valid now and were not, ancestors first (pending ones of earlier calls
 * included). `pending`: ids of this call that wait for an ancestor. `dropped`: refused for good, with the reason.
 * `unsupported`: ids of this call that this version cannot apply, with the name of the op; never empty silently, but for
 * void ops of revoked signers.
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
  return { meshId, held: new Map(), forks: new Map(), pending: new Map(), unsupported: new Map() };
}

/**
 * Union with more ops. Duplicates change nothing. `peer` names who brought them, so that one peer's junk cannot push out
 * what another brought early. `verify`: for a caller who has worked verdicts out before. Pure; never throws for what an op
 * says.
 */
export function addOps(
  set: TrustSet,
  ops: Iterable<OfferedOp>,
  peer = '',
  verify: ApprovalVerifier = verifySshsig,
): Added {
  const intake = openIntake(set, verify);
  for (const op of ops) offer(intake, { op, peer });
  return closeIntake(intake);
}

/**
 * sha256 of the canonical list of all valid op ids, sorted, then [host, seq] of the lowest unsettled fork-proof of each
 * host. Equal on two hosts iff their charters rest on the same ops. Pure.
 */
export function trustHash(set: TrustSet): string {
  const evaluation = set.forks.size === 0 ? undefined : evaluationOf(set);
  return hashOf([...set.held.keys()], evaluation === undefined ? [] : [...lowestForks(set, evaluation)]);
}

/**
 * The same over all ops that are kept: those too that this version cannot apply, and every fork-proof. Two hosts may agree
 * on what counts while only one of them has heard of such an op. Pure.
 */
export function keptHash(set: TrustSet): string {
  const forks = [...set.forks].map(([op, { body }]): [string, number] => [op, body.lines[0].header.seq]);
  return hashOf([...set.held.keys(), ...set.unsupported.keys()], forks);
}

/** The valid ops that a signer approved, ancestors first. Pure. */
export function validOps(set: TrustSet): readonly SupportedOp[] {
  return Array.from(set.held.values(), ({ op }) => op);
}

/** Every op that is kept, stored and passed on: ancestors first. Pure. */
export function keptOps(set: TrustSet): readonly TrustOp[] {
  return [...validOps(set), ...set.forks.values(), ...set.unsupported.values()];
}

/** The kept op with this id. Pure. */
export function keptOp(set: TrustSet, id: string): TrustOp | undefined {
  const op = set.held.get(id)?.op ?? set.unsupported.get(id);
  if (op !== undefined) return op;
  for (const fork of set.forks.values()) if (fork.id === id) return fork;
  return undefined;
}

/** The whole set with its approvers settled; undefined before the genesis is held. Pure. */
export function evaluationOf(set: TrustSet): Evaluation | undefined {
  const founder = set.held.get(set.meshId);
  return founder === undefined ? undefined : evaluate(registerOf(set.held.values()), wholeView, founder);
}

/**
 * `prev` of a new op: ids of the maximal counted ops, sorted. If there are more than a `prev` may name, those with most
 * ancestors: the new op then knows as much as one op can. Empty only before the genesis is held. Pure.
 */
export function maximalOps(set: TrustSet): readonly string[] {
  const evaluation = evaluationOf(set);
  return evaluation === undefined
    ? []
    : headsOf([...set.held.values()].filter((op) => counts(evaluation.standing, op)));
}

/** The same of some ops. Pure. */
export function headsOf(ops: readonly Held[]): readonly string[] {
  const known = maximalOf(ops).map((held) => ({ held, size: countBits(held.ancestors) }));
  known.sort((left, right) => right.size - left.size || byIdOrder(left.held, right.held));
  return known
    .slice(0, trustPrevMax)
    .map(({ held }) => held.op.id)
    .toSorted(byText);
}

/** The trust hash of valid ops with these ids, where the lowest unsettled fork-proofs are these. Pure. */
export function hashOf(ids: readonly string[], forks: readonly (readonly [string, number])[]): string {
  const list: readonly JsonValue[] = [
    ...ids.toSorted(byText),
    ...forks.toSorted(([left], [right]) => byText(left, right)).map(([name, seq]) => [name, seq]),
  ];
  return sha256Hex(canonicalJson(list));
}

function countBits(bits: Uint32Array): number {
  let count = 0;
  for (const word of bits) for (let rest = word; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}
