/** T1: whether an op is valid, judged on exactly its ancestors, so that the answer never changes. */
import { ok, refuse, type Result } from '../../crypto/result.ts';
import type { SshPublicKey } from '../../crypto/ssh-key.ts';
import { verifySshsig } from '../../crypto/sshsig.ts';
import { itemState, evaluate, countedOps, type Evaluation } from './items.ts';
import { trustNamespace, trustOpMessage, type SignerFields, type SupportedOp, type TrustOp } from './op.ts';
import { viewOf, type Held, type Register } from './register.ts';
import { mayGrant } from './scope.ts';

/**
 * Why an op whose ancestors are all held is invalid, for ever. FOREIGN_MESH: made for another mesh, or a genesis that is
 * not the pinned one. NOT_A_SIGNER: its ancestors do not make `by` a signer with that key. OUT_OF_SCOPE: `by` lacks the
 * scope `charter` (`purge` for a purge). SCOPE_NOT_HELD: it grants more than `by` has. NAME_TAKEN: host and signer names
 * are used once. BAD_SIGNATURE: the approval does not verify.
 */
export type InvalidCode =
  | 'FOREIGN_MESH'
  | 'NOT_A_SIGNER'
  | 'OUT_OF_SCOPE'
  | 'SCOPE_NOT_HELD'
  | 'NAME_TAKEN'
  | 'BAD_SIGNATURE';

/** What the ancestors of an op know about its approver. */
export interface SignerInEffect {
  readonly fields: SignerFields;
  readonly key: SshPublicKey;
}

/** Verdict on the genesis of the pinned mesh: approved by the signer that it names. Pure. */
export function judgeGenesis(meshId: string, op: TrustOp): Result<true, InvalidCode> {
  if (op.unsupported !== null || op.body.op !== 'genesis' || op.id !== meshId) {
    return refuse('FOREIGN_MESH', 'a genesis other than that of this mesh');
  }
  const key = op.keys.get(op.body.signer.key);
  return key !== undefined
    ? judgeSignature(op, key)
    : refuse('NOT_A_SIGNER', 'the key of the first signer is not usable');
}

/** Everything but the signature. `ancestors` is the exact ancestry, all of it valid. Pure. */
export function judgeOp(
  register: Register,
  meshId: string,
  op: Pick<TrustOp, 'body' | 'unsupported'>,
  ancestors: Uint32Array,
): Result<SignerInEffect, InvalidCode> {
  const founder = register.byId.get(meshId);
  if (founder === undefined || op.body.op === 'genesis' || (op.body as { mesh?: string }).mesh !== meshId) {
    return refuse('FOREIGN_MESH', 'made for another mesh');
  }
  const evaluation = evaluate(register, viewOf(ancestors), founder);
  const { signer: name, key } = op.body.by;
  const signer = signerIn(evaluation, name);
  if (signer === undefined || signer.key.fingerprint !== key) {
    return refuse('NOT_A_SIGNER', `${name} with this key was no signer when this was approved`);
  }
  const power = op.body.op === 'purge' ? 'purge' : 'charter';
  if (!signer.fields.scopes.includes(power)) return refuse('OUT_OF_SCOPE', `${name} lacks the scope ${power}`);
  if (op.unsupported !== null) return ok(signer);
  return judgeArguments(evaluation, (op as SupportedOp).body, signer);
}

/** Verdict on the approval alone. Pure. */
export function judgeSignature(op: TrustOp, key: SshPublicKey): Result<true, 'BAD_SIGNATURE'> {
  if (op.auth === null) return refuse('BAD_SIGNATURE', 'no approval');
  const message = trustOpMessage(op.body);
  const verdict = verifySshsig({ sshsig: op.auth.sshsig, namespace: trustNamespace, message, key });
  return verdict.ok ? verdict : refuse('BAD_SIGNATURE', verdict.detail);
}

function judgeArguments(
  evaluation: Evaluation,
  body: SupportedOp['body'],
  signer: SignerInEffect,
): Result<SignerInEffect, InvalidCode> {
  switch (body.op) {
    case 'signer-add': {
      const beyond = body.scopes.find((scope) => !mayGrant(signer.fields.scopes, scope));
      if (beyond !== undefined) return refuse('SCOPE_NOT_HELD', `${signer.fields.name} cannot grant ${beyond}`);
      return judgeName(evaluation, `signer:${body.name}`, signer);
    }
    case 'host-add':
      return judgeName(evaluation, `host:${body.name}`, signer);
    default:
      return ok(signer);
  }
}

/** A name is used once; the only second op about it is one that ends a fork. */
function judgeName(evaluation: Evaluation, item: string, signer: SignerInEffect): Result<SignerInEffect, InvalidCode> {
  if (countedOps(evaluation, item).length === 0) return ok(signer);
  const forked = itemState(evaluation, item).conflicts.some(({ kind }) => kind === 'CHARTER_FORK');
  return forked ? ok(signer) : refuse('NAME_TAKEN', `${item} exists already, and names are used once`);
}

function signerIn(evaluation: Evaluation, name: string): SignerInEffect | undefined {
  const { holder } = itemState(evaluation, `signer:${name}`);
  const fields = holder === null ? undefined : signerFields(holder);
  const key = fields === undefined ? undefined : holder?.op.keys.get(fields.key);
  return fields === undefined || key === undefined ? undefined : { fields, key };
}

/** What an op says about the signer that it adds, if it adds one. Pure. */
export function signerFields(held: Held): SignerFields | undefined {
  const body = held.op.body;
  if (body.op === 'genesis') return body.signer;
  return body.op === 'signer-add' ? body : undefined;
}
