/**
 * The outcome of one subject: lineage, edges, claims, staleness, records and reports, in that order; each step reads
 * only earlier ones. Source: docs/fold.md.
 */
import { kept } from '../kept.ts';
import { judgeClaims, sortClaims, type Judgement, type ParkReason } from './claims.ts';
import { concessionsOf, wideConcessionsOf, type WideConcessions } from './concessions.ts';
import { passOne } from './edges-pass-one.ts';
import { passTwo } from './edges-pass-two.ts';
import type { Fold } from './fold-index.ts';
import { handout, keyGroups, type Handout } from './key-groups.ts';
import { settleLineage } from './lineage.ts';
import { isClaim, type EventNode, type SubjectEvents } from './node.ts';
import { noMembers, recordOf, summarizeMembers, type MemberSummary } from './records.ts';
import { finishReports, hostOf, report, reportLines, type ReportDrafts } from './reports.ts';
import { isStale } from './staleness.ts';
import type { Alarm, Notice, SubjectRecord } from './state.ts';
import { settleClaims, settleStatus } from './statuses.ts';
import { wideClaimsOf, type WideClaims } from './wide-claims.ts';
import { withdrawalsOf, type Withdrawals } from './withdrawals.ts';

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
  const records: SubjectRecord[] = [];
  if (subject.name !== '') {
    const revised = new Set(revisions.map(({ to }) => to));
    const context: ScopeContext = { fold, subject, withdrawals, revised, drafts };
    const scopes = membersByScope(subject);
    const wide = scopes.size > 1 ? wideOf(context, scopes.get('*')) : null;
    for (const [scope, members] of scopes) {
      records.push(evaluateScope(context, { scope, members, wide: scope === '*' ? null : wide }));
    }
  }
  for (const node of subject.events) settleStatus(node);
  return { records: kept(records), ...finishReports(drafts, subject.name), ...countStatuses(subject.events) };
}

/** What the scopes of a subject are judged by. */
interface ScopeContext {
  readonly fold: Fold;
  readonly subject: SubjectEvents;
  readonly withdrawals: Withdrawals;
  /** Targets of revisions in effect. */
  readonly revised: ReadonlySet<EventNode>;
  readonly drafts: ReportDrafts;
}

/** What scope `*` says, as the record of every other scope of the subject needs it. */
interface Wide {
  readonly claims: WideClaims;
  readonly members: MemberSummary;
  readonly concessions: WideConcessions;
  /** Untrusted claims, each of them until some record disagrees with it. */
  readonly untrusted: Handout;
}

interface ScopeEvents {
  readonly scope: string;
  /** Events of this scope alone. */
  readonly members: readonly EventNode[];
  readonly wide: Wide | null;
}

function wideOf({ withdrawals, revised }: ScopeContext, members: readonly EventNode[] | undefined): Wide | null {
  if (members === undefined) return null;
  const claims = wideClaimsOf(sortClaims(members, '*', withdrawals));
  return {
    claims,
    members: summarizeMembers(members, revised, noMembers),
    concessions: wideConcessionsOf(members, claims),
    untrusted: handout(keyGroups(members.filter(isUntrustedClaim))),
  };
}

/** Judges one scope, settles the status of its claims and reports what it gives rise to. */
function evaluateScope(context: ScopeContext, { scope, members, wide }: ScopeEvents): SubjectRecord {
  const { fold, subject, withdrawals, revised, drafts } = context;
  const claims = wide?.claims ?? null;
  const judgement = judgeClaims(sortClaims(members, scope, withdrawals), claims);
  const concessions = concessionsOf(members, judgement, wide?.concessions ?? null);
  settleClaims(judgement, scope);
  reportParks(drafts, judgement, claims);
  for (const { host, claims: given } of concessions) for (const node of given) report(drafts, 'CONCEDED', host, node);
  reportUntrusted(drafts, judgement, { members, wide });
  return recordOf({
    subject: subject.name,
    scope,
    members: summarizeMembers(members, revised, wide?.members ?? noMembers),
    judgement,
    wide: claims,
    isConceded: concessions.length > 0,
    isStale: judgement.served !== null && isStale(fold.observations, judgement.served),
  });
}

/** The events of each scope that an event names. */
function membersByScope({ events }: SubjectEvents): ReadonlyMap<string, readonly EventNode[]> {
  const first = events[0]?.scope ?? '*';
  if (events.every(({ scope }) => scope === first)) return new Map([[first, events]]);
  return Map.groupBy(events, ({ scope }) => scope);
}

function reportParks(drafts: ReportDrafts, judgement: Judgement, wide: WideClaims | null): void {
  for (const { reason, claims } of judgement.parked) reportParked(drafts, reason, claims);
  if (wide !== null) reportParked(drafts, judgement.reason, wide.takeParked(judgement));
}

function reportParked(drafts: ReportDrafts, reason: ParkReason, claims: readonly EventNode[]): void {
  if (reason === 'UNSIGNED_OVER_SIGNED') return;
  const isDispute = reason === 'PARKED' || reason === 'SIGNERS_DISAGREE';
  for (const node of claims) report(drafts, reason, isDispute ? null : hostOf(node), node);
}

function reportUntrusted(
  drafts: ReportDrafts,
  { served }: Judgement,
  { members, wide }: Pick<ScopeEvents, 'members' | 'wide'>,
): void {
  if (served === null) return;
  const own = members.filter((node) => node.key !== served.key && isUntrustedClaim(node));
  const others = wide?.untrusted.take(served.key) ?? [];
  for (const node of [...own, ...others]) report(drafts, 'UNTRUSTED_DISAGREES', hostOf(node), node);
}

function isUntrustedClaim(node: EventNode): boolean {
  if (node.lineage === 'clean' || node.held !== null || node.by.length > 0 || node.purge !== null) return false;
  return isClaim(node);
}

function countStatuses(nodes: readonly EventNode[]): { held: number; quarantined: number } {
  let [held, quarantined] = [0, 0];
  for (const { status } of nodes) {
    if (status === 'held') held += 1;
    else if (status === 'quarantined') quarantined += 1;
  }
  return { held, quarantined };
}
