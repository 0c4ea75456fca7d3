/** The trust set of this home: read from branch `trust`, grown by what verifies, written back before it counts. */
import { randomBytes } from 'node:crypto';
import { parseCanonical } from '../../crypto/canonical.ts';
import { refuse, type Result } from '../../crypto/result.ts';
import { jsonDepthMax, trustIdleFilesMax } from '../../core/limits.ts';
import {
  audienceAddBody,
  classAddBody,
  delegateBody,
  hostAddBody,
  hostRekeyBody,
  hostRevokeBody,
  policySetBody,
  purgeBody,
  signerAddBody,
  signerRevokeBody,
  type DraftFault,
  type Placement,
  type Stamp,
} from '../../core/trust/build.ts';
import { charterOf, type Charter } from '../../core/trust/charter.ts';
import {
  finishTrustOp,
  parseTrustOp,
  type Approver,
  type OfferedOp,
  type SupportedOp,
  type TrustBody,
  type TrustOp,
} from '../../core/trust/op.ts';
import {
  addOps,
  emptyTrustSet,
  keptHash,
  keptOp,
  keptOps,
  maximalOps,
  trustHash,
  type Added,
  type TrustSet,
} from '../../core/trust/set.ts';
import { headsOfSigners, headsWithout, previewOp } from '../../core/trust/preview.ts';
import type { Repository } from '../../store/git/repository.ts';
import { addTrustOps, readTrust } from '../../store/trust-store.ts';
import { checkOpsAhead } from '../beliefs/approval-checks.ts';
import { Refusal } from '../refusal.ts';
import { signerOfKey } from './signer-of.ts';

export interface TrustState {
  readonly set: TrustSet;
  readonly charter: Charter;
  readonly hash: string;
  /** Hash over all ops of the branch, those too that this version cannot apply. */
  readonly kept: string;
  /** Commit of branch `trust`; '' before there is one. */
  readonly oid: string;
  /** Ids of the op files of the branch. The set may hold fewer: void ops of revoked signers and fork-proofs are bounded. */
  readonly files: ReadonlySet<string>;
  /** How many op files the branch has had in all: this only grows. */
  readonly filesEver: number;
  /** Files of the branch that were no op of this mesh when it was read: an alarm, not an end. */
  readonly unreadable: readonly UnreadableOp[];
}

/** `id`: as the file is named. */
export interface UnreadableOp {
  readonly id: string;
  readonly detail: string;
}

/** Reads branch `trust`. */
export async function readTrustState(repository: Repository, meshId: string): Promise<TrustState> {
  const stored = await readTrust(repository);
  const ops: TrustOp[] = [];
  const unreadable: UnreadableOp[] = [];
  for (const { id, text } of stored.ops) {
    const parsed = parseTrustOp(text);
    if (!parsed.ok) unreadable.push({ id, detail: parsed.detail });
    else if (parsed.value.id !== id)
      unreadable.push({ id, detail: `the file holds op ${parsed.value.id.slice(0, 12)}` });
    if (parsed.ok) ops.push(parsed.value);
  }
  const { set, dropped } = addOps(emptyTrustSet(meshId), ops, '', await checkOpsAhead(ops));
  // What a revocation made void later is no damage, however much of it there is.
  const damaged = dropped.filter(({ code }) => code !== 'VOID_FULL');
  unreadable.push(...damaged.map(({ id, detail }) => ({ id, detail })));
  const files = new Set(stored.ops.map(({ id }) => id));
  return stateOf(set, { oid: stored.oid ?? '', files, filesEver: files.size + stored.dropped, unreadable });
}

/** Adds what verifies, durably. `added` is empty when nothing was new. */
export async function growTrust(
  repository: Repository,
  state: TrustState,
  options: { readonly ops: readonly OfferedOp[]; readonly via: string; readonly host: string },
): Promise<{ readonly state: TrustState; readonly report: Added }> {
  const verify = await checkOpsAhead(options.ops, heldOps(state.set));
  const report = addOps(state.set, options.ops, options.via, verify);
  // Ops that this version cannot apply are kept and relayed all the same: the mesh decided them.
  const later = [...report.set.unsupported.keys()].filter((id) => !state.set.unsupported.has(id));
  const added = [...report.added, ...later];
  const texts = added.map((id) => ({ id, text: textOf(report.set, id) }));
  const drop = idleFiles(state, report.set);
  const oid = await addTrustOps(repository, {
    ops: texts,
    drop,
    author: `memd <${options.host}@${state.set.meshId}>`,
    seconds: newestSeconds(report.set, added),
  });
  const { unreadable } = state;
  const files = new Set([...state.files, ...added]);
  const filesEver = state.filesEver + files.size - state.files.size;
  for (const id of drop) files.delete(id);
  return { state: stateOf(report.set, { oid: oid ?? '', files, filesEver, unreadable }), report };
}

/**
 * Files that the set has no use for, once there are too many: whoever has the key of a host or of a revoked signer can
 * make lower fork-proofs and void ops without end. What cannot be judged here stays, and what waits for it.
 */
function idleFiles({ files, unreadable }: TrustState, set: TrustSet): readonly string[] {
  const waiting = Array.from(set.pending.values(), ({ op }) => op.id);
  const used = new Set([...keptOps(set), ...unreadable].map(({ id }) => id).concat(waiting));
  const idle = [...files].filter((id) => !used.has(id));
  return idle.length > trustIdleFilesMax ? idle : [];
}

function heldOps(set: TrustSet): readonly SupportedOp[] {
  return Array.from(set.held.values(), ({ op }) => op);
}

function stateOf(set: TrustSet, branch: Pick<TrustState, 'oid' | 'files' | 'filesEver' | 'unreadable'>): TrustState {
  return { set, charter: charterOf(set), hash: trustHash(set), kept: keptHash(set), ...branch };
}

function textOf(set: TrustSet, id: string): string {
  return keptOp(set, id)?.text ?? '';
}

/** Claimed time of the newest of these ops, for the commit's date: display only. */
function newestSeconds(set: TrustSet, ids: readonly string[]): number {
  const times = ids.map((id) => {
    const op = keptOp(set, id);
    return op === undefined || op.auth === null ? Number.NaN : Date.parse(op.body.at);
  });
  return Math.floor(Math.max(0, ...times.filter(Number.isFinite)) / 1_000);
}

/** Time and nonce of a new op. */
export function newStamp(): Stamp {
  return { at: new Date().toISOString(), nonce: randomBytes(16).toString('hex') };
}

/** A builder takes what came over the local API as it is: what is malformed, the op's own table refuses. */
type Builder = (input: never, stamp: Stamp) => Result<TrustBody, DraftFault>;

/** Every op that a person approves on this host; the genesis is made by `init`. */
export type DraftOp = Exclude<TrustBody['op'], 'genesis'>;

const builders: Readonly<Record<DraftOp, Builder>> = {
  'host-add': hostAddBody,
  'host-rekey': hostRekeyBody,
  'host-revoke': hostRevokeBody,
  'signer-add': signerAddBody,
  'signer-revoke': signerRevokeBody,
  'class-add': classAddBody,
  'audience-add': audienceAddBody,
  'policy-set': policySetBody,
  delegate: delegateBody,
  purge: purgeBody,
};

export const draftOps: readonly DraftOp[] = Object.keys(builders) as DraftOp[];

/**
 * Arguments of an op as they came over the local API; the op's own table judges them. They are the members of docs/format.md
 * F3.6 under their names, in any order: `host-rekey` {name, sign, ssh, pin: {seq, link}}, `host-revoke` {name, pin},
 * `signer-revoke` {name, marks: {HOST: {seq, link}}}, `audience-add` {name, includes}, `policy-set` {key, value}, `delegate`
 * {host, key, subjects, kinds, from, upto}, `purge` {targets, reason}. A `signer-revoke` may also name ops of the signer
 * that it leaves out of its ancestry, so that they fall: {leaveOut: [ID, …]}, or 'all'.
 */
export type DraftArgs = Readonly<Record<string, unknown>>;

/**
 * Drafts an op for the signer with this key, and says beforehand if it could not count. Refuses SIGNER_UNKNOWN,
 * OP_REFUSED.
 */
export function draftOp(
  state: TrustState,
  request: { readonly op: DraftOp; readonly args: DraftArgs; readonly key: string },
): TrustBody {
  const { name, key } = signerOfKey(state.charter, request.key);
  const { leaveOut, ...args } = request.args;
  // What a revocation does not know of its target's ops falls: `trust.preview` lists it before anybody signs.
  const out = Array.isArray(leaveOut) ? leaveOut.filter((id): id is string => typeof id === 'string') : [];
  const known = out.length === 0 ? maximalOps(state.set) : headsWithout(state.set, out);
  const prev = leaveOut === 'all' ? headsOfSigners(state.set, [name, String(args.name)]) : known;
  const placement: Placement = { mesh: state.set.meshId, by: { signer: name, key: key.fingerprint }, prev };
  const body = bodyOf(request.op, { ...args, ...placement });
  if (!body.ok) throw refusedOp(request.op, body.detail);
  const verdict = previewOp(state.set, body.value);
  if (!verdict.ok) throw refusedOp(request.op, verdict.detail);
  return body.value;
}

/** Arguments of the wrong type altogether (no list where one belongs) are refused like those of the wrong form. */
function bodyOf(op: DraftOp, input: object): Result<TrustBody, DraftFault> {
  try {
    return builders[op](input as never, newStamp());
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return refuse('BAD_FIELD', 'an argument is missing or of another type');
  }
}

function refusedOp(op: string, detail: string): Refusal {
  return new Refusal({
    code: 'OP_REFUSED',
    message: `${op} would not count: ${detail}`,
    hint: 'memctl charter shows what is in effect; nothing was signed',
    exit: 6,
  });
}

/** Puts a drafted body and a signature together. Refuses OP_REFUSED if that is no op. */
export function signedOp(body: string, sshsig: string): TrustOp {
  const drafted = parseCanonical(body, { depthMax: jsonDepthMax });
  if (!drafted.ok) throw refusedOp('the op', drafted.detail);
  const { by } = (drafted.value ?? {}) as { readonly by?: Partial<Approver> };
  const { signer = '', key = '' } = by ?? {};
  const op = finishTrustOp(drafted.value as unknown as TrustBody, { signer, key, sshsig });
  if (op.ok) return op.value;
  throw refusedOp('the op', op.detail);
}
