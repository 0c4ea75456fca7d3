import { canonicalJson } from '../../crypto/canonical.ts';
import { sha256Hex } from '../../crypto/hash.ts';
import { isClaim, scopeOf, type Body, type BodyInput } from '../../core/event.ts';
import { supersedesIdsMax } from '../../core/limits.ts';
import { withoutStamp } from './plain-event.ts';
import { importSession, type ImportPlan, type ImportRemark } from './types.ts';

/** An event that stands in this host's log. */
export interface StandingEvent {
  readonly id: string;
  readonly body: Body;
}

/** What the log already says decides what is left to append. */
export interface ImportPorts {
  /** Every event of this host's own log on `subject`, in any order; whether it is still served does not matter. */
  readonly existing: (subject: string) => readonly StandingEvent[];
  /** Why this mesh does not take an event (class, audience), '' when it does. Default: it takes all. */
  readonly objection?: (event: BodyInput) => string;
}

/** What an import would do, or does. */
export interface PlannedImport {
  /** To be appended with session `import:<kind>`, in order. */
  readonly new: readonly BodyInput[];
  readonly unchanged: number;
  readonly skipped: readonly ImportRemark[];
}

/**
 * Compares what was read with what earlier imports of this host said. Equal is unchanged, also when the claim has been
 * corrected or retracted since: a correction is not undone by importing the old file again. A claim that differs
 * replaces the earlier imported ones of its subject and scope that the source no longer has. What vanished from the
 * source stays: forgetting is a retraction, and that is somebody's decision. Pure.
 */
export function planImport(plan: Pick<ImportPlan, 'kind' | 'events' | 'skipped'>, ports: ImportPorts): PlannedImport {
  const session = importSession(plan.kind);
  const skipped: ImportRemark[] = [...plan.skipped];
  const taken = plan.events.filter((event) => {
    const why = ports.objection?.(event) ?? '';
    if (why !== '') skipped.push({ what: event.subject, why });
    return why === '';
  });
  const fresh: BodyInput[] = [];
  let unchanged = 0;
  const replacedHere = new Set(taken.flatMap(({ supersedes = [] }) => supersedes));
  for (const [subject, events] of Map.groupBy(taken, ({ subject }) => subject)) {
    const sorted = compareSubject(events, currentImports(ports.existing(subject), { session, replacedHere }));
    fresh.push(...sorted.fresh);
    unchanged += sorted.unchanged;
  }
  return { new: fresh, unchanged, skipped };
}

/**
 * Earlier imports that no later import replaced: a note that changed there and back is new again. One that the source
 * itself replaces, and still holds, counts as it stands.
 */
function currentImports(
  existing: readonly StandingEvent[],
  { session, replacedHere }: { readonly session: string; readonly replacedHere: ReadonlySet<string> },
): readonly StandingEvent[] {
  const imports = existing.filter(({ body }) => body.session === session);
  const replaced = new Set(
    imports.filter(({ body }) => isClaim(body.kind)).flatMap(({ body }) => body.supersedes ?? []),
  );
  return imports.filter(
    ({ id, body }) => !replaced.has(id) || replacedHere.has(id) || replacedHere.has(importKey(withoutStamp(body))),
  );
}

/** A line that stands twice in one source is one event: the second time it is as unchanged as on the next run. */
function compareSubject(
  events: readonly BodyInput[],
  current: readonly StandingEvent[],
): { readonly fresh: readonly BodyInput[]; readonly unchanged: number } {
  const said = new Set(events.map(identity));
  const gone = current.filter(({ body }) => !said.has(identity(withoutStamp(body))));
  const known = new Set(current.map(({ body }) => identity(withoutStamp(body))));
  const fresh = [...new Map(events.map((event) => [identity(event), event]))].filter(([key]) => !known.has(key));
  return { fresh: fresh.map(([, event]) => replacing(event, gone)), unchanged: events.length - fresh.length };
}

/** Names an event of an import before it has an id: `import:` and 64 hex digits over what makes it the same. Pure. */
export function importKey(event: BodyInput): string {
  return `import:${sha256Hex(identity(event))}`;
}

/** What makes two imported events the same. A claim's `supersedes` is left out: the import itself writes there. */
function identity(event: BodyInput): string {
  const { supersedes, session: _, ...said } = event;
  const whole = isClaim(event.kind) || supersedes === undefined ? said : { ...said, supersedes };
  return canonicalJson(whole);
}

function replacing(event: BodyInput, gone: readonly StandingEvent[]): BodyInput {
  if (!isClaim(event.kind)) return event;
  const ids = gone.filter(({ body }) => isClaim(body.kind) && scopeOf(body) === scopeOf(event)).map(({ id }) => id);
  if (ids.length === 0) return event;
  const all = [...new Set([...(event.supersedes ?? []), ...ids])].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return { ...event, supersedes: all.slice(0, supersedesIdsMax) };
}
