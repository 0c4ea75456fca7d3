/** sign.submit: a body and a signature over it become a line of this host's log, whoever said the body first. */
import { eventNamespace, parseBody, scopeOf, type Auth, type Body } from '../../core/event.ts';
import { eventView, recordsOf, type Fold } from '../../core/fold/fold.ts';
import { jsonDepthMax } from '../../core/limits.ts';
import { readAuth } from '../../core/line.ts';
import { approvalVerdict, type CharterSigner } from '../../core/trust/charter.ts';
import { isJsonObject, parseCanonical } from '../../crypto/canonical.ts';
import { sha256Hex } from '../../crypto/hash.ts';
import type { Params } from '../api/api-types.ts';
import type { SignedJson } from '../api/sign-json.ts';
import { counted } from '../counted.ts';
import type { Engine } from '../engine.ts';
import { Refusal } from '../refusal.ts';
import { peersOf } from '../../mesh/node.ts';
import { holdersOfOwn } from '../peers/replication.ts';
import { requireNotPurged } from '../purge/purge-plan.ts';
import { isActive, requireCovers } from '../trust/signer-of.ts';

/**
 * Verifies against the charter, then appends. An approval that stands already is answered, not appended twice. Refuses
 * APPROVAL_REFUSED, SIGNER_SCOPE, and what an append refuses.
 */
export async function submitApproval(
  engine: Engine,
  { body: text, sshsig, key, offline }: Params<'sign.submit'>,
): Promise<SignedJson> {
  const fold = await engine.beliefs.fold();
  const body = readBody(text, engine.meshId);
  const { auth, signer } = verifiedAuth(fold, { text, sshsig, key, subject: body.subject });
  requireCovers(fold.charter, signer, [body.subject]);
  const id = sha256Hex(text);
  requireNotPurged(fold.charter, id);
  const before = eventView(fold, id);
  const changed = changedSince(fold, id, body);
  const stood = before?.level === 'signed' && before.signers.includes(auth.signer);
  const transaction = { events: [], session: body.session, approved: [{ body, auth }] };
  const [line] = stood ? [] : await engine.append(transaction, { offline });
  const after = await engine.beliefs.fold();
  const own = line?.seq ?? before?.lines.find(({ log }) => log === engine.identity.host)?.seq;
  return {
    id,
    signer: auth.signer,
    supersedes: body.supersedes ?? [],
    subject: body.subject,
    kind: body.kind,
    host: line?.host ?? null,
    seq: line?.seq ?? null,
    replicated: own === undefined ? 0 : holdersOfOwn(engine, own).length,
    peers: peersOf(engine.charter(), engine.identity.host).length,
    status: eventView(after, id)?.status ?? 'held',
    notes: [
      ...(stood ? ['this approval stood here already; nothing was appended'] : changed),
      ...standing(after, id, body),
    ],
  };
}

function readBody(text: string, mesh: string): Body {
  const parsed = parseCanonical(text, { depthMax: jsonDepthMax });
  if (!parsed.ok) throw refused(`these are not the bytes of an event: ${parsed.detail}`, unchanged);
  if (!isJsonObject(parsed.value)) throw refused('an event is an object', unchanged);
  const body = parseBody(parsed.value);
  if (!body.ok) throw refused(`this is no event: ${body.detail}`, unchanged);
  if (body.value.mesh === mesh) return body.value;
  throw refused(
    `this was drafted for another mesh, ${body.value.mesh.slice(0, 12)}`,
    'hand it in on a host of that mesh: memctl --home DIR sign --finish FILE',
  );
}

const unchanged = 'sign the file as it was written, and hand in both: not a byte of it may change';

/** The approval, and whose it is. A signature names its key, so only one signer can be meant. */
function verifiedAuth(
  fold: Fold,
  given: { readonly text: string; readonly sshsig: string; readonly key: string | undefined; readonly subject: string },
): { readonly auth: Auth; readonly signer: CharterSigner } {
  const { text, sshsig, key, subject } = given;
  const about = { message: text, namespace: eventNamespace, subject };
  for (const signer of fold.charter.signers.values()) {
    if (key !== undefined && signer.key.fingerprint !== key) continue;
    const auth = readAuth({ key: signer.key.fingerprint, signer: signer.name, sshsig });
    if (auth === undefined) throw refused('the signature is not canonical base64', unchanged);
    const verdict = approvalVerdict(fold.charter, auth, about);
    if (verdict !== 'ok' && verdict !== 'out-of-scope') continue;
    if (isActive(signer)) return { auth, signer };
    throw refused(`signer ${signer.name} was revoked: this approval would not stand`, 'another signer may sign it');
  }
  throw refused(
    'no signer of this mesh made this signature over exactly these bytes in namespace memd-event',
    'memctl signer list shows whose word counts; the namespace is part of a signature: ssh-keygen -Y sign -n memd-event',
  );
}

/** What the draft counted on and is not so any more. The approval is valid all the same. */
function changedSince(fold: Fold, id: string, { supersedes = [] }: Body): string[] {
  return supersedes.flatMap((target) => {
    const view = eventView(fold, target);
    const name = target.slice(0, 12);
    if (view === undefined) return [`${name}, which it supersedes, is not known here yet`];
    const by = view.by.filter((one) => one !== id);
    return by.length === 0
      ? []
      : [`${name}, which it supersedes, was withdrawn before by ${by[0]?.slice(0, 12) ?? ''}`];
  });
}

/** What still stands against it. */
function standing(fold: Fold, id: string, body: Body): string[] {
  const view = eventView(fold, id);
  if (view === undefined || body.kind === 'retract' || body.kind === 'pin') return [];
  if (view.by.length > 0) return [`it was superseded by ${view.by[0]?.slice(0, 12) ?? ''} meanwhile: it is not served`];
  const parked = recordsOf(fold, body.subject).find(({ scope }) => scope === scopeOf(body))?.parked.count ?? 0;
  if (view.status === 'parked') return [`it is parked: ${view.reason ?? 'other signed claims say otherwise'}`];
  return parked === 0
    ? []
    : [
        `${counted(parked, 'claim')} beside it ${parked === 1 ? 'says' : 'say'} otherwise: memctl recall ${body.subject}`,
      ];
}

function refused(message: string, hint: string): Refusal {
  return new Refusal({ code: 'APPROVAL_REFUSED', message: `${message}; nothing was appended`, hint, exit: 6 });
}
