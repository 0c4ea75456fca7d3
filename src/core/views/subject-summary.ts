/**
 * What one audience is told about one subject, as far as choosing goes: which record makes a row, and what rank looks at.
 * Computed once per subject and kept until the subject changes; texts are rendered later, for chosen rows only.
 */
import { kept } from '../kept.ts';
import { classOf, isClaim, scopeOf } from '../event.ts';
import { levelRanks } from '../fold/levels.ts';
import { byCodeUnits, byPlace, sortedUnique } from '../fold/order.ts';
import type { EventView, SubjectRecord } from '../fold/state.ts';
import type { Rankable } from './rank.ts';
import { eventViewsOf, isVisible, placeOf, type ViewSource } from './view-source.ts';

/** A record that is served to this audience: one row of rules or facts. */
export interface ServedEntry extends Rankable {
  readonly section: 'rule' | 'fact';
  readonly record: SubjectRecord;
  /** The claim that is shown: the served one, or an equal one when that is for another audience. */
  readonly id: string;
  /** `stale` and unsigned: not resident, listed in STALE.md instead. */
  readonly stale: boolean;
}

/** A record without an answer: its claims contradict each other, or only a question is open. */
export interface OpenEntry {
  readonly record: SubjectRecord;
  readonly reason: 'UNRESOLVED' | 'UNDECIDED';
  /** Nothing contradicts but a signed decision: what stands is unsigned and goes against it. */
  readonly againstSigned: boolean;
  /** Hosts of the claims or questions concerned, by name. */
  readonly hosts: readonly string[];
}

/** The newest standing event of one host on one subject that this audience may see. */
export interface NewestEvent {
  readonly host: string;
  readonly seq: number;
  readonly subject: string;
}

/** Everything about one subject that the choice of rows needs. */
export interface SubjectSummary {
  readonly served: readonly ServedEntry[];
  readonly open: readonly OpenEntry[];
  readonly newest: readonly NewestEvent[];
  readonly quarantined: readonly string[];
  readonly held: readonly string[];
  readonly purged: readonly string[];
  readonly stale: readonly string[];
}

/** Who looks: the audiences that are visible, and the scope, or null for every scope. */
export interface Reader {
  readonly audiences: ReadonlySet<string>;
  readonly scope: string | null;
}

/** One subject and its records. The name is '' for events whose subject cannot be read; they have no record. */
export interface SubjectRecords {
  readonly name: string;
  readonly records: readonly SubjectRecord[];
}

/** Summary of one subject out of its records and events. Pure. */
export function summarizeSubject(source: ViewSource, reader: Reader, subject: SubjectRecords): SubjectSummary {
  const views = viewsToRead(source, subject).filter(
    (view) => isVisible(view, reader.audiences) && inScope(view, reader),
  );
  const records = recordsFor(subject.records, reader.scope);
  const byId = new Map(views.map((view) => [view.id, view]));
  const sides = sidesByScope(views);
  const idsOf = (status: EventView['status']): readonly string[] =>
    views.filter((view) => view.status === status).map(({ id }) => id);
  return {
    served: kept(records.flatMap((record) => servedEntry(source, record, byId) ?? [])),
    open: kept(records.flatMap((record) => openEntry(record, sides) ?? [])),
    newest: kept(newestOf(subject.name, views)),
    quarantined: kept(idsOf('quarantined')),
    held: kept(idsOf('held')),
    purged: kept(idsOf('purged')),
    stale: kept(views.filter((view) => view.stale && isLive(view)).map(({ id }) => id)),
  };
}

/**
 * The events that a summary depends on. Where something is served or parked and nothing is held back, the records name
 * them all; subjects with a long history then cost no more than others.
 */
function viewsToRead(source: ViewSource, { name, records }: SubjectRecords): readonly EventView[] {
  if (records.length === 0 || records.some(needsEvents)) return eventViewsOf(source, name);
  const ids = new Set(
    records.flatMap((record) => [record.served ?? '', ...record.corroboration.ids.first, ...record.parked.first]),
  );
  return [...ids].sort(byCodeUnits).flatMap((id) => source.eventView(id) ?? []);
}

function needsEvents({ status, counts, corroboration, parked }: SubjectRecord): boolean {
  const cut = corroboration.ids.digest !== null || parked.digest !== null;
  return status === 'none' || counts.held > 0 || counts.purged > 0 || counts.quarantined > 0 || cut;
}

/** True for a claim that stands, whether it is an answer or one of several. Pure. */
export function isLive({ status, body }: EventView): boolean {
  if (body === null || !isClaim(body.kind)) return false;
  return status === 'served' || status === 'corroborates' || status === 'parked';
}

function isWithheld(status: EventView['status']): boolean {
  return status === 'quarantined' || status === 'held' || status === 'purged';
}

/** True for a claim that parks because of what a signed event withdrew or says, not because of another claim. Pure. */
export function isAgainstSigned({ reason }: EventView): boolean {
  return reason === 'UNSIGNED_OVER_SIGNED' || reason === 'WITHDRAWN_KEY';
}

/** True for an event that is compared in a record of this scope. Pure. */
export function countsInScope(view: EventView, scope: string): boolean {
  if (view.body === null) return false;
  const own = scopeOf(view.body);
  return own === '*' || own === scope;
}

function inScope(view: EventView, reader: Reader): boolean {
  return reader.scope === null || view.body === null || countsInScope(view, reader.scope);
}

/**
 * For one scope: its own record, else that of everywhere. For all: every record, but a scope that only repeats what is
 * said of everywhere is not said twice.
 */
function recordsFor(records: readonly SubjectRecord[], scope: string | null): readonly SubjectRecord[] {
  const everywhere = records.find((record) => record.scope === '*');
  if (scope !== null) {
    const own = records.find((record) => record.scope === scope) ?? everywhere;
    return own === undefined ? [] : [own];
  }
  const differs = (record: SubjectRecord): boolean =>
    record === everywhere || everywhere === undefined || answerOf(record) !== answerOf(everywhere);
  return records.filter(differs).sort((a, b) => byCodeUnits(a.scope, b.scope));
}

function answerOf({ status, served, parked, flags }: SubjectRecord): string {
  return [status, served, parked.count, parked.digest, ...parked.first, ...flags].join(' ');
}

function servedEntry(source: ViewSource, record: SubjectRecord, views: ViewsById): ServedEntry | undefined {
  if (record.served === null) return undefined;
  const view = shownClaim(record, views);
  if (view === undefined) return undefined;
  const { log, seq } = placeOf(view);
  const claims = source.charter.classes.get(classOf(record.subject))?.claims;
  return {
    section: claims === 'rule' ? 'rule' : 'fact',
    record,
    id: view.id,
    stale: view.stale && view.level !== 'signed',
    subject: record.subject,
    scope: record.scope,
    tier: tierOf(view, record),
    host: log,
    seq,
    corrections: record.counts.corrections,
    corroborating: record.corroboration.hosts.count,
  };
}

/**
 * Signed and pinned, signed, pinned, the rest. A delegated host shares the room with the others: it may say more than
 * they do, and must not crowd them out. Only an approval pins.
 */
function tierOf({ level }: EventView, { flags }: SubjectRecord): number {
  return (level === 'signed' ? 2 : 0) + (flags.includes('pinned') ? 1 : 0);
}

type ViewsById = ReadonlyMap<string, EventView>;

/** The served claim; when this audience may not see it, the best equal one that it may. */
function shownClaim(record: SubjectRecord, views: ViewsById): EventView | undefined {
  const served = record.served === null ? undefined : views.get(record.served);
  if (served !== undefined) return served;
  const best = (a: EventView, b: EventView): number =>
    levelRanks[b.level] - levelRanks[a.level] || byPlace(placeOf(a), placeOf(b));
  return record.corroboration.ids.first.flatMap((id) => views.get(id) ?? []).sort(best)[0];
}

/** Who stands for what in one scope, without those of `*`. */
interface Sides {
  readonly live: number;
  /** Every live claim goes against something signed; also where there is none. */
  readonly againstSigned: boolean;
  /** Hosts of the live claims, and of the open questions. */
  readonly hosts: readonly string[];
  readonly askers: readonly string[];
}

const noSides: Sides = { live: 0, againstSigned: true, hosts: [], askers: [] };

/** Once for all scopes: a host may name thousands of them, and everything of `*` counts in each. */
function sidesByScope(views: readonly EventView[]): ReadonlyMap<string, Sides> {
  const readable = views.flatMap((view) => (view.body === null ? [] : [{ view, scope: scopeOf(view.body) }]));
  const groups = Map.groupBy(readable, ({ scope }) => scope);
  return new Map([...groups].map(([scope, group]) => [scope, sidesOf(group.map(({ view }) => view))]));
}

function sidesOf(views: readonly EventView[]): Sides {
  const live = views.filter(isLive);
  return {
    live: live.length,
    againstSigned: live.every(isAgainstSigned),
    hosts: hostsOf(live),
    askers: hostsOf(views.filter(({ status }) => status === 'open')),
  };
}

function openEntry(record: SubjectRecord, sides: ReadonlyMap<string, Sides>): OpenEntry | undefined {
  const wide = sides.get('*') ?? noSides;
  const own = record.scope === '*' ? noSides : (sides.get(record.scope) ?? noSides);
  if (record.status === 'parked') {
    const againstSigned = wide.againstSigned && own.againstSigned;
    if (wide.live + own.live === 0) return undefined;
    return { record, reason: 'UNRESOLVED', againstSigned, hosts: sortedUnique([...wide.hosts, ...own.hosts]) };
  }
  const askers = sortedUnique([...wide.askers, ...own.askers]);
  const isOpen = record.status === 'none' && record.flags.includes('undecided') && askers.length > 0;
  return isOpen ? { record, reason: 'UNDECIDED', againstSigned: false, hosts: askers } : undefined;
}

function hostsOf(views: readonly EventView[]): readonly string[] {
  return sortedUnique(views.map((view) => view.body?.host ?? placeOf(view).log));
}

/**
 * Of each host the highest place of a claim that stands, or of anything where nothing stands: a retraction is news too.
 * What is quarantined, held or purged is no change of what agents are told.
 */
function newestOf(subject: string, views: readonly EventView[]): readonly NewestEvent[] {
  const live = views.filter(isLive);
  const told = live.length > 0 ? live : views.filter(({ status }) => !isWithheld(status));
  const newest = new Map<string, number>();
  for (const view of told) {
    const { log, seq } = placeOf(view);
    newest.set(log, Math.max(seq, newest.get(log) ?? 0));
  }
  return [...newest].map(([host, seq]) => ({ host, seq, subject }));
}
