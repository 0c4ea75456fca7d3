/** What would become of an op, to be asked before a person signs it. */
import { canonicalJson, type JsonObject } from '../../crypto/canonical.ts';
import { sha256Hex } from '../../crypto/hash.ts';
import { assert, ok, refuse, type Result } from '../../crypto/result.ts';
import { trustOpsMax } from '../limits.ts';
import { evaluate, itemState, type Evaluation } from './items.ts';
import { checkTrustBody, type SupportedOp, type TrustBody } from './op.ts';
import { admit, ancestryOf, isAncestor, registerOf, wholeView, type Held } from './register.ts';
import { coversEverything } from './scope.ts';
import { evaluationOf, headsOf, type DropCode, type TrustSet } from './set.ts';
import { counts, nameOf } from './standing.ts';
import { judgeOp } from './validity.ts';
import { isFull, makeRoom } from './void.ts';

/**
 * Why an op should not be signed: what it would be dropped with; PENDING: it names an op that is not held here; the
 * conflict that it would cause; NO_EFFECT: it would be valid and change nothing, as `detail` says.
 */
export type PreviewFault = DropCode | 'PENDING' | 'CHARTER_FORK' | 'KEY_REUSED' | 'NO_EFFECT';

/** What would become of an op with this body once approved. Pure. */
export function previewOp(set: TrustSet, body: TrustBody): Result<true, PreviewFault> {
  const placed = placeIn(set, body);
  if (!placed.ok) return placed;
  const { held, evaluation } = placed.value;
  if (!hasRoom(set, held)) {
    const detail = `the mesh has ${trustOpsMax} trust ops; room is made by the revocation of a signer that leaves out most of that signer's: memctl signer revoke NAME --void all`;
    return refuse('SET_FULL', detail);
  }
  if (!counts(evaluation.standing, held)) {
    return refuse('NO_EFFECT', `a revocation of ${body.by.signer} that it does not know would void it`);
  }
  for (const item of held.claims.keys()) {
    const [conflict] = itemState(evaluation, item).conflicts;
    if (conflict !== undefined) return refuse(conflict.kind, conflict.detail);
  }
  const idle = idleReason(evaluation, held);
  return idle === undefined ? ok(true) : refuse('NO_EFFECT', idle);
}

/**
 * Ids of the ops that count now and would not once a signer approved this body, ancestors first. Empty for a body that
 * would not be valid. Pure.
 */
export function fallenBy(set: TrustSet, body: TrustBody): readonly string[] {
  const placed = placeIn(set, body);
  if (!placed.ok) return [];
  const after = countedIn(placed.value.evaluation);
  const before = evaluationOf(set);
  return before === undefined ? [] : [...countedIn(before)].filter((id) => !after.has(id));
}

/**
 * `prev` of a revocation that does not know some ops: what a thief approved falls if the revocation of that signer leaves it
 * out. So it may not name anything that descends from them; ops of others among these count all the same. Pure.
 */
export function headsWithout(set: TrustSet, leaveOut: readonly string[]): readonly string[] {
  const evaluation = evaluationOf(set);
  if (evaluation === undefined) return [];
  const out = leaveOut.flatMap((id) => set.held.get(id) ?? []);
  const counted = [...set.held.values()].filter((held) => counts(evaluation.standing, held));
  return headsOf(counted.filter((held) => !out.some((other) => other === held || isAncestor(other, held))));
}

/**
 * `prev` of a revocation that knows nothing but who its approver and its target are. Hosts whose sets are full of what one
 * signer made hold different ops; whoever holds an op of that signer has its add, so the revocation counts there. Pure.
 */
export function headsOfSigners(set: TrustSet, names: readonly string[]): readonly string[] {
  const evaluation = evaluationOf(set);
  if (evaluation === undefined) return [];
  return headsOf(names.flatMap((name) => itemState(evaluation, `signer:${name}`).holder ?? []));
}

function hasRoom({ meshId, held, unsupported }: TrustSet, next: Held): boolean {
  const all = { meshId, register: registerOf(held.values()), unsupported: new Map(unsupported) };
  return !isFull(all) || (next.op.body.op === 'signer-revoke' && makeRoom(all, next.op, next) !== undefined);
}

/** The op in its place among the others, as if approved, if it would be valid. Pure. */
export function placeIn(
  set: TrustSet,
  body: TrustBody,
): Result<{ readonly held: Held; readonly evaluation: Evaluation }, PreviewFault> {
  const register = registerOf(set.held.values());
  const ancestors = ancestryOf(register, body.prev);
  if (typeof ancestors === 'string') return refuse('PENDING', `the op ${ancestors.slice(0, 12)} is not held here`);
  const verdict = judgeOp(register, set.meshId, { body, unsupported: null }, ancestors);
  if (!verdict.ok) return verdict;
  const held = admit(register, unapproved(body), { ancestors, scopes: verdict.value.fields.scopes });
  const founder = register.byId.get(set.meshId) ?? held;
  return ok({ held, evaluation: evaluate(register, wholeView, founder) });
}

function countedIn({ register, standing }: Evaluation): ReadonlySet<string> {
  return new Set([...register.byId.values()].filter((held) => counts(standing, held)).map(({ op }) => op.id));
}

/** Why an op that counts changes nothing. */
function idleReason({ standing }: Evaluation, held: Held): string | undefined {
  const { body } = held.op;
  if (body.op === 'signer-revoke') {
    const isInForce = [...standing.cuts].some(
      ([principal, cuts]) => nameOf(principal) === body.name && cuts.includes(held),
    );
    return isInForce ? undefined : `${body.name} ranks before ${body.by.signer}, or is the last charter signer`;
  }
  if (body.op !== 'purge') return undefined;
  return coversEverything(held.scopes) ? undefined : `the scopes of ${body.by.signer} do not cover every subject`;
}

/** The op that a body would be, but for its approval. */
function unapproved(body: TrustBody): SupportedOp {
  const checked = checkTrustBody(body as unknown as JsonObject);
  assert(checked.ok && checked.value.unsupported === null, 'a body made by a builder passes its checks');
  const text = canonicalJson(body as unknown as JsonObject);
  const auth = { key: body.by.key, signer: body.by.signer, sshsig: '' };
  return { id: sha256Hex(text), auth, body, text, keys: checked.value.keys, unsupported: null };
}
