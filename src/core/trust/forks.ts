/** T4: fork-proofs. Two lines of one seq under one key cut the log of their host, on every host alike. */
import { decodeBase64 } from '../../crypto/base64.ts';
import { verifyEd25519 } from '../../crypto/ed25519.ts';
import { ok, refuse, type Result } from '../../crypto/result.ts';
import { lineMessage, linkOf } from '../line.ts';
import { hostLogOf, isKeyOf, signKeyOf, type HostLog } from './host-log.ts';
import { itemState, type Evaluation } from './items.ts';
import type { ForkProofOp } from './op.ts';
import type { Held } from './register.ts';
import type { TrustSet } from './set.ts';
import type { InvalidCode } from './validity.ts';

/**
 * Verdict on a fork-proof, given the op that it says brought the key. The proof rests on that op alone, so the verdict
 * never changes; whether the key is in force at that seq is asked anew of every charter. Pure.
 */
export function judgeForkProof(meshId: string, brought: Held, { body }: ForkProofOp): Result<true, InvalidCode> {
  if (body.mesh !== meshId) return refuse('FOREIGN_MESH', 'made for another mesh');
  const key = signKeyOf(brought)?.raw32;
  if (key === undefined || hostOf(brought) !== body.host || seqOf(body) <= pinOf(brought)) {
    return refuse('KEY_NOT_CURRENT', `that op gives ${body.host} no key for this seq`);
  }
  const isSigned = body.lines.every(({ header, sig }) => {
    const signature = decodeBase64(sig);
    return signature !== undefined && verifyEd25519(key, lineMessage(linkOf(header)), signature);
  });
  return isSigned ? ok(true) : refuse('BAD_SIGNATURE', 'a line of the fork-proof is not signed by that key');
}

/** True iff the first proof cuts lower; of one seq the lower id, so that all hosts keep the same one. Pure. */
export function isLower(left: ForkProofOp, right: ForkProofOp): boolean {
  const seqs = seqOf(left.body) - seqOf(right.body);
  return seqs < 0 || (seqs === 0 && left.id < right.id);
}

/** Seq of the lowest unsettled fork-proof of every host that has one. Pure. */
export function lowestForks(set: TrustSet, evaluation: Evaluation): ReadonlyMap<string, number> {
  const forks = new Map<string, number>();
  for (const host of new Set(Array.from(set.forks.values(), ({ body }) => body.host))) {
    const state = itemState(evaluation, `host:${host}`);
    const fork = state.holder === null ? null : lowestFork(set, host, hostLogOf(state));
    if (fork !== null) forks.set(host, seqOf(fork.body));
  }
  return forks;
}

/** The lowest fork-proof of a host that no pin settles and whose key is in force at its seq. Pure. */
export function lowestFork(set: Pick<TrustSet, 'forks' | 'held'>, host: string, log: HostLog): ForkProofOp | null {
  let lowest: ForkProofOp | null = null;
  for (const [source, proof] of set.forks) {
    if (proof.body.host !== host || (lowest !== null && !isLower(proof, lowest))) continue;
    const brought = set.held.get(source);
    if (brought !== undefined && isUnsettled(log, brought, seqOf(proof.body))) lowest = proof;
  }
  return lowest;
}

/**
 * Where a log ends for everybody nothing is cut any more. So only proofs against the last, open span can cut, and all that
 * rest on one op lie behind its pin: keeping the lowest of them loses nothing.
 */
function isUnsettled({ spans, pins, end }: HostLog, brought: Held, seq: number): boolean {
  if (end !== null) return false;
  const key = signKeyOf(brought);
  const isInForce = spans.some((span) => span.from <= seq && (span.upto ?? seq) >= seq && isKeyOf(span, key));
  return isInForce && pins.every((pin) => pin.seq < seq);
}

function seqOf({ lines }: ForkProofOp['body']): number {
  return lines[0].header.seq;
}

function hostOf({ op }: Held): string | undefined {
  if (op.body.op === 'genesis') return op.body.host.name;
  return op.body.op === 'host-add' || op.body.op === 'host-rekey' ? op.body.name : undefined;
}

function pinOf({ op }: Held): number {
  return op.body.op === 'host-rekey' ? op.body.pin.seq : 0;
}
