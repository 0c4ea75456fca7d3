/** sign.draft: what a person would sign, as exact bytes, and what that would do. Nothing is written. */
import { scopeOf, type Auth, type Body } from '../../core/event.ts';
import { eventView, type Fold } from '../../core/fold/fold.ts';
import type { CharterSigner } from '../../core/trust/charter.ts';
import { claimJson, type ClaimJson } from '../../core/views/claim-json.ts';
import { canonicalJson, type JsonValue } from '../../crypto/canonical.ts';
import { sha256Hex } from '../../crypto/hash.ts';
import type { SignDraftJson, SignRequest } from '../api/sign-json.ts';
import type { Engine } from '../engine.ts';
import { fullIds } from '../full-ids.ts';
import { requireAppendable } from '../own/own-log.ts';
import { gateTransactions } from '../own/secret-gate.ts';
import { planOf, type Plan } from './plan.ts';
import { openQuestions, shown } from './sides.ts';
import { requireCovers, signerOfKey } from '../trust/signer-of.ts';

/**
 * Drafts an approved event. Refuses before anybody is asked for a passphrase: NOTHING_TO_SIGN, SERVED_CLAIM, SIGNER_SCOPE,
 * SIGNER_UNKNOWN, LINE_TOO_LONG, SECRET_FOUND, and what an append refuses.
 */
export async function draftApproval(engine: Engine, request: SignRequest): Promise<SignDraftJson> {
  const fold = await engine.beliefs.fold();
  const { host } = engine.identity;
  const signer = request.key === undefined ? undefined : signerOfKey(fold.charter, request.key);
  const named = {
    supersedes: fullIds(request.supersedes ?? [], fold),
    leave: fullIds(request.leave ?? [], fold),
  };
  const desk = { fold, named, mesh: engine.meshId, host, session: request.session ?? 'sign', signer: signer?.name };
  const plan = planOf(desk, request);
  const { body } = plan;
  requireCovers(fold.charter, signer, subjectsOf(fold, body));
  requireAppendable({ body, auth: likelyAuth(signer) }, fold.charter);
  const [gated] = (await gateTransactions([{ status: 'fulfilled', value: [{ body, auth: null }] }], fold, host))
    .prepared;
  if (gated?.status === 'rejected') throw gated.reason;
  return draftJson(fold, plan, signer);
}

/** What is signed about: the event's own subject, and those of everything that it replaces. */
function subjectsOf(fold: Fold, { subject, supersedes = [] }: Body): readonly string[] {
  return [...new Set([subject, ...supersedes.flatMap((id) => eventView(fold, id)?.subject ?? [])])];
}

/** As long as the shortest approval: what does not fit beside it fits beside none. */
function likelyAuth(signer: CharterSigner | undefined): Auth {
  const blobBytes = signer?.key.blob.length ?? 51;
  return { key: 'x'.repeat(50), signer: signer?.name ?? 'x', sshsig: 'x'.repeat(4 * Math.ceil((blobBytes + 130) / 3)) };
}

function draftJson(
  fold: Fold,
  { body, existing, replacement }: Plan,
  signer: CharterSigner | undefined,
): SignDraftJson {
  const text = canonicalJson(body as unknown as JsonValue);
  const id = sha256Hex(text);
  const replaced = (body.supersedes ?? []).map((id) => ({ id, view: eventView(fold, id) }));
  return {
    body: text,
    id,
    subject: body.subject,
    signer: signer?.name ?? null,
    mesh: body.mesh,
    existing,
    replaces: replaced.flatMap((one) => claimsAt(fold, one.id)),
    unknown: replaced.filter(({ view }) => view === undefined).map(({ id }) => id),
    withdrawnBy: (eventView(fold, id)?.by ?? []).flatMap((one) => claimsAt(fold, one)),
    agrees: shown(replacement.agrees),
    leaves: shown(replacement.leaves),
    questions: openQuestions(fold, body.subject, scopeOf(body)),
  };
}

function claimsAt(fold: Fold, id: string): readonly ClaimJson[] {
  const view = eventView(fold, id);
  return view === undefined ? [] : [claimJson(view)].flatMap((claim) => claim ?? []);
}
