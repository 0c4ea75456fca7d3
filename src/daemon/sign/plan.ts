/** What a signer's request amounts to: the body to sign, and what it would do to the claims around it. */
import { isSubject } from '../../core/body-fields.ts';
import { classOf, isClaim, scopeOf, type Body, type BodyInput } from '../../core/event.ts';
import type { Fold } from '../../core/fold/fold.ts';
import type { EventView } from '../../core/fold/state.ts';
import { basisIdsMax } from '../../core/limits.ts';
import { printable } from '../../store/errors.ts';
import type { SignRequest } from '../api/sign-json.ts';
import { fullIds } from '../full-ids.ts';
import { makeBodies } from '../own/own-log.ts';
import { Refusal } from '../refusal.ts';
import { nothingToSign, planExisting, requireEvent } from './existing.ts';
import { replacedBy, withdrawnBy, type Named, type Replacement } from './replace.ts';
import { parkedScopes, sidesOf, type Side } from './sides.ts';

export interface Plan {
  readonly body: Body;
  /** The body was said before. */
  readonly existing: boolean;
  readonly replacement: Replacement;
}

export interface Desk {
  readonly fold: Fold;
  readonly named: Named;
  readonly mesh: string;
  readonly host: string;
  readonly session: string;
  /** Name of the signer, when the key is known. */
  readonly signer: string | undefined;
}

/** Makes the plan. Refuses NOTHING_TO_SIGN, SERVED_CLAIM, and what an append refuses of a new body. */
export function planOf(desk: Desk, request: SignRequest): Plan {
  switch (request.act) {
    case 'accept':
      return planAccept(desk, request);
    case 'claim':
      return planClaim(desk, request);
    case 'retract':
      return planRetract(desk, request);
    case 'pin':
      return planPin(desk, request);
    case 'event':
      return planExisting(desk, requireEvent(desk.fold, request.id));
    case 'promote':
      return planPromote(desk, request);
  }
}

/**
 * One signed claim that says what the accepted one says and replaces the others. Alone on its subject, it is approved
 * itself.
 */
function planAccept(desk: Desk, request: SignRequest): Plan {
  const view = requireEvent(desk.fold, request.id);
  const subject = request.subject ?? view.body.subject;
  if (view.body.subject !== subject) {
    throw nothingToSign(`${short(view.id)} is about ${view.body.subject}, not about ${printable(subject, 160)}`, '');
  }
  const isLive = isClaim(view.body.kind) && ['served', 'corroborates', 'parked'].includes(view.status);
  if (!isLive) throw notASide(view);
  const scope = parkScope(desk.fold, subject, request.scope, scopeOf(view.body));
  const sides = sidesOf(desk.fold, subject, scope);
  const plan = newClaim(desk, acceptedFields(view.body, request.fields ?? {}), sides);
  const { supersedes, leaves } = plan.replacement;
  const isPlain = supersedes.length === 0 && leaves.length === 0 && request.fields === undefined;
  return isPlain ? planExisting(desk, view) : plan;
}

function planClaim(desk: Desk, request: SignRequest): Plan {
  const subject = requireSubject(request.subject);
  const scope = parkScope(desk.fold, subject, request.scope, '*');
  const sides = sidesOf(desk.fold, subject, scope);
  const fields = claimFields(request.fields ?? {});
  const kind = desk.fold.charter.classes.get(classOf(subject))?.claims === 'rule' ? 'lesson' : 'assert';
  const common = { ...commonOf(sides, 'audience'), ...(kind === 'assert' ? commonOf(sides, 'home') : {}) };
  return newClaim(desk, { kind, subject, ...scoped(scope), ...common, ...fields }, sides);
}

function planRetract(desk: Desk, request: SignRequest): Plan {
  const { fold, named } = desk;
  const subject = requireSubject(request.subject);
  const scope = parkScope(fold, subject, request.scope, '*');
  const replacement = withdrawnBy(fold, scope, sidesOf(fold, subject, scope), named);
  const { supersedes } = replacement;
  if (supersedes.length === 0) {
    throw nothingToSign(`nothing is parked on ${subject}`, 'name what to withdraw: --retract --supersedes ID');
  }
  const { content } = claimFields(request.fields ?? {});
  const why = content === undefined ? {} : { content };
  const body = stamp(desk, { kind: 'retract', subject, ...scoped(scope), ...why, supersedes });
  return { body, existing: false, replacement };
}

function planPin(desk: Desk, { subject: named, scope = '*' }: SignRequest): Plan {
  const subject = requireSubject(named);
  const body = stamp(desk, { kind: 'pin', subject, ...scoped(scope) });
  return { body, existing: false, replacement: { supersedes: [], leaves: [], agrees: [] } };
}

/** What is quarantined is approved as it is, or said anew where it is to replace something; a proposal is said anew. */
function planPromote(desk: Desk, request: SignRequest): Plan {
  const view = requireEvent(desk.fold, request.id);
  const { body } = view;
  if (body.kind === 'propose') return newClaim(desk, proposedFields(view.id, body), sidesAround(desk.fold, body));
  if (view.status !== 'quarantined') {
    const hint = `memctl sign --event ${short(view.id)} signs it as it is`;
    throw nothingToSign(`${short(view.id)} is no proposal and not quarantined (${view.status})`, hint);
  }
  if (desk.named.supersedes.length === 0 || !isClaim(body.kind)) return planExisting(desk, view);
  return newClaim(desk, acceptedFields(body, {}), sidesAround(desk.fold, body));
}

function sidesAround(fold: Fold, body: Body): readonly Side[] {
  return sidesOf(fold, body.subject, scopeOf(body));
}

/** Made twice: what it replaces depends on what it says. */
function newClaim(desk: Desk, fields: BodyInput, sides: readonly Side[]): Plan {
  const said = stamp(desk, fields);
  const replacement = replacedBy(desk.fold, { body: said, scope: scopeOf(said) }, sides, desk.named);
  const body = stamp(desk, { ...fields, supersedes: replacement.supersedes });
  return { body, existing: false, replacement };
}

function stamp({ fold, mesh, host, session }: Desk, event: BodyInput): Body {
  const at = new Date().toISOString();
  const basis = event.basis === undefined ? {} : { basis: fullIds(event.basis, fold) };
  try {
    const [body] = makeBodies({ events: [{ ...event, ...basis }], session }, { mesh, host, at }, fold.charter);
    if (body === undefined) throw new Error('one event makes one body');
    return body;
  } catch (error) {
    throw error instanceof Refusal && error.code === 'EVENT_INVALID' ? asSaidHere(error) : error;
  }
}

/** The same fault, in the words of `memctl sign`. */
function asSaidHere({ code, message, exit }: Refusal): Refusal {
  const option = message === 'home is missing' ? ': where the fact lives is --home-ref REF' : '';
  return new Refusal({ code, message, hint: `memctl sign --help${option}; nothing was signed`, exit });
}

const claimFieldNames = [
  'content',
  'value',
  'polarity',
  'hook',
  'text',
  'home',
  'basis',
  'names',
  'audience',
  'confidence',
] as const;

type ClaimFields = Partial<Pick<BodyInput, (typeof claimFieldNames)[number]>>;

/** What came over the local API: the format's own table judges the values. */
function claimFields(fields: Readonly<Record<string, unknown>>): ClaimFields {
  const other = Object.keys(fields).find((name) => !(claimFieldNames as readonly string[]).includes(name));
  if (other === undefined) return fields;
  throw new Refusal({
    code: 'BAD_REQUEST',
    message: `a signed claim takes no field ${printable(other, 40)} from outside`,
    exit: 2,
  });
}

/** The claim of `body`, said anew. Lineage is left out: whoever signs has looked. */
function acceptedFields(body: Body, over: Readonly<Record<string, unknown>>): BodyInput {
  const kept: ClaimFields = Object.fromEntries(
    claimFieldNames.filter((name) => body[name] !== undefined).map((name) => [name, body[name]]),
  );
  const kind = body.kind === 'lesson' ? 'lesson' : 'assert';
  return {
    kind,
    subject: body.subject,
    ...scoped(scopeOf(body)),
    ...kept,
    ...claimFields(over),
  };
}

/** The proposal itself is cited, so that it can be seen where the claim came from. */
function proposedFields(id: string, body: Body): BodyInput {
  const basis = [...(body.basis ?? []), id].slice(-basisIdsMax);
  return { ...acceptedFields(body, {}), kind: body.proposes ?? 'assert', basis };
}

/** A field on which every side agrees. */
function commonOf(sides: readonly Side[], name: 'home' | 'audience'): ClaimFields {
  const values = new Set(sides.map(({ body }) => body[name]));
  const [value] = values;
  return values.size === 1 && value !== undefined ? { [name]: value } : {};
}

function scoped(scope: string): { readonly scope?: string } {
  return scope === '*' ? {} : { scope };
}

/** The scope whose park is meant. Refuses SCOPE_INVALID where that cannot be told. */
function parkScope(fold: Fold, subject: string, named: string | undefined, own: string): string {
  if (named !== undefined) return named;
  const parked = parkedScopes(fold, subject);
  const [only] = parked;
  if (parked.includes(own) || only === undefined) return own;
  if (parked.length === 1) return only;
  throw new Refusal({
    code: 'SCOPE_INVALID',
    message: `${subject} is parked in several scopes: ${parked.slice(0, 8).join(', ')}`,
    hint: 'say which: --scope S',
    exit: 2,
  });
}

function requireSubject(subject: string | undefined): string {
  if (isSubject(subject)) return subject;
  throw new Refusal({
    code: 'BAD_REQUEST',
    message: `${JSON.stringify((subject ?? '').slice(0, 80))} is no subject of the form class/entity`,
    hint: 'memctl parks lists what is unresolved',
    exit: 2,
  });
}

function notASide({ id, status, by }: EventView): Refusal {
  const withdrawn = by[0] === undefined ? '' : ` by ${short(by[0])}`;
  const hint =
    status === 'quarantined'
      ? `memctl sign --promote ${short(id)}`
      : 'to say it again: memctl sign SUBJECT --value V, or --content TEXT';
  return nothingToSign(`${short(id)} is no side of it: it is ${status}${withdrawn}`, hint);
}

function short(id: string): string {
  return id.slice(0, 12);
}
