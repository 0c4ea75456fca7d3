/**
 * The view journal of this host, and those of the others as far as they are here. A line is written when what is believed
 * changed: at most one a second, at once when a park, an alarm or a purge came or went, else at most one a minute. In between the
 * fine journal, which stays at home, has every change, at most one a second. Nothing waits for a line, and one that a
 * crash took is written at the next start: the journal is a record, never an input.
 */
import { viewLineCalmMs, viewLineMinMs } from '../../core/limits.ts';
import type { ViewTip } from '../../core/sync/peer.ts';
import type { ViewLine } from '../../core/view-line.ts';
import type { ViewStore } from '../../mesh/node.ts';
import type { ObjectGate } from '../../mesh/object-gate.ts';
import { viewRewound } from '../../store/notes/last-heads.ts';
import { readNotes } from '../../store/logs/view-journal.ts';
import type { Divergence } from './divergence.ts';
import type { LocalFault } from '../engine.ts';
import { openShelf, type JournalShelf } from './journal-shelf.ts';
import { createJournalWriter, type JournalWriter, type JournalWriterOptions, type Urgency } from './journal-writer.ts';

export type JournalOptions = Omit<JournalWriterOptions, 'clock' | 'now' | 'mayBegin'> &
  Partial<Pick<JournalWriterOptions, 'clock' | 'now'>> & {
    /** Lines are built on objects of the repository. */
    readonly gate: ObjectGate;
    /** Whether anybody else may hold a journal of this host; nobody when absent. */
    readonly hasPeers?: () => boolean;
    /** True in memd: lines follow on a timer. Without it one follows at the end. */
    readonly daemon: boolean;
    /** Does work after so many milliseconds; gives what calls it off. A timer of this process if not given. */
    readonly after?: (ms: number, work: () => void) => () => void;
  };

export interface Journal {
  /** Reads where the journals stand, once. */
  readonly load: () => Promise<void>;
  /** Lets memd publish lines: peers have said by now what they hold of this journal, or could not be asked. */
  readonly open: () => void;
  /** Publishes what is believed now, if it is news. Resolves when that is durable, or has failed, which `faults` tells. */
  readonly publish: () => Promise<void>;
  /** The same once memd may publish; before that, nothing: a line follows then by itself. */
  readonly publishOnceOpen: () => Promise<void>;
  /** The newest line of a host's journal, as far as it is here. */
  readonly newest: (host: string) => ViewLine | undefined;
  /** Newest line of every journal that is here, by host. Empty before `load`. */
  readonly tips: ReadonlyMap<string, ViewTip>;
  /** That of this host. `hasGoneOn`: this process wrote on, after peers had said what they hold of the journal. */
  readonly ownTip: () => (ViewTip & { readonly hasGoneOn: boolean }) | undefined;
  /** What the mesh needs to fetch journals. */
  readonly store: ViewStore;
  /** Hosts that say another root of what this host folded too. */
  readonly divergences: () => readonly Divergence[];
  /** Why lines cannot be written or read. */
  readonly faults: () => readonly LocalFault[];
  /** The `notes` file of a host, as it is here; null when its journal has none, undefined without a journal. */
  readonly readNotes: (host: string) => Promise<string | null | undefined>;
  /** Replaces the notes of this host, durable on return, or with the first line where the journal may not begin yet; at most `viewNotesBytesMax` bytes. */
  readonly writeNotes: (text: string) => Promise<void>;
  /** Tries soon what could not be written; nothing where all was. */
  readonly again: () => void;
  /** Publishes what is still unsaid, and no more. */
  readonly close: () => Promise<void>;
}

/** Changes that come together are one line. */
const gatherMs = 20;

export function createJournal(options: JournalOptions): Journal {
  const { host, repository, isEnrolled, gate } = options;
  const { clock = () => performance.now(), now = () => new Date() } = options;
  const shelf = openShelf(options);
  /** Since when what is believed is believed: a line is dated by that, however late it is written. */
  let since: Date | undefined;
  const mayBegin = (): boolean => schedule.isOpen() || options.hasPeers?.() !== true;
  const writer = createJournalWriter({ ...options, mayBegin, clock, now: () => since ?? now() }, shelf);
  const turns = createTurns();
  // Never the other way round: who waits for its turn with objects in use would keep a purge waiting, and that the turn.
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => gate.use(() => turns.run(work));
  const say = (urgency: Urgency): Promise<void> => inTurn(() => writer.say(urgency));
  const schedule = createSchedule({ ...options, clock }, say, writer);
  options.beliefs.onChanged(() => {
    since = now();
    schedule.changed();
  });
  return {
    load: shelf.load,
    open: schedule.open,
    publish: () => say('now'),
    publishOnceOpen: async () => (schedule.isOpen() ? say('now') : undefined),
    newest: (name) => shelf.newest.get(name),
    tips: shelf.tips,
    ownTip: () => {
      const tip = shelf.tips.get(host);
      return tip && { ...tip, hasGoneOn: writer.hasGoneOn() };
    },
    store: viewStore({ host, shelf, writer, turns }),
    divergences() {
      shelf.divergences.forget(isEnrolled);
      return shelf.divergences.standing();
    },
    faults: () => [
      ...[writer.fault() ?? [], ...shelf.damaged.values()]
        .flat()
        .map(({ code, message }) => ({ kind: code, detail: message })),
      // What peers could give back they have given, and the journal is continued: what is missing is gone for good.
      ...(writer.hasGoneOn() ? [] : rewoundFault(options, shelf)),
    ],
    readNotes: (name) => readNotes(repository, name),
    writeNotes: (text) => inTurn(() => writer.writeNotes(text)),
    again: () => {
      if (writer.fault() !== undefined) schedule.changed();
    },
    close: async () => {
      if (schedule.stop()) await say('now');
      await inTurn(() => Promise.resolve());
    },
  };
}

/** Known once the journals were read. */
function rewoundFault({ beliefs, host }: Pick<JournalOptions, 'beliefs' | 'host'>, shelf: JournalShelf): LocalFault[] {
  if (!shelf.isLoaded() || shelf.damaged.has(host)) return [];
  const detail = viewRewound(beliefs.lastView(), shelf.tips.get(host));
  return detail === undefined
    ? []
    : [{ kind: 'VIEW_REWOUND', detail: `${detail}: memctl fetch brings it back from peers` }];
}

/** One thing at a time: the branch has one writer, and the mesh may put another copy in its place. */
interface Turns {
  run<T>(work: () => Promise<T>): Promise<T>;
}

function createTurns(): Turns {
  let queue: Promise<unknown> = Promise.resolve();
  return {
    run(work) {
      const turn = queue.then(work);
      queue = turn.catch(() => undefined);
      return turn;
    },
  };
}

function viewStore(parts: {
  readonly host: string;
  readonly shelf: JournalShelf;
  readonly writer: JournalWriter;
  readonly turns: Turns;
}): ViewStore {
  const { host, shelf, writer, turns } = parts;
  const turnsOf = new Map<string, Turns>();
  return {
    tip: (name) => shelf.tips.get(name),
    newest: (name) => shelf.newest.get(name),
    isDamaged: (name) => shelf.damaged.has(name),
    alone(name, work) {
      if (name === host) return turns.run(work);
      // Two peers may send the same journal at once.
      const others = turnsOf.get(name) ?? createTurns();
      turnsOf.set(name, others);
      return others.run(work);
    },
    took(name, lines) {
      shelf.took(name, lines);
      if (name === host) writer.reopen();
    },
  };
}

interface Schedule {
  readonly changed: () => void;
  readonly open: () => void;
  readonly isOpen: () => boolean;
  /** Ends it. @returns whether something is still unsaid. */
  readonly stop: () => boolean;
}

function createSchedule(
  {
    daemon,
    clock,
    log,
    after = onTimer,
  }: Pick<JournalOptions, 'daemon' | 'log' | 'after'> & Pick<JournalWriterOptions, 'clock'>,
  say: (urgency: Urgency) => Promise<void>,
  writer: JournalWriter,
): Schedule {
  let callOff: (() => void) | undefined;
  let [isOpen, isDirty, isSpeaking, isOver] = [false, false, false, false];
  let saidAt = -Infinity;

  const arm = (): void => {
    if (!daemon || isOver || isSpeaking) return;
    if (!isDirty && !(isOpen && writer.isUnsaid())) return;
    const calm = writer.publishedAt() + viewLineCalmMs;
    // What could not be published when it was time is tried again a minute later.
    const due = isDirty ? saidAt + viewLineMinMs : calm > saidAt ? calm : saidAt + viewLineCalmMs;
    // A change is due sooner than what waits for its minute.
    callOff?.();
    callOff = after(Math.min(Math.max(gatherMs, due - clock()), viewLineCalmMs), () => void speak());
  };
  const speak = async (): Promise<void> => {
    [isDirty, isSpeaking, saidAt, callOff] = [false, true, clock(), undefined];
    try {
      await say(isOpen ? 'due' : 'fine');
    } catch (error) {
      log?.error({ err: error }, 'the view journal failed');
    }
    isSpeaking = false;
    arm();
  };
  const changed = (): void => {
    // The first of many changes has set the time.
    const isNews = !isDirty;
    isDirty = true;
    if (isNews) arm();
  };
  return {
    changed,
    open() {
      isOpen = true;
      changed();
    },
    isOpen: () => isOpen,
    stop() {
      isOver = true;
      callOff?.();
      return isDirty || writer.isUnsaid();
    },
  };
}

function onTimer(ms: number, work: () => void): () => void {
  const timer = setTimeout(work, ms);
  return () => clearTimeout(timer);
}
