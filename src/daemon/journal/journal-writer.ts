/** Saying what is believed: in the fine journal whenever it changed, on the branch when it is time. */
import type { Logger } from 'pino';
import { viewLineCalmMs } from '../../core/limits.ts';
import type { Fold } from '../../core/fold/fold.ts';
import { buildViewLine, viewLineHash, type Statement, type ViewLineParts } from '../../core/view-line.ts';
import { sameStatement, statementOf } from '../../core/view-statement.ts';
import { signEd25519, type SigningKey } from '../../crypto/ed25519.ts';
import { isOperatingError, type OperatingError } from '../../store/errors.ts';
import { noteFineLine } from '../../store/logs/fine-journal.ts';
import { openViewWriter, type ViewWriter } from '../../store/logs/view-journal.ts';
import type { Beliefs } from '../beliefs/beliefs.ts';
import type { LogBook } from '../beliefs/log-book.ts';
import type { JournalShelf, ShelfOptions } from './journal-shelf.ts';
import { alarmsMark, viewDigests } from './journal-state.ts';

export interface JournalWriterOptions extends ShelfOptions {
  readonly meshId: string;
  /** The key as of now: a rekey replaces it. */
  readonly key: () => SigningKey;
  readonly beliefs: Pick<Beliefs, 'fold' | 'onChanged' | 'viewCache' | 'headsFault' | 'lastView'> & {
    readonly book: Pick<LogBook, 'logs' | 'head'>;
  };
  /** Whether everything that is purged is out of this home. Until then others are told nothing: a line says that it is. */
  readonly isPurged: () => boolean;
  /**
   * Whether a first line may be written. A home that was restored without its journal has one elsewhere: what it said here
   * anew would be another journal of the same host. Always when absent.
   */
  readonly mayBegin?: () => boolean;
  readonly log: Logger | undefined;
  /** Milliseconds on a clock that never runs backwards, and since when what is believed is believed. */
  readonly clock: () => number;
  readonly now: () => Date;
}

/** To others too: `due`, if a park or an alarm changed, or a minute is over; `now`, if it is news; `fine`, not yet. */
export type Urgency = 'due' | 'now' | 'fine';

export interface JournalWriter {
  /** Says what is believed now, where it has not been said. Not to be called while a call runs. What fails is told by `fault`. */
  readonly say: (urgency: Urgency) => Promise<void>;
  /** True when others have not been told yet what is believed, as of the last call. */
  readonly isUnsaid: () => boolean;
  readonly publishedAt: () => number;
  /** Replaces the notes; where the journal may not begin yet, with its first line. Not to be called while a call runs. */
  readonly writeNotes: (text: string) => Promise<void>;
  /** The journal was gone on from where it stands by this process, after peers had said what they hold of it. */
  readonly hasGoneOn: () => boolean;
  /** The branch is another one than before. */
  readonly reopen: () => void;
  readonly fault: () => OperatingError | undefined;
}

interface Saying {
  readonly options: JournalWriterOptions;
  readonly shelf: JournalShelf;
  writer: ViewWriter | undefined;
  fault: OperatingError | undefined;
  /** What the fine journal says. */
  fine: Statement | undefined;
  /** What alarms stood when others were told last. */
  mark: string | undefined;
  publishedAt: number;
  goneOn: boolean;
  /** Notes that wait for the first line. */
  notes: string | undefined;
}

export function createJournalWriter(options: JournalWriterOptions, shelf: JournalShelf): JournalWriter {
  const saying: Saying = {
    options,
    shelf,
    writer: undefined,
    fault: undefined,
    fine: undefined,
    mark: undefined,
    publishedAt: -Infinity,
    goneOn: false,
    notes: undefined,
  };
  return {
    async say(urgency) {
      try {
        await sayNow(saying, urgency);
        saying.fault = undefined;
      } catch (error) {
        saying.writer = undefined;
        if (!isOperatingError(error)) throw error;
        const isKnown = saying.fault?.message === error.message;
        if (!isKnown) options.log?.warn({ err: error }, 'cannot write the view journal');
        saying.fault = error;
      }
    },
    isUnsaid: () => saying.fine !== undefined && !isPublished(shelf, saying.fine),
    publishedAt: () => saying.publishedAt,
    writeNotes: (text) => writeNotes(saying, text),
    hasGoneOn: () => saying.goneOn,
    reopen: () => {
      saying.writer = undefined;
      saying.goneOn = false;
    },
    fault: () => saying.fault,
  };
}

async function sayNow(saying: Saying, urgency: Urgency): Promise<void> {
  const { options, shelf } = saying;
  const { beliefs, clock, host, isPurged } = options;
  await shelf.load();
  const fold = await beliefs.fold();
  const statement = statementOf(fold, beliefs.book);
  if (statement === undefined) return;
  if (saying.fine === undefined || !sameStatement(saying.fine, statement)) {
    saying.fine = statement;
    shelf.divergences.say(statement);
    if (!isPublished(shelf, statement)) noteFine(options, statement);
  }
  const alarms = alarmsMark(fold);
  const isTime = alarms !== saying.mark || clock() - saying.publishedAt >= viewLineCalmMs;
  const isWanted = urgency === 'now' || (urgency === 'due' && isTime);
  // A home that was rewound would say again, and otherwise, what it has said before.
  const mayPublish = isWanted && !shelf.damaged.has(host) && beliefs.headsFault() === undefined && isPurged();
  const mayWrite = shelf.tips.has(host) || options.mayBegin?.() !== false;
  if (mayPublish && mayWrite && !isPublished(shelf, statement)) await publish(saying, statement, fold);
  if (isPublished(shelf, statement)) saying.mark = alarms;
}

function isPublished(shelf: JournalShelf, statement: Statement): boolean {
  const published = shelf.published();
  return published !== undefined && sameStatement(published, statement);
}

async function publish(saying: Saying, statement: Statement, fold: Fold): Promise<void> {
  const { options, shelf } = saying;
  const { beliefs, meshId, host } = options;
  // Of the moment of the statement: what follows takes its time.
  const views = viewDigests(fold, beliefs.viewCache);
  const at = options.now().toISOString();
  const writer = await openWriter(saying);
  const before = writer.newest();
  const place = { n: (before?.n ?? 0) + 1, prev: before === null ? meshId : viewLineHash(before) };
  const line = signed(options, { ...statement, ...place, at, host, views });
  await writer.append(line);
  saying.goneOn ||= options.mayBegin?.() !== false;
  shelf.took(host, [line]);
  saying.publishedAt = options.clock();
  if (saying.notes !== undefined) await writeNotes(saying, saying.notes);
}

/** Notes stand beside a line: without one, one is written first. Where none may be written yet they wait for it. */
async function writeNotes(saying: Saying, text: string): Promise<void> {
  const { shelf, options } = saying;
  await shelf.load();
  saying.notes = text;
  if ((await openWriter(saying)).newest() === null) await sayNow(saying, 'now');
  const writer = await openWriter(saying);
  const line = writer.newest();
  if (line === null || saying.notes !== text) return;
  try {
    await writer.writeNotes(text);
    saying.notes = undefined;
  } catch (error) {
    saying.writer = undefined;
    throw error;
  }
  shelf.took(options.host, [line]);
}

async function openWriter(saying: Saying): Promise<ViewWriter> {
  const { repository, host, meshId } = saying.options;
  saying.writer ??= await openViewWriter({ repository, host, meshId });
  return saying.writer;
}

/** Outside the chain, and without views: this host alone reads it. */
function noteFine(options: JournalWriterOptions, statement: Statement): void {
  const { home, host, meshId, now } = options;
  const at = now().toISOString();
  noteFineLine(home, signed(options, { ...statement, at, host, n: 1, prev: meshId, views: new Map() }));
}

function signed({ key }: JournalWriterOptions, parts: ViewLineParts): ReturnType<typeof buildViewLine> {
  return buildViewLine(parts, (message) => signEd25519(key(), message));
}
