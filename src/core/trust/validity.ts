/** T1: whether an op is valid, judged on exactly its ancestors, so that the answer never changes. */
import { ok, refuse, type Result } from '../../crypto/result.ts';
import type { SshPublicKey } from '../../crypto/ssh-key.ts';
import { verifySshsig, type ApprovalVerifier } from '../../crypto/sshsig.ts';
import { judgeArguments } from './arguments.ts';
import { addedBy, evaluate, itemState, signerFields, type Evaluation } from './items.ts';
import {
  readOpKeys,
  trustNamespace,
  trustOpMessage,
  type ApprovedOp,
  type SignerFields,
  type SupportedOp,
  type UnreadOp,
} from './op.ts';
import { principalOf, viewOf, type Register } from './register.ts';
import { isActive } from './standing.ts';

/**
 * Why an op whose ancestors are all held is invalid, for ever. FOREIGN_MESH: made for another mesh, or a genesis that
 * is not the pinned one. NOT_A_SIGNER: its ancestors do not make `by` a signer with that key, or have revoked it.
 * OUT_OF_SCOPE: `by` lacks the scope `charter` (`purge` for a purge). SCOPE_NOT_HELD: it grants more than `by` has.
 * NAME_TAKEN: host and signer names are used once. NO_SUCH_ITEM: the host or signer that it is about does not exist, or
 * not any more. OUTRANKED: it revokes a signer who ranks before `by`. LAST_SIGNER: it would leave no charter signer.
 * PIN_BELOW: a rekey may not unsettle what an earlier pin settled. KEY_USED: a rekey with a key that the host had
 * before. KEY_NOT_CURRENT: a delegation, or a fork-proof, names a key that is not the host's. BAD_SIGNATURE: the
 * approval, or a line of a fork-proof, does not verify.
 */
export type InvalidCode =
  | 'FOREIGN_MESH'
  | 'NOT_A_SIGNER'
  | 'OUT_OF_SCOPE'
  | 'SCOPE_NOT_HELD'
  | 'NAME_TAKEN'
  | 'NO_SUCH_ITEM'
  | 'OUTRANKED'
  | 'LAST_SIGNER'
  | 'PIN_BELOW'
  | 'KEY_USED'
  | 'KEY_NOT_CURRENT'
  | 'BAD_SIGNATURE';

/** What is wrong with the keys of an op that were read when a signer had approved it. */
export type KeyFault = 'BAD_KEY' | 'KEY_REPEATED' | 'AUTH_MISMATCH';

/** What the ancestors of an op know about its approver. */
export interface SignerInEffect {
  readonly fields: SignerFields;
  readonly key: SshPublicKey;
}

/** Verdict on the genesis of the pinned mesh: approved by the signer that it names. Pure. */
export function judgeGenesis(
  meshId: string,
  op: ApprovedOp | UnreadOp,
): Result<SignerInEffect, InvalidCode | KeyFault> {
  if (op.unsupported !== null || op.body.op !== 'genesis' || op.id !== meshId) {
    return refuse('FOREIGN_MESH', 'a genesis other than that of this mesh');
  }
  const read = readOpKeys(op);
  if (!read.ok) return read as Result<never, KeyFault>;
  const fields = op.body.signer;
  const key = read.value.keys.get(fields.key);
  if (key === undefined) return refuse('NOT_A_SIGNER', 'the key of the first signer is not usable');
  const signature = judgeSignature(op, key);
  return signature.ok ? ok({ fields, key }) : signature;
}

/** Everything but the signature. `ancestors` is the exact ancestry, all of it valid. Pure. */
export function judgeOp(
  register: Register,
  meshId: string,
  op: Pick<ApprovedOp, 'body' | 'unsupported'>,
  ancestors: Uint32Array,
): Result<SignerInEffect, InvalidCode> {
  const founder = register.byId.get(meshId);
  if (founder === undefined || op.body.op === 'genesis' || (op.body as { mesh?: string }).mesh !== meshId) {
    return refuse('FOREIGN_MESH', 'made for another mesh');
  }
  const { signer: name, key } = op.body.by;
  const stranger = refuse('NOT_A_SIGNER', `${name} with this key was no signer when this was approved`);
  // Most of what a hostile peer hands in: no look at the ancestry is spent on it.
  const isKnown = register.byItem.get(`signer:${name}`)?.some((held) => addedBy(held) === principalOf(op.body.by));
  if (isKnown !== true) return stranger;
  const evaluation = evaluate(register, viewOf(ancestors), founder);
  const signer = signerIn(evaluation, name);
  if (signer === undefined || signer.key.fingerprint !== key) return stranger;
  const power = op.body.op === 'purge' ? 'purge' : 'charter';
  if (!signer.fields.scopes.includes(power)) return refuse('OUT_OF_SCOPE', `${name} lacks the scope ${power}`);
  if (op.unsupported !== null) return ok(signer);
  const verdict = judgeArguments(evaluation, (op as SupportedOp).body, signer.fields);
  return verdict.ok ? ok(signer) : verdict;
}

/** Verdict on the approval alone. `verify`: who does the mathematics, or knows its answer already. Pure. */
export function judgeSignature(
  op: ApprovedOp | UnreadOp,
  key: SshPublicKey,
  verify: ApprovalVerifier = verifySshsig,
): Result<true, 'BAD_SIGNATURE'> {
  const message = trustOpMessage(op.body);
  const verdict = verify({ sshsig: op.auth.sshsig, namespace: trustNamespace, message, key });
  return verdict.ok ? verdict : refuse('BAD_SIGNATURE', verdict.detail);
}

/** The signer of this name, unless a revocation is in force against it. */
function signerIn(evaluation: Evaluation, name: string): SignerInEffect | undefined {
  const { holder } = itemState(evaluation, `signer:${name}`);
  const principal = holder === null ? null : addedBy(holder);
  if (holder === null || principal === null || !isActive(evaluation.standing, principal)) return undefined;
  const fields = signerFields(holder);
  const key = fields === undefined ? undefined : holder.op.keys.get(fields.key);
  return fields === undefined || key === undefined ? undefined : { fields, key };
}
