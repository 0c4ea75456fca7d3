/**
 * The outcome of one subject: lineage, edges, claims, staleness, records and reports, in that order; each step reads
 * only earlier ones. Source: docs/fold.md.
 */
import { kept } from '../kept.ts';
import { judgeClaims, type Judgement } from './claims.ts';
import { concessionsOf, type Concession } from './concessions.ts';
import { passOne } from './edges-pass-one.ts';
import { passTwo } from './edges-pass-two.ts';
import type { Fold } from './fold-index.ts';
import { settleLineage } from './lineage.ts';
import { byCodeUnits } from './order.ts';
import { isClaim, type EventNode, type SubjectEvents } from './node.ts';
import { recordOf } from './records.ts';
import { finishReports, hostOf, report, reportLines, type ReportDrafts } from './reports.ts';
import { isStale } from './staleness.ts';
import type { Alarm, Notice, SubjectRecord } from './state.ts';
import { settleClaims, settleStatus } from './statuses.ts';
import { withdrawalsOf } from './withdrawals.ts';

/** What the fold keeps of the evaluation of one subject. */
export interface SubjectOutcome {
  readonly records: readonly SubjectRecord[];
  readonly alarms: readonly Alarm[];
  readonly notices: readonly Notice[];
  /** Events. */
  readonly held: number;
  readonly quarantined: number;
}

/** Works out one subject from the index alone. */
export function evaluateSubject(fold: Fold, subject: SubjectEvents, nextMark: () => number): SubjectOutcome {
  for (const node of subject.events) settleLineage(node);
  const candidates = passOne(fold.charter, subject);
  const withdrawals = withdrawalsOf(subject);
  const revisions = passTwo({ charter: fold.charter, nextMark }, subject, candidates, withdrawals);
  const drafts: ReportDrafts = new Map();
  reportLines(drafts, subject);
  for (const { from } of revisions) report(drafts, 'REVISED', hostOf(from), from);
  const revised = new Set(revisions.map(({ to }) => to));
  const records: SubjectRecord[] = [];
  for (const [scope, members] of subject.name === '' ? [] : membersByScope(subject)) {
    const judgement = judgeClaims(members, scope, withdrawals);
    const concessions = concessionsOf(members, judgement, nextMark);
    const stale = judgement.served !== null && isStale(fold.observations, judgement.served);
    settleClaims(judgement, scope);
    records.push(recordOf({ subject: subject.name, scope, members, judgement, concessions, revised, stale }));
    reportClaims(drafts, members, judgement, concessions);
  }
  for (const node of subject.events) settleStatus(node);
  return { records: kept(records), ...finishReports(drafts, subject.name), ...countStatuses(subject.events) };
}

/** For every scope that an event names: the events of that scope and those of `*`. */
function membersByScope(subject: SubjectEvents): readonly (readonly [string, readonly EventNode[]])[] {
  const first = subject.events[0]?.scope ?? '*';
  if (subject.events.every(({ scope }) => scope === first)) return [[first, subject.events]];
  const groups = new Map<string, EventNode[]>();
  for (const node of subject.events) {
    const group = groups.get(node.scope);
    if (group === undefined) groups.set(node.scope, [node]);
    else group.push(node);
  }
  // Sorted once here, lists of ids of every scope come out sorted below.
  const wide = (groups.get('*') ?? []).toSorted((a, b) => byCodeUnits(a.id, b.id));
  return [...groups].map(([scope, own]) => [scope, scope === '*' ? own : [...wide, ...own]]);
}

function reportClaims(
  drafts: ReportDrafts,
  members: readonly EventNode[],
  { served, parked }: Judgement,
  concessions: readonly Concession[],
): void {
  for (const { reason, claims } of parked) {
    if (reason === 'UNSIGNED_OVER_SIGNED') continue;
    const dispute = reason === 'PARKED' || reason === 'SIGNERS_DISAGREE';
    for (const node of claims) report(drafts, reason, dispute ? null : hostOf(node), node);
  }
  for (const { host, claims } of concessions) for (const node of claims) report(drafts, 'CONCEDED', host, node);
  if (served === null) return;
  for (const node of members) {
    if (disagreesUntrusted(node, served)) report(drafts, 'UNTRUSTED_DISAGREES', hostOf(node), node);
  }
}

function disagreesUntrusted(node: EventNode, served: EventNode): boolean {
  if (node.lineage === 'clean' || node.held !== null || node.by.length > 0 || node.purge !== null) return false;
  return isClaim(node) && node.key !== served.key;
}

function countStatuses(nodes: readonly EventNode[]): { held: number; quarantined: number } {
  let [held, quarantined] = [0, 0];
  for (const { status } of nodes) {
    if (status === 'held') held += 1;
    else if (status === 'quarantined') quarantined += 1;
  }
  return { held, quarantined };
}
