/**
 * What the sync machine is told (events) and what it asks for (effects). Nothing else goes in or out: time, what is held
 * here and what peers answer come with an input; dialling, fetching, judging and storing are done by whoever carries the
 * effects out. Source: docs/mesh.md, The machine.
 */
import type { Result } from '../../crypto/result.ts';
import type { ForkedLines } from './fork-proof.ts';
import type {
  AdmissionFaultCode,
  FetchPackFault,
  Heads,
  HeadsTip,
  LogTip,
  MeshAlarm,
  MeshAlarmCode,
  PeerFaultCode,
  PeerOutcome,
  SignedLine,
  ViewFaultCode,
  ViewTip,
} from './peer.ts';

/** What is held here, as of one input. Read only; every answer comes from verified data on this host. */
export interface World {
  readonly meshId: string;
  /** Slug of this host. */
  readonly host: string;
  /** Every other host of the charter that may be asked. */
  readonly peers: () => readonly string[];
  /** Why a host is not to be asked, as a sentence; undefined for one of `peers`. */
  readonly whyNoPeer: (host: string) => string | undefined;
  /** Whether the charter names the host of a log. */
  readonly isEnrolled: (host: string) => boolean;
  readonly tip: (log: string) => LogTip | undefined;
  /** Link of a line that is held; undefined when it is not known (then a shorter log of a peer is not compared). */
  readonly linkAt: (log: string, seq: number) => string | undefined;
  /** True for a copy that cannot be built on and is to be taken anew. */
  readonly isDamaged: (log: string) => boolean;
  /** Of a damaged copy, how many lines are known to have been in it: another one must have them. */
  readonly heldUpto: (log: string) => number;
  readonly trust: () => { readonly hash: string; readonly kept: string };
  /** The view journals that are here; without it none is fetched. */
  readonly views?: {
    readonly tip: (host: string) => ViewTip | undefined;
    /** True for a copy that cannot be read and is to be taken anew. */
    readonly isDamaged: (host: string) => boolean;
    /** Our copy ends with a line of a key that the host has replaced since. */
    readonly isOutdated: (host: string) => boolean;
    /** Something is to be heard of this host that its next line says: that line is asked for as soon as somebody offers it. */
    readonly isAwaited: (host: string) => boolean;
  };
}

/** Why a commit was not taken, or not wholly. `seq`: first line concerned, when known. */
export interface AdmissionFault {
  readonly code: AdmissionFaultCode;
  readonly detail: string;
  readonly seq?: number;
  /** NOT_EXTENSION only: true when the host itself signed both versions, so that its log is forked. */
  readonly forked?: boolean;
  /** The two lines that show it. */
  readonly fork?: ForkedLines;
}

/**
 * `lines`: how many were admitted. `fault`: why not all, or none. `failure`: the fetch itself did not come to an end.
 * `mismatch`: what came is not more than we hold, though the peer says so. `vain`: it is good, and cannot take the place of
 * our damaged copy.
 */
export interface LogFetched {
  readonly lines: number;
  readonly fault?: AdmissionFault;
  readonly failure?: { readonly code: FetchPackFault; readonly detail: string };
  readonly mismatch?: 'same' | 'shorter';
  readonly vain?: boolean;
  /** Milliseconds that it took to fold what was admitted. */
  readonly foldMs?: number;
}

/**
 * `proven`: a line, signed by us, that this home does not hold; `fork`: with our own line of that seq. `settled`: it came to
 * this home, or a signer cut it off. `wrong`: what
 * the peer offers holds no such line. `unknown`: it could not be looked at.
 */
export type OwnVerdict =
  | { readonly kind: 'proven'; readonly line: SignedLine; readonly ahead: boolean; readonly fork?: ForkedLines }
  | { readonly kind: 'settled'; readonly vain?: boolean }
  | { readonly kind: 'wrong'; readonly detail: string }
  | { readonly kind: 'unknown'; readonly code: FetchPackFault; readonly detail: string };

/** Ids of trust ops that a fetch added, and what was wrong with others. */
export interface TrustFetched {
  readonly added: readonly string[];
  readonly unsupported: readonly { readonly id: string; readonly op: string }[];
  readonly bad: readonly { readonly id: string; readonly detail: string }[];
}

/** What was wrong with view journals, by host. `failure`: the fetch itself did not come to an end. `vain`: nothing came of it. */
export interface ViewsFetched {
  readonly faults: ReadonlyMap<string, { readonly code: ViewFaultCode; readonly detail: string }>;
  readonly failure?: { readonly code: FetchPackFault; readonly detail: string };
  readonly vain?: boolean;
}

/**
 * What a cycle is for. `busy`: what becomes of a request while the last cycle with that peer still runs: `refuse` reports
 * TIMEOUT, `skip` leaves the peer out, `wait` has another cycle afterwards.
 */
export interface CycleRequest {
  /** Names whoever is told; any text, used once. */
  readonly token: string;
  /** These peers; default every one. */
  readonly only?: readonly string[];
  readonly deadlineMs: number;
  /** Asks what they hold, and fetches nothing but proof of what they say of our own log. */
  readonly headsOnly: boolean;
  /** Fetches view journals whatever else there is. */
  readonly views?: boolean;
  readonly busy: 'refuse' | 'skip' | 'wait';
}

/** Whoever waits until peers hold a line of our own log. */
export interface ReplicationWait {
  readonly token: string;
  /** The line: that it is ours is known by its link. */
  readonly line: SignedLine;
  /** How many peers must advertise it. */
  readonly peers: number;
  readonly deadlineMs: number;
}

/** An answer names the cycle that asked for it; one that comes after its cycle was given up changes nothing. */
interface Answering {
  readonly peer: string;
  readonly cycle: number;
}

/** Details that come from a peer are printable text of one line. */
export type SyncEvent =
  /** The schedule is due. `slept`: the machine was suspended since the last one; what was missed runs once, now. */
  | { readonly kind: 'schedule'; readonly slept: boolean }
  /** Somebody asked. */
  | { readonly kind: 'cycle'; readonly request: CycleRequest }
  /** A peer said, unasked, what it holds. */
  | { readonly kind: 'nudge'; readonly peer: string; readonly heads: Heads }
  /** The watch of a peer ended. `refused`: it never said anything. */
  | { readonly kind: 'unwatched'; readonly peer: string; readonly refused: boolean }
  /** A peer dialled us, and proved who it is. */
  | { readonly kind: 'met'; readonly peer: string }
  /** The kept connection to a peer broke, or there is a new way to it. */
  | { readonly kind: 'reconnect'; readonly peer: string }
  /** Something was seen of a peer beside any question; with `alarm` undefined it is over. Its next cycles tell it. */
  | {
      readonly kind: 'remark';
      readonly peer: string;
      readonly code: MeshAlarmCode;
      readonly alarm: MeshAlarm | undefined;
    }
  | ({ readonly kind: 'heads'; readonly answer: Result<Heads, PeerFaultCode> } & Answering)
  | ({ readonly kind: 'own'; readonly verdict: OwnVerdict } & Answering)
  | ({
      readonly kind: 'trust';
      readonly answer: Result<TrustFetched, FetchPackFault | 'TRUST_SHAPE'>;
    } & Answering)
  | ({ readonly kind: 'log'; readonly log: string; readonly fetched: LogFetched } & Answering)
  | ({ readonly kind: 'views'; readonly fetched: ViewsFetched } & Answering)
  /** This machine failed at what the cycle asked for. */
  | ({ readonly kind: 'failed'; readonly detail: string } & Answering)
  /** A writer wants to append. `alone`: also when no peer could be reached at all. */
  | { readonly kind: 'append'; readonly token: string; readonly alone?: boolean }
  | { readonly kind: 'replicate'; readonly wait: ReplicationWait }
  /** Time has passed; wanted at `nextTime(state)`. */
  | { readonly kind: 'time' }
  | { readonly kind: 'close' };

export interface SyncInput {
  /** Milliseconds on a clock that never runs backwards; only differences count. */
  readonly at: number;
  readonly world: World;
  readonly event: SyncEvent;
}

export type Effect =
  | ({ readonly kind: 'ask-heads'; readonly deadlineMs: number } & Answering)
  /** Fetch what it offers of our own log into a quarantine, judge it, take over what only follows ours. */
  | ({
      readonly kind: 'judge-own';
      readonly offered: HeadsTip;
      readonly doubted: boolean;
      readonly deadlineMs: number;
    } & Answering)
  | ({ readonly kind: 'fetch-trust'; readonly oid: string; readonly deadlineMs: number } & Answering)
  | ({
      readonly kind: 'fetch-log';
      readonly log: string;
      readonly offered: HeadsTip;
      /** It cost something in vain lately: what is allowed does not grow with what it announces. */
      readonly doubted: boolean;
      readonly deadlineMs: number;
    } & Answering)
  | ({
      readonly kind: 'fetch-views';
      readonly offered: ReadonlyMap<string, ViewTip>;
      readonly doubted: boolean;
      readonly deadlineMs: number;
    } & Answering)
  /** The deadline of a cycle is over: end whatever is done for it. Its answer is still awaited, and then passed over. */
  | ({ readonly kind: 'give-up' } & Answering)
  /** Have the peer say, from now on, whenever it holds something else. */
  | { readonly kind: 'watch'; readonly peer: string }
  /** End the kept connection: it is from before a sleep. */
  | { readonly kind: 'hang-up'; readonly peer: string }
  /** What a peer says it holds, before anything of it is fetched. */
  | { readonly kind: 'heard'; readonly peer: string; readonly heads: Heads }
  /** It says it holds what this home lacks of its own log: being looked into, and what came of it. */
  | { readonly kind: 'own-claim'; readonly peer: string; readonly claim: 'looking' | 'unproven' | SignedLine }
  /** A log is forked, and these two lines prove it: that goes into the trust set, and from there to every host. */
  | { readonly kind: 'prove-fork'; readonly log: string; readonly lines: ForkedLines }
  /** A cycle is over. `tokens`: whoever asked for it. */
  | { readonly kind: 'outcome'; readonly outcome: PeerOutcome; readonly tokens: readonly string[] }
  /** The peer is left out of what was asked. */
  | { readonly kind: 'skipped'; readonly peer: string; readonly token: string }
  /** Every peer has said what it holds of our own log, or cannot, or took too long. */
  | { readonly kind: 'may-append'; readonly token: string }
  | {
      readonly kind: 'replicated';
      readonly token: string;
      /** Peers that advertise the line, sorted. */
      readonly peers: readonly string[];
      readonly enough: boolean;
    }
  /** After a start or a sleep, every peer has been asked once: what is raised now is worth telling. */
  | { readonly kind: 'caught-up' };
