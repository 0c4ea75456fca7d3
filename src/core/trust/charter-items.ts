/** T2 in the words of the charter: what each kind of item has as its value. Source: docs/fold.md T2, T3. */
import { assert } from '../../crypto/result.ts';
import { linkOf } from '../line.ts';
import type {
  CharterAlarm,
  CharterAudience,
  CharterClass,
  CharterHost,
  CharterPolicy,
  CharterSigner,
  Origin,
  SignerRevocation,
} from './charter-types.ts';
import { lowestFork } from './forks.ts';
import { hostLogOf, lowestPin, signKeyOf } from './host-log.ts';
import { addedBy, itemState, signerFields, type Evaluation, type ItemState } from './items.ts';
import type { ClassFields } from './op.ts';
import { byIdOrder, byText, keyOf, type Held } from './register.ts';
import type { TrustSet } from './set.ts';
import { approverRank } from './standing.ts';

/** The items of a charter in the making. */
export interface Draft {
  readonly hosts: Map<string, CharterHost>;
  readonly signers: Map<string, CharterSigner>;
  readonly classes: Map<string, CharterClass>;
  readonly audiences: Map<string, CharterAudience>;
  readonly policy: Map<string, CharterPolicy>;
  readonly conflicts: CharterAlarm[];
}

/** Nothing said yet. */
export function emptyDraft(): Draft {
  return {
    hosts: new Map(),
    signers: new Map(),
    classes: new Map(),
    audiences: new Map(),
    policy: new Map(),
    conflicts: [],
  };
}

/** An item of an evaluated set. */
export interface ItemPlace {
  readonly set: TrustSet;
  readonly evaluation: Evaluation;
  readonly item: string;
}

/** Adds what the ops of one item amount to. */
export function addItem(draft: Draft, place: ItemPlace): void {
  const { evaluation, item } = place;
  const state = itemState(evaluation, item);
  const { holder } = state;
  for (const { kind, ops, detail } of state.conflicts) draft.conflicts.push({ kind, item, ops, detail });
  if (holder === null) return;
  const colon = item.indexOf(':');
  const name = item.slice(colon + 1);
  const origin: Origin = { op: holder.op.id, by: holder.op.body.by };
  switch (item.slice(0, colon)) {
    case 'host':
      addHost(draft, place, { ...state, holder });
      break;
    case 'signer':
      draft.signers.set(name, signerOf(evaluation, holder, origin));
      break;
    case 'class':
      draft.classes.set(name, classOf(holder, name, origin));
      break;
    case 'audience':
      draft.audiences.set(name, audienceOf(holder, name, origin));
      break;
    default:
      draft.policy.set(name, policyOf(holder, name, origin));
  }
}

function addHost(draft: Draft, { set, item }: ItemPlace, state: ItemState & { readonly holder: Held }): void {
  const proof = lowestFork(set, item.slice(item.indexOf(':') + 1), hostLogOf(state));
  const host = hostOf(state, proof === null ? null : proof.body.lines[0].header.seq);
  draft.hosts.set(host.name, host);
  if (proof === null) return;
  const links = proof.body.lines.map(({ header }) => linkOf(header).slice(0, 12)).join(' and ');
  const detail = `${host.name} signed two lines of seq ${host.fork}, links ${links}; a rekey with a pin settles it`;
  draft.conflicts.push({ kind: 'LOG_FORKED', item, ops: [], detail });
}

function hostOf(
  { holder, chain, disputed, revokes }: ItemState & { readonly holder: Held },
  fork: number | null,
): CharterHost {
  const { spans, pins, end } = hostLogOf({ chain, disputed, revokes });
  const [first] = chain;
  assert(first !== undefined, 'what brought a host is the first of its chain');
  const brought = first.op.body;
  assert(brought.op === 'genesis' || brought.op === 'host-add', 'a host is brought by genesis or host-add');
  const { name, address } = brought.op === 'genesis' ? brought.host : brought;
  const last = holder.op.body.op === 'host-rekey' ? holder.op.body : undefined;
  const now = last ?? (brought.op === 'genesis' ? brought.host : brought);
  const keys = chain.flatMap((held) => signKeyOf(held)?.raw32 ?? []);
  const revoke = revokes.find(({ op }) => op.id === lowestPin(revokes)?.op);
  const { op } = revoke ?? holder;
  const cut = fork === null ? end : Math.min(end ?? fork - 1, fork - 1);
  const status = revoke === undefined ? (fork === null ? 'active' : 'forked') : 'revoked';
  const [sign, ssh] = [keyOf(holder, now.sign), keyOf(holder, now.ssh)];
  return { op: op.id, by: op.body.by, name, sign, ssh, address, status, spans, keys, pins, end: cut, fork };
}

function signerOf(evaluation: Evaluation, holder: Held, origin: Origin): CharterSigner {
  const fields = signerFields(holder);
  assert(fields !== undefined, 'a signer item is set by genesis or signer-add');
  const { standing } = evaluation;
  const number = approverRank(standing, holder).number;
  const cuts = standing.cuts.get(addedBy(holder) ?? '') ?? [];
  return {
    ...origin,
    name: fields.name,
    key: keyOf(holder, fields.key),
    scopes: fields.scopes,
    rank: holder.op.body.op === 'genesis' ? number : number + 1,
    status: cuts.length === 0 ? 'active' : 'revoked',
    revocations: cuts.toSorted(byIdOrder).map(revocationOf),
  };
}

function revocationOf({ op }: Held): SignerRevocation {
  const { body } = op;
  assert(body.op === 'signer-revoke', 'only a signer-revoke cuts a signer');
  const marks = Object.entries(body.marks).toSorted(([left], [right]) => byText(left, right));
  return { op: op.id, by: body.by, marks: new Map(marks) };
}

function classOf(holder: Held, name: string, origin: Origin): CharterClass {
  const body = holder.op.body;
  assert(body.op === 'genesis' || body.op === 'class-add', 'a class item is set by genesis or class-add');
  const fields: ClassFields | undefined = body.op === 'genesis' ? body.classes[name] : body;
  assert(fields !== undefined, 'the op names its class');
  return { ...origin, description: fields.description, revise: fields.revise ?? null, claims: fields.claims ?? null };
}

function audienceOf(holder: Held, name: string, origin: Origin): CharterAudience {
  const body = holder.op.body;
  assert(body.op === 'genesis' || body.op === 'audience-add', 'an audience item is set by genesis or audience-add');
  const fields = body.op === 'genesis' ? body.audiences[name] : body;
  return { ...origin, includes: fields?.includes ?? [] };
}

function policyOf(holder: Held, name: string, origin: Origin): CharterPolicy {
  const body = holder.op.body;
  assert(body.op === 'genesis' || body.op === 'policy-set', 'a policy item is set by genesis or policy-set');
  return { ...origin, value: (body.op === 'genesis' ? body.policy[name] : body.value) ?? '' };
}
