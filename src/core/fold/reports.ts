/**
 * Alarms and notices of one subject. Identity is kind + subject + host, so a flood is one entry with a count; an entry
 * exists exactly as long as its cause. Source: docs/fold.md, Alarms and notices.
 */
import { kept } from '../kept.ts';
import { idListOf } from './id-list.ts';
import { isStanding } from './levels.ts';
import { carriersOf, isSeen, takesPart, type Carrier, type EventNode, type SubjectEvents } from './node.ts';
import type { Alarm, AlarmKind, HeldReason, Notice, NoticeKind, Report } from './state.ts';

type AnyKind = AlarmKind | NoticeKind;

interface Draft {
  readonly kind: AnyKind;
  readonly host: string | null;
  readonly ids: Set<string>;
  hits: number;
}

/** Reports in the making. */
export type ReportDrafts = Map<string, Draft>;

const noticeKinds: ReadonlySet<AnyKind> = new Set<NoticeKind>(['REVISED', 'CONCEDED', 'DANGLING']);
/** Faults of lines, not of events: the same id may come with ten bad approvals. */
const lineKinds: ReadonlySet<AnyKind> = new Set<AlarmKind>(['FORGED', 'OUT_OF_SCOPE', 'REVOKED', 'UNVERIFIABLE']);
/** Faults of bodies: the carrier is named, for nothing else is known of who made them. */
const bodyFaults: ReadonlySet<HeldReason> = new Set<HeldReason>([
  'INVALID',
  'UNKNOWN_VERSION',
  'WITHHELD',
  'FOREIGN_MESH',
  'UNNORMALIZED',
  'UNDECLARED_AUDIENCE',
]);

/** Adds one offence. The same event may be reported again: it counts once, except for faults of lines. */
export function report(drafts: ReportDrafts, kind: AnyKind, host: string | null, node: EventNode): void {
  const key = `${kind} ${host ?? ''}`;
  const draft = drafts.get(key) ?? { kind, host, ids: new Set(), hits: 0 };
  drafts.set(key, draft);
  draft.ids.add(node.id);
  draft.hits += 1;
}

/** What the lines and bodies of a subject give rise to, whatever becomes of its claims. */
export function reportLines(drafts: ReportDrafts, subject: SubjectEvents): void {
  for (const node of subject.events) {
    // A signer has dealt with it, and of its lines no host can say more than another.
    if (node.purge !== null) continue;
    if (node.approvals !== null || node.held !== null) reportCarriers(drafts, node);
    if (node.overSigned) report(drafts, 'UNSIGNED_OVER_SIGNED', hostOf(node), node);
    if (isDangling(node)) report(drafts, 'DANGLING', hostOf(node), node);
  }
}

function reportCarriers(drafts: ReportDrafts, node: EventNode): void {
  for (const carrier of carriersOf(node)) {
    const kind = approvalAlarm(node, carrier);
    if (kind !== undefined) report(drafts, kind, carrier.log, node);
    if (node.held !== null && bodyFaults.has(node.held)) report(drafts, node.held as AlarmKind, carrier.log, node);
  }
}

/** Host of a body; null when there is none to read. */
export function hostOf(node: EventNode): string | null {
  return node.said?.host ?? null;
}

const noReports = { alarms: [], notices: [] };

/** The finished reports. Pure. */
export function finishReports(
  drafts: ReportDrafts,
  subject: string,
): { readonly alarms: readonly Alarm[]; readonly notices: readonly Notice[] } {
  if (drafts.size === 0) return noReports;
  const alarms: Alarm[] = [];
  const notices: Notice[] = [];
  for (const draft of drafts.values()) {
    const { kind, host } = draft;
    const count = lineKinds.has(kind) ? draft.hits : draft.ids.size;
    const done: Report<AnyKind> = { count, host, ids: idListOf([...draft.ids]), kind, subject: subject || null };
    if (noticeKinds.has(kind)) notices.push(done as Notice);
    else alarms.push(done as Alarm);
  }
  return { alarms: kept(alarms), notices: kept(notices) };
}

function approvalAlarm(node: EventNode, { fault, approval }: Carrier): AlarmKind | undefined {
  if (fault !== null || approval === null) return undefined;
  switch (approval.verdict) {
    case 'ok':
      return isStanding(node, approval) ? undefined : 'REVOKED';
    case 'forged':
      return 'FORGED';
    case 'out-of-scope':
      return 'OUT_OF_SCOPE';
    case 'unknown':
      return 'UNVERIFIABLE';
    case 'unjudged':
      return undefined;
  }
}

/** It takes part, bears edges, and names something that nobody has shown yet. */
function isDangling(node: EventNode): boolean {
  if (node.targets.length === 0 || !takesPart(node) || node.said?.kind === 'propose') return false;
  return node.targets.some((target) => !isSeen(target));
}
