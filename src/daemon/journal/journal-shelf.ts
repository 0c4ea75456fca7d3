/** The view journals that are here, this host's and others': where each stands, and what they say of the same input. */
import { statementsKeptMax } from '../../core/limits.ts';
import type { ViewTip } from '../../core/sync/peer.ts';
import { viewLineHash, type Statement, type ViewLine } from '../../core/view-line.ts';
import { isDamage, type OperatingError } from '../../store/errors.ts';
import { readFineLines } from '../../store/logs/fine-journal.ts';
import { viewHosts } from '../../store/git/refs.ts';
import type { Repository } from '../../store/git/repository.ts';
import type { Home } from '../../store/home/home.ts';
import { readViewLines, viewCommit } from '../../store/logs/view-journal.ts';
import { createDivergences, type Divergences } from './divergence.ts';

export interface ShelfOptions {
  readonly home: Home;
  /** Slug of this host. */
  readonly host: string;
  readonly repository: Repository;
  /** Whether the charter names a host. */
  readonly isEnrolled: (host: string) => boolean;
  /** Told when the newest line of a journal is another one. */
  readonly onLine?: (host: string) => void;
}

export interface JournalShelf {
  /** Reads where the journals stand, once. */
  readonly load: () => Promise<void>;
  readonly isLoaded: () => boolean;
  /** Newest line of every journal, by host. Empty before `load`. */
  readonly tips: ReadonlyMap<string, ViewTip>;
  /** The lines that `tips` are of. */
  readonly newest: ReadonlyMap<string, ViewLine>;
  /** Journals that cannot be read here. */
  readonly damaged: ReadonlyMap<string, OperatingError>;
  readonly divergences: Divergences;
  /** What this host published last; undefined: nothing yet. */
  readonly published: () => Statement | undefined;
  /** Notes lines that are durable, in order; of another host's journal they are verified. */
  readonly took: (host: string, lines: readonly ViewLine[]) => void;
}

/** Lines of each journal that are read at the start, to be held against what this host says: a few segments. */
const linesRead = 64;
const fineLinesRead: number = statementsKeptMax / 4;

export function openShelf({ home, host, repository, isEnrolled, onLine }: ShelfOptions): JournalShelf {
  const divergences = createDivergences();
  const tips = new Map<string, ViewTip>();
  const newestLines = new Map<string, ViewLine>();
  const damaged = new Map<string, OperatingError>();
  let published: Statement | undefined;
  let loading: Promise<void> | undefined;
  let isLoaded = false;

  const note = (name: string, newest: ViewLine | undefined): void => {
    const oid = viewCommit(repository, name);
    if (newest === undefined || oid === null) {
      tips.delete(name);
      newestLines.delete(name);
    } else {
      tips.set(name, { oid, n: newest.n, hash: viewLineHash(newest) });
      newestLines.set(name, newest);
    }
    if (name === host) published = newest;
    damaged.delete(name);
    onLine?.(name);
  };
  const readOne = async (name: string): Promise<void> => {
    try {
      const lines: ViewLine[] = [];
      for await (const line of readViewLines(repository, name)) if (lines.push(line) === linesRead) break;
      for (const line of lines) if (name === host) divergences.say(line);
      if (name !== host && isEnrolled(name)) for (const line of lines) divergences.hear(line);
      note(name, lines[0]);
    } catch (error) {
      if (!isDamage(error)) throw error;
      damaged.set(name, error);
    }
  };
  const readAll = async (): Promise<void> => {
    let count = 0;
    for (const line of readFineLines(home)) {
      divergences.say(line);
      count += 1;
      if (count === fineLinesRead) break;
    }
    // Those of hosts that the charter does not name now too: once it does, the next line is built on what is here.
    for (const name of viewHosts(repository)) await readOne(name);
    isLoaded = true;
    // Of a mesh without journals somebody hears too that they were read.
    onLine?.(host);
  };
  return {
    load: () => {
      loading ??= readAll();
      // Who asks hears of a failure, and the next one who asks tries again.
      loading.catch(() => (loading = undefined));
      return loading;
    },
    isLoaded: () => isLoaded,
    tips,
    newest: newestLines,
    damaged,
    divergences,
    published: () => published,
    took(name, lines) {
      for (const line of lines) if (name !== host) divergences.hear(line);
      note(name, lines.at(-1));
    },
  };
}
