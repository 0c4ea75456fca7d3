/**
 * What the fold says: the shapes that views, the read model, the root and the daemon read. Everything here is derived
 * from the set of (log, seq, line) and the charter alone. Source: docs/fold.md, State.
 */
import type { Body } from '../event.ts';
import type { CharterPurge } from '../trust/charter.ts';
import type { Level } from './levels.ts';

/**
 * Version of the rules of docs/fold.md, and of how records and root are made. Roots are compared only at equal rules: whoever
 * changes a root of lines that exist counts on.
 */
export const rulesVersion = 2;

/** A list of ids, bounded: how many, the lowest `recordIdsMax` of them, and what the whole list hashes to. */
export interface IdList {
  readonly count: number;
  /** sha256 of the JCS of the sorted ids; null while `first` holds them all. */
  readonly digest: string | null;
  /** The lowest ids, sorted, at most `recordIdsMax`. */
  readonly first: readonly string[];
}

/** What agents may be told about one (subject, scope). `none`: nothing live; `parked`: nothing served, sides exist. */
export type RecordStatus = 'served' | 'contested' | 'parked' | 'none';

/** Marks beside a status, sorted by name in a record. Meanings: docs/fold.md, Records. */
export type RecordFlag =
  | 'conceded'
  | 'held'
  | 'homes-differ'
  | 'pinned'
  | 'purged'
  | 'quarantined'
  | 'revised'
  | 'signers-disagree'
  | 'stale'
  | 'undecided';

/** How many events of each sort stand behind a record. Keys are written in this order. */
export interface RecordCounts {
  /** Claims, not purged, with at least one edge in effect: how often the subject was corrected. */
  readonly corrections: number;
  /** Decisions not withdrawn. */
  readonly decisions: number;
  readonly held: number;
  /** Live claims, whichever key. */
  readonly live: number;
  /** Proposals not withdrawn and not quarantined. */
  readonly proposals: number;
  /** Events that a purge stands for, whatever else is true of them. */
  readonly purged: number;
  readonly quarantined: number;
  /** Live questions. */
  readonly questions: number;
}

/** One (subject, scope): the unit of the state and of its root. Bounded, whatever the number of events behind it. */
export interface SubjectRecord {
  /** Hosts and ids, besides those of the served claim, whose live claims say the same. */
  readonly corroboration: { readonly hosts: IdList; readonly ids: IdList };
  readonly counts: RecordCounts;
  readonly flags: readonly RecordFlag[];
  /** Every claim that is parked here, those beside a served claim included. */
  readonly parked: IdList;
  readonly scope: string;
  /** The representative of the served key; null unless the status is served or contested. */
  readonly served: string | null;
  readonly status: RecordStatus;
  readonly subject: string;
}

/** Something that a person must hear about once. */
export type AlarmKind =
  | 'FORGED'
  | 'OUT_OF_SCOPE'
  | 'REVOKED'
  | 'UNVERIFIABLE'
  | 'INVALID'
  | 'UNKNOWN_VERSION'
  | 'FOREIGN_MESH'
  | 'UNNORMALIZED'
  | 'UNDECLARED_AUDIENCE'
  | 'WITHHELD'
  | 'PARKED'
  | 'SIGNERS_DISAGREE'
  | 'UNSIGNED_CONTRADICTS_SIGNED'
  | 'UNSIGNED_OVER_SIGNED'
  | 'WITHDRAWN_KEY'
  | 'UNTRUSTED_DISAGREES';

/** Something worth knowing that asks for nothing. */
export type NoticeKind = 'REVISED' | 'CONCEDED' | 'DANGLING';

/**
 * An alarm or a notice. Its identity is kind + subject + host: a flood is one entry with a count. It exists exactly as
 * long as its cause does.
 */
export interface Report<K extends string> {
  /** Offending lines (FORGED, OUT_OF_SCOPE, REVOKED, UNVERIFIABLE) or events (all others). */
  readonly count: number;
  /** The offending host; null where no single host is at fault. */
  readonly host: string | null;
  /** The events concerned. */
  readonly ids: IdList;
  readonly kind: K;
  /** null when no subject can be read from what is held. */
  readonly subject: string | null;
}

export type Alarm = Report<AlarmKind>;
export type Notice = Report<NoticeKind>;

/** Totals over the whole state. */
export interface StateCounts {
  /** Distinct event ids of usable lines. */
  readonly events: number;
  readonly lines: number;
  readonly subjects: number;
  /** Records by status. */
  readonly served: number;
  readonly contested: number;
  readonly parked: number;
  readonly none: number;
  /** Records so flagged. */
  readonly stale: number;
  readonly undecided: number;
  /** Events. */
  readonly quarantined: number;
  readonly held: number;
  readonly alarms: number;
  readonly notices: number;
}

/**
 * The folded state. `records`, `alarms` and `notices` are live views: they show the fold as it is when read, so a
 * reader that needs a snapshot copies what it needs before the next `foldLines`.
 */
export interface State {
  readonly rules: number;
  /** The trust hash that the fold was given. */
  readonly trust: string;
  /** By `recordKey(subject, scope)`. Iteration order is unspecified: sort before printing. */
  readonly records: ReadonlyMap<string, SubjectRecord>;
  /** By `reportKey`. Iteration order is unspecified. */
  readonly alarms: ReadonlyMap<string, Alarm>;
  readonly notices: ReadonlyMap<string, Notice>;
  readonly counts: StateCounts;
  /** 64 hex; equal on every host at equal heads, trust and rules. */
  readonly root: string;
}

/** What became of one event, judged in its own (subject, scope). Meanings: docs/fold.md, Event status. */
export type EventStatus =
  | 'served'
  | 'corroborates'
  | 'parked'
  | 'superseded'
  | 'retracted'
  | 'quarantined'
  | 'held'
  | 'purged'
  | 'open'
  | 'closed'
  | 'recorded';

/** Why an event is held out. Source: docs/fold.md R0, R1. */
export type HeldReason =
  | 'INVALID'
  | 'UNKNOWN_VERSION'
  | 'WITHHELD'
  | 'FOREIGN_MESH'
  | 'UNNORMALIZED'
  | 'UNDECLARED_AUDIENCE'
  | 'REVOKED'
  | 'FORGED'
  | 'UNVERIFIABLE'
  | 'OUT_OF_SCOPE'
  | 'UNPROVEN';

/** Why an event is parked, withdrawn by another host, quarantined or held. */
export type EventReason =
  | HeldReason
  | 'PARKED'
  | 'SIGNERS_DISAGREE'
  | 'UNSIGNED_CONTRADICTS_SIGNED'
  | 'UNSIGNED_OVER_SIGNED'
  | 'WITHDRAWN_KEY'
  | 'REVISED'
  | 'UNTRUSTED'
  | 'UNTRUSTED_BASIS';

/** What one approval amounts to under the charter. `unjudged`: of a body that is not here, or was purged. */
export type ApprovalVerdict = 'ok' | 'forged' | 'unknown' | 'out-of-scope' | 'unjudged';

/** The same of the approval on one line: `revoked` is good, and of a signer whose revocation does not let it stand. */
export type LineVerdict = ApprovalVerdict | 'revoked';

/** A place where an event stands: position in a log and what the approval on that line is worth (null: none). */
export interface EventLine {
  readonly log: string;
  readonly seq: number;
  readonly signer: string | null;
  readonly verdict: LineVerdict | null;
}

/** Everything the fold says about one id. Computed on request. */
export interface EventView {
  readonly id: string;
  /** null when the body is invalid, of a newer version, a hole, or purged (also where it is still held). */
  readonly body: Body | null;
  /** null when none can be read. */
  readonly subject: string | null;
  readonly level: Level;
  readonly status: EventStatus;
  readonly reason: EventReason | null;
  /** Sorted ids of the events whose edges to this one are in effect. */
  readonly by: readonly string[];
  /** Sorted by log, then seq. */
  readonly lines: readonly EventLine[];
  /** The lowest (log, seq) that proves the level; null when nothing does. */
  readonly place: { readonly log: string; readonly seq: number } | null;
  /** Names of the signers whose approvals count and stand, sorted. */
  readonly signers: readonly string[];
  /** The purge that stands for the event: what is left of it, who purged it and why. null for all others. */
  readonly purge: CharterPurge | null;
  /** A claim that cites an observation which is no longer current. */
  readonly stale: boolean;
}

/** Key of a record in `State.records`. Neither part can hold a space. Pure. */
export function recordKey(subject: string, scope: string): string {
  return `${subject} ${scope}`;
}

/** Identity of an alarm or notice: kind + subject + host. Pure. */
export function reportKey(report: Pick<Report<string>, 'kind' | 'subject' | 'host'>): string {
  return `${report.kind} ${report.subject ?? ''} ${report.host ?? ''}`;
}
