/** What the sync machine remembers. Values, never changed in place: a step makes new ones. */
import type { Heads, MeshAlarm, PeerFault, PeerOutcome } from './peer.ts';
import type { OwnVerdict, ReplicationWait } from './vocabulary.ts';

/** What was refused, or found to be nothing, and is not fetched again before `until`. */
export interface PeerMemory {
  /** Trust branch that was read last, and what was wrong with it. */
  readonly trust: { readonly oid: string; readonly alarms: readonly MeshAlarm[]; readonly until: number } | undefined;
  /** What it said of our own log, beyond what we held then, and what came of it. */
  readonly own: { readonly about: string; readonly verdict: OwnVerdict; readonly until: number } | undefined;
  /** By log: the offer that was refused, wholly or in part. */
  readonly refused: ReadonlyMap<string, { readonly offer: string; readonly alarm: MeshAlarm; readonly until: number }>;
  /** By code: what was seen of it beside any question. */
  readonly remarks: ReadonlyMap<string, { readonly alarm: MeshAlarm; readonly until: number }>;
  /** When its view journals were looked at last, and by host those that were refused. */
  readonly views: {
    readonly at: number;
    readonly refused: ReadonlyMap<
      string,
      { readonly offer: string; readonly alarm: MeshAlarm; readonly until: number }
    >;
  };
}

/** What a cycle has come to so far. */
export interface Draft {
  readonly lines: Readonly<Record<string, number>>;
  readonly alarms: readonly MeshAlarm[];
  readonly trustAdded: readonly string[];
  /** The first fault that is not an alarm. */
  readonly fault: PeerFault | undefined;
}

export interface Cycle {
  readonly number: number;
  readonly deadlineAt: number;
  readonly headsOnly: boolean;
  readonly tokens: readonly string[];
  readonly heads: Heads | undefined;
  /** Something was asked for and not answered yet. */
  readonly outstanding: boolean;
  /** When it was asked for. */
  readonly askedAt: number;
  /** Logs that are still to be looked at; undefined before the trust set is done. */
  readonly todo: readonly string[] | undefined;
  /** Until when another peer's fetch of the same lines is waited for, by log. */
  readonly waits: ReadonlyMap<string, number>;
  /** Trust hash when the log under way was asked for. */
  readonly trust: string;
  /** View journals are wanted whatever else there is; and whether they have been looked at. */
  readonly views: boolean;
  readonly viewsDone: boolean;
  readonly draft: Draft;
}

/** A cycle that was asked for while another one ran. */
export interface NextCycle {
  readonly deadlineMs: number;
  readonly headsOnly: boolean;
  readonly views: boolean;
  readonly tokens: readonly string[];
  /** What it said meanwhile, unasked. */
  readonly heads: Heads | undefined;
  /** It is wanted for lines that are not asked for before. */
  readonly notBefore?: number | undefined;
}

/** Milliseconds that a peer cost in vain, as of a time on the clock of the inputs. */
export interface Debt {
  readonly ms: number;
  readonly at: number;
}

export interface PeerState {
  readonly state: PeerOutcome['state'] | 'unknown';
  /** Since when; on the clock of the inputs. */
  readonly since: number;
  readonly reason: PeerFault | undefined;
  /** Cycles in a row that did not reach it, and before when the schedule leaves it alone. */
  readonly failures: number;
  readonly notBefore: number;
  /** What it cost in vain. */
  readonly debt: Debt;
  /** What good lines of its own log cost, whoever brought them. */
  readonly good: Debt;
  /** By log: what other sides of its forks cost that came from this peer. */
  readonly forks: ReadonlyMap<string, Debt>;
  readonly memory: PeerMemory;
  /** What it said last, and when. */
  readonly said: Heads | undefined;
  readonly cycle: Cycle | undefined;
  readonly next: NextCycle | undefined;
  /** Number of a cycle that was given up and whose answer has not come: nothing new is asked meanwhile. */
  readonly draining: number | undefined;
  /** Whether it says unasked what it holds; from when on it may be asked to do so. */
  readonly watch: 'open' | number;
}

/** A fetch under way: two peers that offer the same lines are not both asked for them. */
export interface InFlight {
  readonly peer: string;
  readonly cycle: number;
  readonly link: string;
}

/** Own log first. `asked`: the writers that wait, in their order. */
export interface OwnGate {
  readonly phase: 'closed' | 'asking' | 'proving' | 'open';
  /** When the present phase ends whatever peers do. */
  readonly until: number;
  readonly queue: readonly { readonly token: string; readonly alone: boolean }[];
  /** Peers whose claim is being looked into. */
  readonly looking: ReadonlySet<string>;
}

export interface Waiter extends ReplicationWait {
  readonly deadlineAt: number;
}

/** `peers`: not asked yet; undefined before the first schedule. At `until` the rest is not waited for. */
export interface CatchUp {
  readonly peers: ReadonlySet<string> | undefined;
  readonly until: number;
}

export interface SyncState {
  /** State of the random numbers that spread back-off. */
  readonly random: number;
  readonly options: SyncOptions;
  readonly closed: boolean;
  readonly lastCycle: number;
  readonly peers: ReadonlyMap<string, PeerState>;
  readonly fetching: ReadonlyMap<string, InFlight>;
  readonly own: OwnGate;
  readonly waiters: readonly Waiter[];
  /** Before when peers that are waited for are not asked again. */
  readonly pollAt: number;
  /** What a start or a sleep left to be asked; null once all is asked. */
  readonly catchUp: CatchUp | null;
}

export interface SyncOptions {
  /** Any number; hosts differ in it. */
  readonly seed: number;
  /** How long the first append of a process waits for peers to say what they hold, and for proof of a claim. */
  readonly ownAskMs: number;
  readonly ownProofMs: number;
  /** Whether an append goes on when no peer could be reached at all. */
  readonly appendAlone: boolean;
  /** Whether peers are watched: a process that is soon over does not. */
  readonly watches: boolean;
}

const nothingKnown: PeerMemory = {
  trust: undefined,
  own: undefined,
  refused: new Map(),
  remarks: new Map(),
  views: { at: -Infinity, refused: new Map() },
};

export const unknownPeer: PeerState = {
  state: 'unknown',
  since: 0,
  reason: undefined,
  failures: 0,
  notBefore: 0,
  debt: { ms: 0, at: 0 },
  good: { ms: 0, at: 0 },
  forks: new Map(),
  memory: nothingKnown,
  said: undefined,
  cycle: undefined,
  next: undefined,
  draining: undefined,
  watch: 0,
};

export const emptyDraft: Draft = { lines: {}, alarms: [], trustAdded: [], fault: undefined };

/** A machine that has been told nothing. Pure. */
export function openSync(options: SyncOptions): SyncState {
  return {
    random: options.seed >>> 0,
    options,
    closed: false,
    lastCycle: 0,
    peers: new Map(),
    fetching: new Map(),
    own: { phase: 'closed', until: 0, queue: [], looking: new Set() },
    waiters: [],
    pollAt: 0,
    catchUp: { peers: undefined, until: Infinity },
  };
}
