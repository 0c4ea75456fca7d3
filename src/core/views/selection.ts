/** What an audience is told, in order, before any budget: the common ground of all view files. */
import { byCodeUnits } from '../fold/order.ts';
import type { SubjectRecord } from '../fold/state.ts';
import { dealRoundRobin, rankEntries } from './rank.ts';
import {
  summarizeSubject,
  type NewestEvent,
  type OpenEntry,
  type Reader,
  type ServedEntry,
  type SubjectSummary,
} from './subject-summary.ts';
import type { ViewSource } from './view-source.ts';

/** Summaries by subject of one audience and scope. Entries of a subject must be forgotten when it changes. */
export type ViewCache = Map<string, SubjectSummary>;

/** Everything that is said, ranked. Ids are in the order of their subjects. */
export interface Selection {
  /** Best first; stale unsigned claims are not among them. */
  readonly served: readonly ServedEntry[];
  /** Subjects without an answer; groups of hosts take turns, so that two hosts cannot bury what others disagree on. */
  readonly open: readonly OpenEntry[];
  /** Per host, by name: its newest changes, newest first. */
  readonly newest: ReadonlyMap<string, readonly NewestEvent[]>;
  readonly quarantined: readonly string[];
  readonly held: readonly string[];
  readonly purged: readonly string[];
  readonly stale: readonly string[];
}

/**
 * Chooses and ranks. With a cache, only subjects that are not in it are looked at; `shared` is the cache of the same
 * audience for every scope, and holds for a scope too what is said of everywhere alone. Pure but for filling the caches.
 */
export function selectFor(
  source: ViewSource,
  reader: Reader,
  cache: ViewCache = new Map(),
  shared: ViewCache = cache,
): Selection {
  const bySubject = Map.groupBy(source.state.records.values(), ({ subject }) => subject);
  if (source.eventsOf('').length > 0) bySubject.set('', []);
  const summaries = [...bySubject.keys()].sort(byCodeUnits).map((name) => {
    const records = bySubject.get(name) ?? [];
    const kept = records.every(({ scope }) => scope === '*') ? shared : cache;
    const known = kept.get(name) ?? summarizeSubject(source, reader, { name, records });
    kept.set(name, known);
    return known;
  });
  return {
    served: rankEntries(summaries.flatMap(({ served }) => served.filter(({ stale }) => !stale))),
    open: rankOpen(summaries.flatMap(({ open }) => open)),
    newest: newestByHost(summaries),
    quarantined: summaries.flatMap(({ quarantined }) => quarantined),
    held: summaries.flatMap(({ held }) => held),
    purged: summaries.flatMap(({ purged }) => purged),
    stale: summaries.flatMap(({ stale }) => stale),
  };
}

function rankOpen(open: readonly OpenEntry[]): readonly OpenEntry[] {
  const groups = [...Map.groupBy(open, ({ hosts }) => hosts.join(' '))].sort(([a], [b]) => byCodeUnits(a, b));
  return dealRoundRobin(groups.map(([, group]) => [...group].sort(bySubjectAndScope)));
}

function bySubjectAndScope({ record: a }: { record: SubjectRecord }, { record: b }: { record: SubjectRecord }): number {
  return byCodeUnits(a.subject, b.subject) || byCodeUnits(a.scope, b.scope);
}

function newestByHost(summaries: readonly SubjectSummary[]): ReadonlyMap<string, readonly NewestEvent[]> {
  const byHost = Map.groupBy(
    summaries.flatMap(({ newest }) => newest),
    ({ host }) => host,
  );
  const hosts = [...byHost].sort(([a], [b]) => byCodeUnits(a, b));
  return new Map(hosts.map(([host, events]) => [host, [...events].sort((a, b) => b.seq - a.seq)]));
}
