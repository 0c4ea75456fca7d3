/** import: what was read from a source becomes the events that are new here, through the secret gate. */
import { planImport } from '../agent/import/plan-import.ts';
import type { ImportKind } from '../agent/import/types.ts';
import { scanEvents } from '../agent/secret-gate/scan-events.ts';
import type { Body, BodyInput } from '../core/event.ts';
import { eventsOf, eventView, type Fold } from '../core/fold/fold.ts';
import type { Answer, Params } from './api-types.ts';
import type { Engine } from './engine.ts';
import { objectionTo } from './own-log.ts';
import { describeHits, newDenials, type Denied } from './secret-gate.ts';

/** Appends what is new as one transaction; with `dryRun` nothing. Refuses as append does. */
export async function importEvents(engine: Engine, params: Params<'import'>): Promise<Answer<'import'>> {
  const fold = await engine.beliefs.fold();
  const plan = planImport(
    { kind: params.kind as ImportKind, events: params.events, skipped: params.skipped },
    {
      existing: (subject) => standingEvents(fold, subject, engine.identity.host),
      objection: (event) => objectionTo(event, engine.charter()),
    },
  );
  const session = `import:${params.kind}`;
  const { clean, denied } = await withoutSecrets(plan.new.map((event) => ({ ...event, session })));
  const denials = newDenials(denied, fold, engine.identity.host);
  if (params.dryRun !== true && clean.length + denials.length > 0) {
    await engine.append({ events: [...clean, ...denials], session });
  }
  return {
    kind: params.kind,
    new: clean.length,
    unchanged: plan.unchanged,
    skipped: [
      ...plan.skipped,
      ...denied.map(({ body, hits }) => ({
        what: hits.some(({ field }) => field === 'subject') ? body.kind : body.subject,
        why: describeHits(hits),
      })),
    ],
    subjects: clean.map(({ subject }) => subject),
  };
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

function standingEvents(fold: Fold, subject: string, host: string): { readonly id: string; readonly body: Body }[] {
  return eventsOf(fold, subject).flatMap((id) => {
    const body = eventView(fold, id)?.body;
    return body?.host === host ? [{ id, body }] : [];
  });
}
