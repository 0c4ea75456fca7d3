/**
 * What this host believes: the logs as read and verified, the fold over them, and everything derived. Made from the
 * repository when it is first needed; a reader whose database is up to date needs none of it.
 */
import type { Logger } from 'pino';
import { createFold, foldLines, setCharter, type Fold } from '../core/fold/fold.ts';
import { rulesVersion } from '../core/fold/state.ts';
import type { VerifiedLine } from '../core/log.ts';
import type { StateDatabase } from '../store/database.ts';
import type { OperatingError } from '../store/errors.ts';
import { listLogs } from '../store/git/refs.ts';
import type { Repository } from '../store/git/repository.ts';
import type { Home } from '../store/home.ts';
import { openDerived } from './derived.ts';
import { openHeadsKeeper } from './heads-keeper.ts';
import { createLogBook, loadLogs, type LogBook } from './log-book.ts';
import type { TrustState } from './trust-keeper.ts';

export interface BeliefsOptions {
  readonly home: Home;
  readonly repository: Repository;
  readonly trust: () => TrustState;
  /** True in memd: derived files follow on a timer. Without it they follow at the next read, and at the end. */
  readonly daemon: boolean;
  readonly log: Logger | undefined;
  readonly progress: (text: string) => void;
}

export interface Beliefs {
  readonly book: LogBook;
  /** The database as it stands; see `read` for one that is up to date. */
  readonly database: StateDatabase;
  fold(): Promise<Fold>;
  /** Takes lines that are durable and verified; `oid` is the commit that holds them. */
  take(log: string, lines: readonly VerifiedLine[], oid: string): Promise<void>;
  /** Puts the fold under the trust set as it is now. */
  recharter(): Promise<void>;
  /** Brings everything derived up to date. */
  settle(): Promise<void>;
  /** The database, up to date. */
  read(): Promise<StateDatabase>;
  /** Throws BRANCH_REWOUND when a branch says less than it did when this host last looked. */
  requireSoundHeads(): void;
  /** What `requireSoundHeads` would throw. */
  headsFault(): OperatingError | undefined;
  /** Makes everything derived again from the repository. */
  rebuild(progress: (text: string) => void): Promise<void>;
  close(): Promise<void>;
}

/**
 * How long derived files may lag behind an append in a daemon: at least this, and nine times what the last settling took
 * (so that it costs a tenth of the time under a steady load), but never longer than the maximum. A read settles at once.
 */
const settleDelayMs = 50;
const settleShare = 9;
const settleDelayMaxMs = 2_000;

export function openBeliefs(options: BeliefsOptions): Beliefs {
  const { home, repository, trust, daemon, log } = options;
  const book = createLogBook();
  const derived = openDerived(home, repository);
  const heads = openHeadsKeeper(home);
  let folding: Promise<Fold> | undefined;
  let settling: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let settleMs = 0;

  const inputs = (oids: Readonly<Record<string, string>>) => ({ oids, trust: trust().hash, rules: rulesVersion });
  const load = async (progress: (text: string) => void, anew: boolean): Promise<Fold> => {
    const { charter, hash } = trust();
    const fold = createFold(charter, hash);
    const loaded: VerifiedLine[] = [];
    await loadLogs({ repository, charter, book, progress }, (lines) => {
      for (const line of lines) loaded.push(line);
    });
    heads.check(book, trust());
    progress(`folding ${loaded.length} lines`);
    foldLines(fold, loaded);
    if (anew || !derived.isCurrent(inputs(book.oids()))) derived.startAnew(loaded);
    return fold;
  };
  const fold = (): Promise<Fold> => (folding ??= load(options.progress, false));
  const settleNow = async (): Promise<void> => {
    const current = await fold();
    const start = performance.now();
    await derived.flush(current, { ...inputs(book.oids()), cuts: book.cuts() });
    await heads.write(book, trust());
    settleMs = performance.now() - start;
  };
  const settle = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    return (settling = settling.then(settleNow, settleNow));
  };
  const settleSoon = (): void => {
    if (!daemon) return;
    timer ??= setTimeout(() => {
      settle().catch((error: unknown) => log?.error({ err: error }, 'cannot write what is derived'));
    }, Math.min(Math.max(settleDelayMs, settleShare * settleMs), settleDelayMaxMs));
  };
  return {
    book,
    database: derived.database,
    fold,
    async take(name, lines, oid) {
      const current = await fold();
      book.extend(name, lines, oid);
      derived.touch(foldLines(current, lines).subjects, lines);
      settleSoon();
    },
    async recharter() {
      const current = await fold();
      setCharter(current, trust().charter, trust().hash);
      derived.touchAll();
      settleSoon();
    },
    settle,
    async read() {
      const onDisk = (): Record<string, string> => {
        const { hosts } = trust().charter;
        return Object.fromEntries([...listLogs(repository)].filter(([name]) => hosts.has(name)));
      };
      if (folding !== undefined || !derived.isCurrent(inputs(onDisk()))) await settle();
      return derived.database;
    },
    requireSoundHeads: heads.requireSound,
    headsFault: heads.fault,
    async rebuild(progress) {
      await settling;
      for (const name of book.logs()) book.forget(name);
      folding = load(progress, true);
      await settle();
    },
    async close() {
      if (folding !== undefined) await settle();
      clearTimeout(timer);
      derived.close();
    },
  };
}
