/** purge.plan: what a purge would take away, and who may sign it. */
import type { Body } from '../../core/event.ts';
import { eventsOf, eventView, namersOf, subjectsOf, type Fold } from '../../core/fold/fold.ts';
import type { EventView } from '../../core/fold/state.ts';
import { skeletonOf } from '../../core/fold/skeleton.ts';
import { isSlug } from '../../core/id.ts';
import { trustPurgeTargetsMax } from '../../core/limits.ts';
import type { Charter, CharterSigner } from '../../core/trust/charter.ts';
import type { PurgeSkeleton } from '../../core/trust/op-types.ts';
import { coversEverything } from '../../core/trust/scope.ts';
import { keptOps, type TrustSet } from '../../core/trust/set.ts';
import { peersOf } from '../../mesh/node.ts';
import type { Params, PurgedJson, PurgePlanJson, PurgeTargetJson } from '../api/api-types.ts';
import type { Engine } from '../engine.ts';
import { unknownEvent } from '../full-ids.ts';
import { Refusal, type RefusalOptions } from '../refusal.ts';
import { signerOfKey } from '../trust/signer-of.ts';
import { bareSkeleton, findTarget, skeletonOfLine, type NamedTarget } from './purge-targets.ts';

/**
 * Names exactly what would go, without saying any of it. Refuses BAD_REQUEST, ID_UNKNOWN, ID_AMBIGUOUS, PURGE_REFUSED,
 * SIGNER_UNKNOWN, SIGNER_SCOPE.
 */
export async function planPurge(engine: Engine, request: Params<'purge.plan'>): Promise<PurgePlanJson> {
  const { ids, reason, key } = request;
  requireReason(reason);
  const fold = await engine.beliefs.fold();
  const { set, charter } = engine.trust();
  const named = new Map<string, NamedTarget>();
  for (const given of ids) {
    requireNoOp(given, set);
    const target = await findTarget(engine, fold, given);
    named.set(target.id, target);
  }
  const full = [...named.keys()].toSorted((a, b) => (a < b ? -1 : 1));
  if (full.length > trustPurgeTargetsMax) {
    throw new Refusal({
      code: 'BAD_REQUEST',
      message: `${full.length} events in one purge; ${trustPurgeTargetsMax} is the most`,
      hint: 'purge them in parts',
      exit: 2,
    });
  }
  const targets = full.map((id) => targetOf(fold, set, { ...(named.get(id) ?? { id }), ids: full }));
  if (key !== undefined) requireMayPurge(charter, key);
  return { reason, targets, hosts: peersOf(charter, engine.identity.host) };
}

function requireReason(reason: string): void {
  if (isSlug(reason)) return;
  throw new Refusal({
    code: 'BAD_REQUEST',
    message:
      'a reason is a code of lower-case letters, digits and dashes; it is kept for ever, so it says nothing more',
    hint: 'one of secret, personal-data, legal, mistake; or a word of your own',
    exit: 2,
  });
}

/** Trust ops are the mesh itself: they stay. */
function requireNoOp(given: string, set: TrustSet): void {
  const isOp = given.length >= 8 && keptOps(set).some(({ id }) => id.startsWith(given));
  if (isOp)
    throw refused(`${given} is a trust op; trust ops cannot be purged`, 'memctl charter shows what is in effect');
}

function targetOf(
  fold: Fold,
  set: TrustSet,
  { id, line, ids }: NamedTarget & { readonly ids: readonly string[] },
): PurgeTargetJson {
  const view = eventView(fold, id);
  if (view?.purge) {
    throw refused(`event ${id.slice(0, 12)} is purged already, by trust op ${view.purge.op.slice(0, 12)}`, purgeList);
  }
  const skeleton = view?.body ? skeletonOf(view.body, view.level) : leftOf(set, { id, line, view });
  if (skeleton === undefined) throw unknownEvent(id);
  const { supersedes, basis } = namersOf(fold, id);
  const lines = (view?.lines ?? []).map(({ log, seq }) => ({ log, seq }));
  const body = view?.body ?? line?.body;
  const repeatedBy = body ? repeatersOf(fold, body, ids) : [];
  return { skeleton, lines, supersededBy: supersedes, basisOf: basis, repeatedBy };
}

/** Of an event that has no body in the fold: it was purged once, or this version cannot read it, or it counts for nothing. */
function leftOf(
  set: TrustSet,
  { id, line, view }: NamedTarget & { readonly view: EventView | undefined },
): PurgeSkeleton | undefined {
  const former = formerSkeleton(set, id);
  if (former !== undefined) return former;
  if (view === undefined) return line && skeletonOfLine(line);
  const [carrier] = view.lines;
  const { subject } = view;
  return carrier && bareSkeleton({ id, host: carrier.log, ...(subject === null ? {} : { subject }) });
}

/** Texts shorter than this are in too many events to say anything. */
const repeatedCharsMin = 6;

/** Events besides the targets whose body repeats what a body says. */
function repeatersOf(fold: Fold, { value, content }: Body, targets: readonly string[]): readonly string[] {
  const said = [value, content].filter((text) => text !== undefined && text.length >= repeatedCharsMin);
  if (said.length === 0) return [];
  return subjectsOf(fold)
    .flatMap((subject) => eventsOf(fold, subject))
    .filter((id) => !targets.includes(id) && repeats(eventView(fold, id)?.body, said as string[]));
}

function repeats(body: Body | null | undefined, said: readonly string[]): boolean {
  const texts = [body?.value, body?.content, body?.hook, body?.text, body?.home, ...(body?.names ?? [])];
  return texts.some((text) => text !== undefined && said.some((one) => text.includes(one)));
}

/** Its body went with a purge that counts no more: what that one said of it still holds. */
function formerSkeleton({ held }: TrustSet, id: string): PurgeSkeleton | undefined {
  for (const { op } of held.values()) {
    const target = op.body.op === 'purge' ? op.body.targets.find((one) => one.id === id) : undefined;
    if (target !== undefined) return target;
  }
  return undefined;
}

/** What is left of a purged event is the purger's word for it, so only who may speak of every subject may purge any. */
function mayPurge({ scopes }: CharterSigner): boolean {
  return scopes.includes('purge') && coversEverything(scopes);
}

function requireMayPurge(charter: Charter, key: string): void {
  const signer = signerOfKey(charter, key);
  if (!mayPurge(signer)) {
    const able = [...charter.signers.values()].filter((one) => one.status === 'active' && mayPurge(one));
    throw new Refusal({
      code: 'SIGNER_SCOPE',
      message: `signer ${signer.name} (${signer.scopes.join(', ')}) may not purge: that takes the scopes purge and *; nothing was signed`,
      hint: `who could: ${able.map(({ name }) => name).join(', ') || 'nobody'}; name their key: --key FILE`,
      exit: 6,
    });
  }
}

const purgeList = 'memctl purge --list';

function refused(message: string, hint: string): Refusal {
  const options: RefusalOptions = { code: 'PURGE_REFUSED', message: `${message}; nothing was signed`, hint, exit: 6 };
  return new Refusal(options);
}

/** Why the body of an event is gone; undefined for one that is not purged. */
export function purgedJson({ charter, set }: { charter: Charter; set: TrustSet }, id: string): PurgedJson | undefined {
  const purge = charter.purges.get(id);
  if (purge === undefined) return undefined;
  const { op, by, reason } = purge;
  return { id, op, by: by.signer, reason, at: set.held.get(op)?.op.body.at ?? '' };
}

/** Refuses EVENT_PURGED: the same body is the same event, and would fold as purged wherever it comes. */
export function requireNotPurged(charter: Charter, id: string): void {
  const purge = charter.purges.get(id);
  if (purge === undefined) return;
  throw new Refusal({
    code: 'EVENT_PURGED',
    message: `event ${id.slice(0, 12)} was purged by ${purge.by.signer} (${purge.reason}, trust op ${purge.op.slice(0, 12)}); nothing was appended`,
    hint: 'say it anew, without what was to go',
    exit: 6,
  });
}
