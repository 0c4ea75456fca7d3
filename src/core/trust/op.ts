/**
 * Trust ops: the signed statements that the trust set is made of, their parser and their text. An op proves itself, so
 * it counts wherever it is held and whoever carried it. Source: docs/format.md, trust ops; docs/fold.md T.
 */
import {
  canonicalJson,
  isJsonObject,
  parseCanonical,
  type JsonObject,
  type JsonValue,
} from '../../crypto/canonical.ts';
import { sha256Hex } from '../../crypto/hash.ts';
import { assert, ok, refuse, type Result } from '../../crypto/result.ts';
import { parseSshPublicKey, type SshPublicKey } from '../../crypto/ssh-key.ts';
import { fitsUtf8 } from '../../crypto/text.ts';
import type { Auth } from '../event.ts';
import type { ForkProofBody, OpStem, Pin, TrustBody } from './op-types.ts';
import { jsonDepthMax, trustDelegationLinesMax, trustOpBytesMax } from '../limits.ts';
import { linkOf } from '../line.ts';
import { authCheck, bodyChecks, forkProofCheck, stemMembers } from './op-fields.ts';

/** SSHSIG namespace of trust ops: an approval of an event can never pass for one of an op, nor the reverse. */
export const trustNamespace = 'memd-trust';

export type * from './op-types.ts';

/** Key texts of a body and what they say: reading one costs milliseconds, so it is done once per op. */
export type TrustKeys = ReadonlyMap<string, SshPublicKey>;

/** An op of this version. `text` is its one canonical form, auth included; `id` = sha256 of the body's canonical form. */
export interface SupportedOp {
  readonly id: string;
  readonly auth: Auth;
  readonly body: TrustBody;
  readonly text: string;
  readonly keys: TrustKeys;
  readonly unsupported: null;
}

/**
 * The same of which no key was read yet: reading them is dear, and what a stranger hands in is not worth it. See
 * `readOpKeys`.
 */
export interface UnreadOp extends Omit<SupportedOp, 'keys'> {
  readonly keys: null;
}

/** Two lines of one seq, signed by one host: its own proof. Whether the key is that host's is for the trust set to say. */
export interface ForkProofOp {
  readonly id: string;
  readonly auth: null;
  readonly body: ForkProofBody;
  readonly text: string;
  readonly unsupported: null;
}

/**
 * A well-formed op of a later version; `unsupported` is its name. It never counts and is never ignored: `addOps`
 * reports it.
 */
export interface UnsupportedOp {
  readonly id: string;
  readonly auth: Auth;
  readonly body: OpStem;
  readonly text: string;
  readonly unsupported: string;
}

/** An op that a signer approved. */
export type ApprovedOp = SupportedOp | UnsupportedOp;

export type TrustOp = ApprovedOp | ForkProofOp;

/** What may be handed to a trust set. */
export type OfferedOp = TrustOp | UnreadOp;

/**
 * Why a text is no trust op. NOT_CANONICAL: other bytes than a writer writes (with the reason). TOO_LONG. BAD_FIELD: a
 * member is missing, unknown or malformed, or two members contradict one another. BAD_KEY: a key that is none, weak or
 * oddly spelled, or a host key that is not ed25519. AUTH_MISMATCH: `auth` and `by` name different approvers.
 * KEY_REPEATED: one op uses a key in two places. NO_CHARTER_SIGNER: a genesis whose signer could never approve anything.
 */
export type TrustOpFault =
  | 'TOO_LONG'
  | 'NOT_CANONICAL'
  | 'BAD_FIELD'
  | 'BAD_KEY'
  | 'AUTH_MISMATCH'
  | 'KEY_REPEATED'
  | 'NO_CHARTER_SIGNER';

/**
 * Parses one trust op. Checks the form and the keys; whether it is valid is a matter of its ancestry (`addOps`). Ops that
 * this version cannot apply parse too, with `unsupported` set. Pure.
 */
export function parseTrustOp(text: string): Result<TrustOp, TrustOpFault> {
  const op = parseTrustForm(text);
  if (!op.ok) return op;
  return op.value.unsupported === null && op.value.auth !== null ? readOpKeys(op.value) : ok(op.value);
}

/** The same without its keys: what costs milliseconds for each is left to whoever knows that a signer approved it. Pure. */
export function parseTrustForm(text: string): Result<OfferedOp, TrustOpFault> {
  if (!fitsUtf8(text, trustOpBytesMax)) return refuse('TOO_LONG', `longer than ${trustOpBytesMax} bytes`);
  const parsed = parseCanonical(text, { depthMax: jsonDepthMax });
  if (!parsed.ok) return refuse('NOT_CANONICAL', parsed.detail);
  if (!isJsonObject(parsed.value)) return refuse('BAD_FIELD', 'not an object');
  const { auth, body, ...rest } = parsed.value;
  if (!isJsonObject(body)) return refuse('BAD_FIELD', 'body must be an object');
  const extra = Object.keys(rest)[0];
  if (extra !== undefined) return refuse('BAD_FIELD', `unknown member ${extra}`);
  if (body['op'] === 'fork-proof') {
    return auth === undefined ? forkProof(body, text) : refuse('BAD_FIELD', 'a fork-proof has no auth');
  }
  const authFault = authCheck(auth ?? null);
  if (authFault !== undefined) return refuse('BAD_FIELD', `auth ${authFault}`);
  return readOp(auth as unknown as Auth, body, text);
}

/** The op with its keys. Refuses BAD_KEY, KEY_REPEATED, and AUTH_MISMATCH for a genesis. Pure. */
export function readOpKeys(op: SupportedOp | UnreadOp): Result<SupportedOp, TrustOpFault> {
  if (op.keys !== null) return ok(op);
  const keys = readKeys(op.body);
  return keys.ok ? ok({ ...op, keys: keys.value }) : keys;
}

/** A body that passed its checks: its keys, or what this version cannot apply about it. */
export type CheckedBody =
  | { readonly unsupported: null; readonly keys: TrustKeys }
  | { readonly unsupported: string; readonly keys: null };

/**
 * Checks the body of an op: its field table, its keys, then the rules that span fields. With `unsupported` null it is a
 * `TrustBody`. Pure.
 */
export function checkTrustBody(body: JsonObject): Result<CheckedBody, TrustOpFault> {
  const form = checkForm(body);
  if (!form.ok) return form;
  if (form.value !== null) return ok({ unsupported: form.value, keys: null });
  const keys = readKeys(body as unknown as TrustBody);
  return keys.ok ? ok({ unsupported: null, keys: keys.value }) : keys;
}

/** Everything but the keys. @returns the name of an op that this version cannot apply, else null. */
function checkForm(body: JsonObject): Result<string | null, TrustOpFault> {
  const op = body['op'];
  const check = typeof op === 'string' ? bodyChecks.get(op) : undefined;
  const fault = check === undefined ? stemFault(body) : check(body);
  if (fault !== undefined) return refuse('BAD_FIELD', fault);
  if (check === undefined) return ok(op as string);
  // The table was checked: the shape is that of the op it names.
  const known = body as unknown as TrustBody;
  if (known.op === 'genesis' && !known.signer.scopes.includes('charter')) {
    return refuse('NO_CHARTER_SIGNER', 'the first signer needs the scope charter');
  }
  const contradiction = contradictionIn(known);
  return contradiction === undefined ? ok(null) : refuse('BAD_FIELD', contradiction);
}

/** What two members of a body say against one another. */
function contradictionIn(body: TrustBody): string | undefined {
  switch (body.op) {
    case 'genesis':
      return Object.hasOwn(body.audiences, 'operator') ? undefined : 'audiences must declare operator';
    case 'host-rekey':
    case 'host-revoke':
      return isPlace(body.mesh, body.pin) ? undefined : pinBeforeTheLog;
    case 'signer-revoke':
      return Object.values(body.marks).every((mark) => isPlace(body.mesh, mark)) ? undefined : pinBeforeTheLog;
    case 'delegate':
      if (body.from > body.upto) return 'from must not be above upto';
      return body.upto - body.from < trustDelegationLinesMax
        ? undefined
        : `a delegation lends at most ${trustDelegationLinesMax} lines`;
    default:
      return undefined;
  }
}

const pinBeforeTheLog = 'the link at seq 0 is the mesh id, and no other link is';

/** Before the first line there is only one link. */
function isPlace(mesh: string, { seq, link }: Pin): boolean {
  return (seq === 0) === (link === mesh);
}

/** What the approver of an op signs, in namespace `memd-trust`. Pure. */
export function trustOpMessage(body: TrustBody | OpStem): string {
  return canonicalJson(body as unknown as JsonValue);
}

/** Puts body and approval together and parses the result as a stranger would. Pure. */
export function finishTrustOp(
  body: TrustBody,
  approval: { readonly signer: string; readonly key: string; readonly sshsig: string },
): Result<ApprovedOp, TrustOpFault> {
  const { key, signer, sshsig } = approval;
  const op = parseTrustOp(canonicalJson({ auth: { key, signer, sshsig }, body: body as unknown as JsonObject }));
  if (!op.ok) return op;
  assert(op.value.auth !== null, 'an op with an approval is no fork-proof');
  return ok(op.value);
}

/** The text of a fork-proof. Pure. */
export function forkProofText(body: ForkProofBody): string {
  return canonicalJson({ body: body as unknown as JsonObject });
}

/** Every key text that an op brings into the charter. Pure. */
export function keysOf(body: TrustBody): readonly string[] {
  switch (body.op) {
    case 'genesis':
      return [body.signer.key, body.host.sign, body.host.ssh];
    case 'host-add':
      return [body.sign, body.ssh];
    case 'signer-add':
      return [body.key];
    case 'host-rekey':
      return [body.sign, body.ssh];
    default:
      return [];
  }
}

function readOp(auth: Auth, body: JsonObject, text: string): Result<OfferedOp, TrustOpFault> {
  const form = checkForm(body);
  if (!form.ok) return form;
  const stem = body as unknown as OpStem;
  if (stem.by.signer !== auth.signer || stem.by.key !== auth.key) {
    return refuse('AUTH_MISMATCH', 'auth and by name different approvers');
  }
  const id = sha256Hex(canonicalJson(body));
  if (form.value !== null) return ok({ id, auth, body: stem, text, unsupported: form.value });
  return ok({ id, auth, body: body as unknown as TrustBody, text, keys: null, unsupported: null });
}

function forkProof(body: JsonObject, text: string): Result<ForkProofOp, TrustOpFault> {
  const fault = forkProofCheck(body);
  if (fault !== undefined) return refuse('BAD_FIELD', fault);
  const known = body as unknown as ForkProofBody;
  const [{ header: left }, { header: right }] = known.lines;
  const isOfOnePlace = [left, right].every(
    ({ mesh, log, seq }) => mesh === known.mesh && log === known.host && seq === left.seq,
  );
  if (!isOfOnePlace) return refuse('BAD_FIELD', 'both lines must be of one seq in the log of that host and mesh');
  if (linkOf(left) >= linkOf(right)) return refuse('BAD_FIELD', 'lines must be two, in order of their links');
  return ok({ id: sha256Hex(canonicalJson(body)), auth: null, body: known, text, unsupported: null });
}

/** Only the stem of an op that this version does not know can be checked; its arguments are nobody's yet. */
function stemFault(body: JsonObject): string | undefined {
  for (const [name, check] of Object.entries(stemMembers)) {
    const member = body[name];
    const fault = member === undefined ? 'is missing' : check(member);
    if (fault !== undefined) return `${name} ${fault}`;
  }
  return undefined;
}

/** Key texts that an op only refers to. */
function otherKeysOf(body: TrustBody): readonly string[] {
  return body.op === 'delegate' ? [body.key] : [];
}

/** Reads every key of a body. A signer may have a key of any type that approvals are verified by, a host only ed25519. */
function readKeys(body: TrustBody): Result<TrustKeys, TrustOpFault> {
  const keys = new Map<string, SshPublicKey>();
  const texts = [...keysOf(body), ...otherKeysOf(body)];
  const signerKey = signerKeyOf(body);
  for (const text of texts) {
    const key = parseSshPublicKey(text);
    if (!key.ok) return refuse('BAD_KEY', key.detail);
    if (text !== signerKey && key.value.type !== 'ssh-ed25519')
      return refuse('BAD_KEY', `a host has ed25519 keys, this one is ${key.value.type}`);
    keys.set(text, key.value);
  }
  if (keys.size < texts.length) return refuse('KEY_REPEATED', 'one key in two places of one op');
  const founder = body.op === 'genesis' ? body.signer : undefined;
  if (
    founder !== undefined &&
    (body.by.signer !== founder.name || body.by.key !== keys.get(founder.key)?.fingerprint)
  ) {
    return refuse('AUTH_MISMATCH', 'a genesis is approved by the signer that it names');
  }
  return ok(keys);
}

function signerKeyOf(body: TrustBody): string | undefined {
  if (body.op === 'genesis') return body.signer.key;
  return body.op === 'signer-add' ? body.key : undefined;
}
