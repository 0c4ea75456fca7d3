/** import: what was read from a source becomes the events that are new here, through the secret gate. */
import { importKey, planImport } from '../../agent/import/plan-import.ts';
import { withoutStamp } from '../../agent/import/plain-event.ts';
import type { ImportKind } from '../../agent/import/types.ts';
import { scanEvents } from '../../agent/secret-gate/scan-events.ts';
import type { Body, BodyInput } from '../../core/event.ts';
import { eventsOf, eventView, type Fold } from '../../core/fold/fold.ts';
import type { Answer, Params } from '../api/api-types.ts';
import { createLocks, type Locks } from '../../mesh/fetch/log-lock.ts';
import type { Engine } from '../engine.ts';
import { objectionTo } from './own-log.ts';
import { describeHits, isSubjectSafe, newDenials, type Denied } from './secret-gate.ts';

/**
 * Appends what is new; with `dryRun` nothing. One transaction, or several where an event replaces another of the same
 * source: that one must have its id first. A run that was cut short is completed by the next. Refuses as append does.
 */
export function importEvents(engine: Engine, params: Params<'import'>): Promise<Answer<'import'>> {
  // One at a time: what one of them appends is what the next finds standing.
  const locks = locksOfEngine.get(engine) ?? createLocks();
  locksOfEngine.set(engine, locks);
  return locks.run('import', () => importNow(engine, params));
}

const locksOfEngine = new WeakMap<Engine, Locks>();

async function importNow(engine: Engine, params: Params<'import'>): Promise<Answer<'import'>> {
  const fold = await engine.beliefs.fold();
  const { host } = engine.identity;
  const session = `import:${params.kind}`;
  const known = knownKeys(params.events, { fold, host, session });
  const events = params.events.map((event) => withIds(event, known));
  const plan = planImport(
    { kind: params.kind as ImportKind, events, skipped: params.skipped },
    {
      existing: (subject) => standingEvents(fold, subject, host),
      objection: (event) => objectionTo(event, engine.charter()),
    },
  );
  const { clean, denied } = await withoutSecrets(plan.new.map((event) => ({ ...event, session })));
  if (params.dryRun !== true) {
    const { offline } = params;
    await appendInOrder(engine, { events: clean, session, known, offline });
    const denials = newDenials(denied, fold, host);
    if (denials.length > 0) await engine.append({ events: denials, session }, { offline });
  }
  return {
    kind: params.kind,
    new: clean.length,
    unchanged: plan.unchanged,
    skipped: [...plan.skipped, ...denied.map(remarkOn)],
    subjects: clean.map(({ subject }) => subject),
  };
}

function remarkOn(denied: Denied): { readonly what: string; readonly why: string } {
  const what = isSubjectSafe(denied) ? denied.body.subject : `an event (${denied.body.kind})`;
  return { what, why: describeHits(denied.hits) };
}

/** An import leaves out what holds a secret, as it does with other damage; the rest is appended. */
async function withoutSecrets(
  events: readonly BodyInput[],
): Promise<{ readonly clean: readonly BodyInput[]; readonly denied: readonly Denied[] }> {
  const hits = Map.groupBy(await scanEvents(events), ({ event }) => event);
  return {
    clean: events.filter((_, index) => !hits.has(index)),
    denied: [...hits].map(([index, found]) => ({ body: events[index] as BodyInput, hits: found })),
  };
}

interface Ordered {
  readonly events: readonly BodyInput[];
  readonly session: string;
  /** Id by import key. */
  readonly known: Map<string, string>;
  readonly offline: boolean | undefined;
}

/** Appends wave by wave: whatever replaces nothing that is still to come. */
async function appendInOrder(engine: Engine, { events, session, known, offline }: Ordered): Promise<void> {
  let waiting = events;
  while (waiting.length > 0) {
    const coming = new Set(waiting.map(importKey));
    const ready = waiting.filter(({ supersedes = [] }) => !supersedes.some((id) => coming.has(id)));
    // Events that replace each other in a circle: no order is right, so they go as they come.
    const wave = ready.length > 0 ? ready : waiting;
    const written = wave.map((event) => withoutKeys(withIds(event, known))).filter(saysSomething);
    const results = written.length === 0 ? [] : await engine.append({ events: written, session }, { offline });
    for (const [index, event] of written.entries()) known.set(importKey(event), results[index]?.id ?? '');
    const done = new Set(wave);
    waiting = waiting.filter((event) => !done.has(event));
  }
}

/** A retraction whose targets were all left out would withdraw something else. */
function saysSomething({ kind, supersedes }: BodyInput): boolean {
  return kind !== 'retract' || supersedes !== undefined;
}

/** Ids for the import keys that have one by now. */
function withIds(event: BodyInput, known: ReadonlyMap<string, string>): BodyInput {
  if (event.supersedes === undefined) return event;
  return { ...event, supersedes: [...new Set(event.supersedes.map((id) => known.get(id) ?? id))].sort(byUnits) };
}

/** Drops the keys whose events were left out. */
function withoutKeys(event: BodyInput): BodyInput {
  const { supersedes = [], ...rest } = event;
  const ids = supersedes.filter((id) => !id.startsWith('import:'));
  return ids.length === 0 ? rest : { ...rest, supersedes: ids };
}

function byUnits(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** Ids of what earlier runs appended, by import key. */
function knownKeys(
  events: readonly BodyInput[],
  { fold, host, session }: { readonly fold: Fold; readonly host: string; readonly session: string },
): Map<string, string> {
  const subjects = new Set(events.map(({ subject }) => subject));
  const standing = [...subjects].flatMap((subject) => standingEvents(fold, subject, host));
  return new Map(
    standing.filter(({ body }) => body.session === session).map(({ id, body }) => [importKey(withoutStamp(body)), id]),
  );
}

function standingEvents(fold: Fold, subject: string, host: string): { readonly id: string; readonly body: Body }[] {
  return eventsOf(fold, subject).flatMap((id) => {
    const body = eventView(fold, id)?.body;
    return body?.host === host ? [{ id, body }] : [];
  });
}
