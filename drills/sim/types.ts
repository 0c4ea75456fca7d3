/** The parts of one simulation. */
import type { Fold } from '../../src/core/fold/fold.ts';
import type { HostKeySpan, PurgedIds, VerifiedLine } from '../../src/core/log.ts';
import type { Heads, SignedLine } from '../../src/core/sync/peer.ts';
import type { SyncState } from '../../src/core/sync/state.ts';
import type { Effect, SyncEvent } from '../../src/core/sync/vocabulary.ts';
import type { ViewLine } from '../../src/core/view-line.ts';
import type { Said as Words } from '../../src/core/recovery.ts';
import type { TrustOp } from '../../src/core/trust/op.ts';
import type { Charter, CharterHost } from '../../src/core/trust/charter.ts';
import type { Random } from '../../test/lib/random.ts';
import type { Agenda } from './agenda.ts';
import type { Trust, Unions } from './charter.ts';
import type { Disk } from './disk.ts';
import type { Lie, Plan } from './plan.ts';
import type { Trace } from './trace.ts';

/**
 * A log as a host holds it; replaced, never changed. `texts` are what is on its disk; `lines` the same as its charter has them:
 * a body that is purged is a hole there, wherever its bytes still are.
 */
export interface HeldLog {
  readonly texts: readonly string[];
  readonly lines: readonly VerifiedLine[];
}

/** What a host would say of one (subject, scope). */
export interface Said {
  readonly status: string;
  readonly served: string | null;
}

/** An append that was asked for, until it is durable. What is said is made up when it is its turn. */
export interface Pending {
  readonly seed: number;
  readonly signed: boolean;
  readonly sync: boolean;
  /** What was said before, on a branch that counts no more. */
  readonly again?: Words;
}

/** What a crash takes. */
export interface Memory {
  sync: SyncState;
  trust: Trust;
  readonly logs: Map<string, HeldLog>;
  fold: Fold;
  /** How many lines of each log the fold was given. */
  readonly folded: Map<string, number>;
  /** By `recordKey`. */
  answers: ReadonlyMap<string, Said>;
  readonly proofs: Map<string, SignedLine>;
  readonly waiting: Map<string, Pending>;
  readonly queue: Pending[];
  writing: boolean;
  /** A purge is at work: appends, fetches and askers wait in `held`. `wanted`: another one has to follow. */
  readonly purge: { working: boolean; wanted: boolean; held: (() => void)[] };
  /** Logs whose files held, when they were read, bodies that a purge names. */
  readonly covered: Set<string>;
  /** View journals that are here, by host. */
  readonly views: Map<string, readonly ViewLine[]>;
  /** Peers have been asked since the start: what is believed may be told to others. */
  caughtUp: boolean;
  readonly events: SyncEvent[];
  telling: boolean;
  /** When `time` is told next. */
  timeAt: number;
  /** By peer: how to end what is asked of it. */
  readonly asked: Map<string, { readonly cycle: number; readonly end: () => void }>;
  /** Cycles in which the trust set could not be fetched. */
  readonly trustFailed: Set<number>;
  /** What a peer really said, where a bug has the machine told something else. */
  readonly originals: WeakMap<Heads, Heads>;
  tokens: number;
}

/** A machine: a clone has the name of another host and a node of its own. */
export interface SimHost {
  readonly node: string;
  readonly name: string;
  disk: Disk;
  up: boolean;
  /** Goes up at each crash: what was under way before it is over. */
  epoch: number;
  memory: Memory | undefined;
  backup: Disk | undefined;
  /** Milliseconds that the two clocks of the machine are off. */
  readonly clockMs: number;
  wallMs: number;
  slept: boolean;
  lies: ReadonlySet<Lie>;
  /** Events that were acknowledged on this machine and that no restore has taken back. */
  acknowledged: { readonly seq: number; readonly link: string }[];
}

/** What really happened, whatever hosts think. */
export interface Truth {
  /** By log and seq: links of the lines that a holder of the key made. */
  readonly authored: Map<string, Map<number, Set<string>>>;
  /** Ops of every trust set that a host really had, by hash. */
  readonly trustSets: Map<string, ReadonlySet<string>>;
  /** By heads and trust hash: what a host made of exactly that input. */
  readonly conclusions: Map<string, string>;
  /** `HOST LINK`: lines that were durable on another host's disk. */
  readonly durable: Set<string>;
  /** Hosts that lied at some time. */
  readonly liars: Set<string>;
  /** Logs with two lines of one seq. */
  readonly forked: Set<string>;
  /** Hosts that were put back to an old state, or copied: only they may have said two things in one place. */
  readonly rewound: Set<string>;
  /** By link: numbers of the keys that signed a line. */
  readonly signedWith: Map<string, ReadonlySet<number>>;
  /** `LOG SEQ KEY`: link of the line that the log's own host had on its branch. */
  readonly onBranch: Map<string, string>;
  /** View lines that their hosts really signed, as text. */
  readonly said: Set<string>;
  /** Trust sets that a host really had, by hash, whole. */
  readonly trusts: Map<string, Trust>;
}

/** A planted bug: what it does in the place of what is right. Nothing of it is in the program. */
export interface Bug {
  readonly name: string;
  readonly answers?: (host: SimHost, said: Map<string, Said>) => void;
  readonly foldLine?: (memory: Memory, line: VerifiedLine) => VerifiedLine;
  readonly purged?: (charter: Charter) => PurgedIds;
  readonly usable?: (before: number, now: number) => number;
  readonly acknowledgesEarly?: boolean;
  readonly heads?: (memory: Memory, heads: Heads) => Heads;
  /** A write that failed is answered as one that did not. */
  readonly acknowledgesFailed?: boolean;
  /** After a write that failed the branch is not read again. */
  readonly forgetsPersisted?: boolean;
  readonly takesUnflushed?: boolean;
  /** A view line is signed before the purges are carried out. */
  readonly saysPurgedEarly?: boolean;
  /** A purge leaves the objects that it replaced. */
  readonly keepsObjects?: boolean;
  /** A purge is noted as done although a part of it failed. */
  readonly forgetsPurgeFault?: boolean;
  /** What a peer sends is stored as it came. */
  readonly storesAsFetched?: boolean;
  /** A host that was rekeyed goes on with the old key. */
  readonly keepsOldKey?: boolean;
  /** What stood behind a pin is not said again. */
  readonly forgetsUnsaid?: boolean;
  /** Keys that the log of a host is judged by. */
  readonly keys?: (host: CharterHost) => readonly HostKeySpan[];
  /** Which root a view line gives. */
  readonly root?: (host: SimHost, root: string) => string;
}

export interface Sim {
  readonly plan: Plan;
  readonly random: Random;
  readonly agenda: Agenda;
  readonly unions: Unions;
  readonly trace: Trace;
  readonly truth: Truth;
  readonly bug: Bug;
  readonly hosts: SimHost[];
  /** Does what the machine of a host asks for. */
  readonly carry: (host: SimHost, effect: Effect) => void;
  /** Adds to the trust set of a host. */
  readonly admit: (host: SimHost, ops: readonly TrustOp[]) => boolean;
  /** Lets the writers of a host go on. */
  readonly goOn: (host: SimHost) => void;
  /** Cuts of the network that hold now: hosts on one side do not reach those on the other. */
  readonly cuts: Set<ReadonlySet<string>>;
  /** Everything was put right: no loss, no lies. */
  healed: boolean;
  /** Since everything was healed: how many appends each host had acknowledged when it was asked for one more. */
  readonly askedAtEnd: Map<string, number>;
  decisions: number;
}

/** A promise that was broken. */
export class Violation extends Error {
  constructor(sentence: string) {
    super(sentence);
    this.name = 'Violation';
  }
}

/** Runs `work` later unless the host crashes first. */
export function later(sim: Sim, host: SimHost, delayMs: number, work: () => void): void {
  const { epoch } = host;
  sim.agenda.after(delayMs, () => {
    if (host.up && host.epoch === epoch) work();
  });
}
