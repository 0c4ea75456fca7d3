/**
 * The charter: what the trust set amounts to. T2 over all counted ops, item by item. Source: docs/fold.md T2.
 */
import type { SshPublicKey } from '../../crypto/ssh-key.ts';
import { verifySshsig } from '../../crypto/sshsig.ts';
import { assert } from '../../crypto/result.ts';
import type { Auth } from '../event.ts';
import type {
  Charter,
  CharterAlarm,
  CharterAudience,
  CharterClass,
  CharterHost,
  CharterPolicy,
  CharterSigner,
  Origin,
  OriginSpan,
} from './charter-types.ts';
import { evaluate, itemState, type Evaluation } from './items.ts';
import type { ClassFields, GenesisBody, HostFields, UnsupportedOp } from './op.ts';
import { byText, registerOf, wholeView, type Held } from './register.ts';
import { scopeCovers } from './scope.ts';
import type { TrustSet } from './set.ts';
import { approverRank } from './standing.ts';
import { signerFields } from './validity.ts';

export type * from './charter-types.ts';

/** What the set amounts to, from scratch. Pure. */
export function charterOf(set: TrustSet): Charter {
  const draft = emptyDraft();
  const founder = set.held.get(set.meshId);
  if (founder !== undefined) {
    const register = registerOf(set.held.values());
    const evaluation: Evaluation = evaluate(register, wholeView, founder);
    for (const item of [...register.byItem.keys()].toSorted(byText)) addItem(draft, evaluation, item);
  }
  for (const op of set.unsupported.values()) draft.conflicts.push(unsupportedAlarm(op));
  const name = founder?.op.body.op === 'genesis' ? founder.op.body.name : '';
  return { meshId: set.meshId, name, ...draft, delegations: [], purges: new Map() };
}

/**
 * Verdict on a human approval of `message` about `subject`. `unknown`: the charter has no such signer. `forged`: not by
 * that signer's key, or it does not verify in `namespace`. `out-of-scope`: a real approval that the signer's scopes do not
 * cover. `unsupported`: by a signer whose key this version cannot check. Pure.
 */
export function approvalVerdict(
  charter: Charter,
  auth: Auth,
  about: { readonly message: string; readonly namespace: string; readonly subject: string },
): 'ok' | 'forged' | 'unknown' | 'out-of-scope' | 'unsupported' {
  const signer = charter.signers.get(auth.signer);
  if (signer === undefined) return isUnsupportedSigner(charter, auth.signer) ? 'unsupported' : 'unknown';
  if (signer.key.fingerprint !== auth.key) return 'forged';
  const { message, namespace } = about;
  const verdict = verifySshsig({ sshsig: auth.sshsig, namespace, message, key: signer.key });
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

/** An op that adds something with a key of an unsupported type is about that item; of other ops only the kind is known. */
function unsupportedAlarm({ id, body, unsupported }: UnsupportedOp): CharterAlarm {
  const { op, name } = body as UnsupportedOp['body'] & { readonly name?: string };
  const item = op === 'signer-add' || op === 'host-add' ? `${op.slice(0, -4)}:${name ?? ''}` : op;
  return { kind: 'OP_UNSUPPORTED', item, ops: [id], detail: `not supported yet: ${unsupported}` };
}

function isUnsupportedSigner(charter: Charter, name: string): boolean {
  return charter.conflicts.some(({ kind, item }) => kind === 'OP_UNSUPPORTED' && item === `signer:${name}`);
}

interface Draft {
  readonly hosts: Map<string, CharterHost>;
  readonly signers: Map<string, CharterSigner>;
  readonly classes: Map<string, CharterClass>;
  readonly audiences: Map<string, CharterAudience>;
  readonly policy: Map<string, CharterPolicy>;
  readonly conflicts: CharterAlarm[];
}

function emptyDraft(): Draft {
  return {
    hosts: new Map(),
    signers: new Map(),
    classes: new Map(),
    audiences: new Map(),
    policy: new Map(),
    conflicts: [],
  };
}

function addItem(draft: Draft, evaluation: Evaluation, item: string): void {
  const { holder, conflicts } = itemState(evaluation, item);
  for (const { kind, ops, detail } of conflicts) draft.conflicts.push({ kind, item, ops, detail });
  if (holder === null) return;
  const colon = item.indexOf(':');
  const name = item.slice(colon + 1);
  const origin: Origin = { op: holder.op.id, by: holder.op.body.by };
  switch (item.slice(0, colon)) {
    case 'host':
      draft.hosts.set(name, hostOf(holder, origin));
      break;
    case 'signer':
      draft.signers.set(name, signerOf(evaluation, holder, origin));
      break;
    case 'class':
      draft.classes.set(name, classOf(holder, name, origin));
      break;
    case 'audience':
      draft.audiences.set(name, { ...origin, includes: genesisOf(holder).audiences[name]?.includes ?? [] });
      break;
    default:
      draft.policy.set(name, { ...origin, value: genesisOf(holder).policy[name] ?? '' });
  }
}

/** Audiences and policy are items that only a genesis can set in this version. */
function genesisOf(holder: Held): GenesisBody {
  const body = holder.op.body;
  assert(body.op === 'genesis', 'audiences and policy come from the genesis');
  return body;
}

function hostOf(holder: Held, origin: Origin): CharterHost {
  const body = holder.op.body;
  assert(body.op === 'genesis' || body.op === 'host-add', 'a host item is set by genesis or host-add');
  const fields: HostFields = body.op === 'genesis' ? body.host : body;
  const sign = keyOf(holder, fields.sign);
  assert(sign.raw32 !== undefined, 'a supported host key is ed25519');
  const spans: readonly OriginSpan[] = [{ key: sign.raw32, from: 1, upto: null, op: origin.op }];
  return {
    ...origin,
    name: fields.name,
    sign,
    ssh: keyOf(holder, fields.ssh),
    address: fields.address,
    status: 'active',
    spans,
    pins: [],
    end: null,
    fork: null,
  };
}

function signerOf(evaluation: Evaluation, holder: Held, origin: Origin): CharterSigner {
  const fields = signerFields(holder);
  assert(fields !== undefined, 'a signer item is set by genesis or signer-add');
  const approver = approverRank(evaluation.standing, holder).number;
  const rank = holder.op.body.op === 'genesis' ? approver : approver + 1;
  return {
    ...origin,
    name: fields.name,
    key: keyOf(holder, fields.key),
    scopes: fields.scopes,
    rank,
    status: 'active',
    revocations: [],
  };
}

function classOf(holder: Held, name: string, origin: Origin): CharterClass {
  const body = holder.op.body;
  assert(body.op === 'genesis' || body.op === 'class-add', 'a class item is set by genesis or class-add');
  const fields: ClassFields | undefined = body.op === 'genesis' ? body.classes[name] : body;
  assert(fields !== undefined, 'the op names its class');
  return { ...origin, description: fields.description, revise: fields.revise ?? null, claims: fields.claims ?? null };
}

/** Keys were read when the op was. */
function keyOf(holder: Held, text: string): SshPublicKey {
  const key = holder.op.keys.get(text);
  assert(key !== undefined, 'an op holds every key that it names');
  return key;
}
