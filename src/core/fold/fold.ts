/**
 * The fold: lines in, beliefs out. Pure: no clock, no I/O, no locale; the state depends on the set of lines and the
 * charter, never on the order or the portions in which they came. Source: docs/fold.md.
 */
import type { Auth } from '../event.ts';
import type { VerifiedLine } from '../log.ts';
import type { Charter } from '../trust/charter.ts';
import type { ApprovalVerdict, EventView, State } from './state.ts';

/** A usable line (R0). The fold trusts log, seq, id and body of it, and judges the approval itself. */
export type FoldLine = VerifiedLine;

/** What the fold asks of the trust layer; replaced by a table in property tests. */
export interface FoldPorts {
  /** Verdict on `auth` as an approval of `message` (the canonical body) for `subject`. Called once per (id, auth). */
  readonly approve: (charter: Charter, auth: Auth, message: string, subject: string) => ApprovalVerdict;
}

/** Opaque. Holds every event and the outcome of every subject. */
export interface Fold {
  charter: Charter;
}

/** Subjects whose outcome was worked out anew; a superset of those that changed. */
export interface Changed {
  readonly subjects: ReadonlySet<string>;
}

/** An empty fold under `charter`; `trust` is the trust hash that the root commits to. Pure. */
export declare function createFold(charter: Charter, trust: string, ports?: FoldPorts): Fold;

/**
 * Takes lines of any logs, in log order within each log, in portions of any size, and brings the state up to date
 * once at the end. A line already taken changes nothing.
 */
export declare function foldLines(fold: Fold, lines: Iterable<FoldLine>): Changed;

/** Puts the fold under another charter. Verdicts, levels and every subject are worked out anew. */
export declare function setCharter(fold: Fold, charter: Charter, trust: string): Changed;

/** The state as it is now. The maps in it are live. */
export declare function readState(fold: Fold): State;

/** Everything about one id; undefined when no usable line carries it. */
export declare function eventView(fold: Fold, id: string): EventView | undefined;

/** Sorted ids of the events of `subject`; empty when there is none. */
export declare function eventsOf(fold: Fold, subject: string): readonly string[];

/** Every subject that an event names, sorted by code units. */
export declare function subjectsOf(fold: Fold): readonly string[];

/** Full ids that start with `prefix`, sorted, at most `max` of them. */
export declare function idsWithPrefix(fold: Fold, prefix: string, max: number): readonly string[];
