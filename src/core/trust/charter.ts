/**
 * The charter: what the trust set amounts to. T2 over all counted ops, item by item. Source: docs/fold.md T2.
 */
import { verifySshsig, type ApprovalVerifier } from '../../crypto/sshsig.ts';
import type { Auth } from '../event.ts';
import { addItem, emptyDraft } from './charter-items.ts';
import { delegationsOf, purgesOf } from './charter-lists.ts';
import type { Charter, CharterAlarm } from './charter-types.ts';
import type { UnsupportedOp } from './op.ts';
import { byText } from './register.ts';
import { scopeCovers } from './scope.ts';
import { evaluationOf, type TrustSet } from './set.ts';
import { counts } from './standing.ts';
import { mayCount } from './void.ts';

export type * from './charter-types.ts';

/** What the set amounts to, from scratch. Pure. */
export function charterOf(set: TrustSet): Charter {
  const draft = emptyDraft();
  const evaluation = evaluationOf(set);
  if (evaluation !== undefined) {
    for (const item of [...evaluation.register.byItem.keys()].toSorted(byText))
      addItem(draft, { set, evaluation, item });
  }
  const later = [...set.unsupported.values()].toSorted((left, right) => byText(left.id, right.id));
  for (const op of later) if (mayCount(evaluation, op)) draft.conflicts.push(unsupportedAlarm(op));
  const founder = set.held.get(set.meshId)?.op.body;
  const name = founder?.op === 'genesis' ? founder.name : '';
  const counted =
    evaluation === undefined ? [] : [...set.held.values()].filter((op) => counts(evaluation.standing, op));
  return {
    meshId: set.meshId,
    name,
    ...draft,
    delegations: delegationsOf(counted, draft.hosts),
    purges: purgesOf(counted),
  };
}

/**
 * Verdict on a human approval of `message` about `subject`. `unknown`: the charter has no such signer. `forged`: not by
 * that signer's key, or it does not verify in `namespace`. `out-of-scope`: a real approval that the signer's scopes do not
 * cover. A revoked signer is judged like any other: up to where its word stands is for the fold. `verify`: who does the
 * mathematics, or knows its answer already. Pure.
 */
export function approvalVerdict(
  charter: Charter,
  auth: Auth,
  about: { readonly message: string; readonly namespace: string; readonly subject: string },
  verify: ApprovalVerifier = verifySshsig,
): 'ok' | 'forged' | 'unknown' | 'out-of-scope' {
  const signer = charter.signers.get(auth.signer);
  if (signer === undefined) return 'unknown';
  if (signer.key.fingerprint !== auth.key) return 'forged';
  const { message, namespace } = about;
  const verdict = verify({ sshsig: auth.sshsig, namespace, message, key: signer.key });
  if (!verdict.ok) return 'forged';
  return scopeCovers(signer.scopes, about.subject) ? 'ok' : 'out-of-scope';
}

/**
 * Every declared audience whose events one audience gets to see: itself, what it includes, what those include. Includes
 * may go round in circles; undeclared names add nothing. Empty for an undeclared audience. Pure.
 */
export function audienceClosure(charter: Charter, audience: string): ReadonlySet<string> {
  const reached = new Set<string>();
  for (const queue = [audience]; queue.length > 0;) {
    const next = queue.pop() ?? '';
    const declared = charter.audiences.get(next);
    if (declared === undefined || reached.has(next)) continue;
    reached.add(next);
    queue.push(...declared.includes);
  }
  return reached;
}

/** What an op of a later version is about nobody here can tell. */
function unsupportedAlarm({ id, body, unsupported }: UnsupportedOp): CharterAlarm {
  return { kind: 'OP_UNSUPPORTED', item: body.op, ops: [id], detail: `not supported yet: ${unsupported}` };
}
