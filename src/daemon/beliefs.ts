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
import { openDerived, type Derived, type DerivedFrom } from './derived.ts';
import { openHeadsKeeper, type HeadsKeeper } from './heads-keeper.ts';
import { createLogBook, loadLogs, type LogBook } from './log-book.ts';
import { createSettler } from './settler.ts';
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
  readonly fold: () => Promise<Fold>;
  /** Takes lines that are durable and verified; `oid` is the commit that holds them. */
  readonly take: (log: string, lines: readonly VerifiedLine[], oid: string) => Promise<void>;
  /** Puts the fold under the trust set as it is now. */
  readonly recharter: () => Promise<void>;
  /** Brings everything derived up to date. */
  readonly settle: () => Promise<void>;
  /** The database, up to date. Needs no fold when it was up to date already. */
  readonly read: () => Promise<StateDatabase>;
  /** BRANCH_REWOUND once a branch says less than it did when this host last looked; nothing is written then. */
  readonly headsFault: () => OperatingError | undefined;
  /** Has the listener told of every change of the fold: the subjects that were worked out anew, or all of them. */
  readonly onChanged: (listener: FoldListener) => void;
  /** Makes everything derived again from the repository. */
  readonly rebuild: (progress: (text: string) => void) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Told of subjects that were worked out anew. */
export type FoldListener = (subjects: Iterable<string> | 'all') => void;

export function openBeliefs(options: BeliefsOptions): Beliefs {
  const { home, repository, trust, daemon, log } = options;
  const book = createLogBook();
  const derived = openDerived(home, repository);
  const heads = openHeadsKeeper(home);
  const listeners: FoldListener[] = [];
  const tell: FoldListener = (subjects) => {
    for (const listener of listeners) listener(subjects);
  };
  let folding: Promise<Fold> | undefined;

  const load = (progress: (text: string) => void, anew: boolean): Promise<Fold> =>
    loadFold({ repository, trust: trust(), book, derived, heads, progress, anew });
  const fold = (): Promise<Fold> => (folding ??= load(options.progress, false));
  const settler = createSettler(
    async () => {
      const current = await fold();
      await derived.flush(current, { ...inputsOf(book.oids(), trust()), cuts: book.cuts() });
      await heads.write(book, trust());
    },
    (error) => log?.error({ err: error }, 'cannot write what is derived'),
  );
  const settleSoon = (): void => {
    if (daemon) settler.soon();
  };
  return {
    book,
    database: derived.database,
    fold,
    take: async (name, lines, oid) => {
      const current = await fold();
      // A rebuild that ran meanwhile has read the branch, and with it these lines, already.
      const known = book.tip(name)?.seq ?? 0;
      const fresh = lines.filter(({ seq }) => seq > known);
      book.extend(name, fresh, oid);
      const { subjects } = foldLines(current, fresh);
      derived.touch(subjects, fresh);
      tell(subjects);
      settleSoon();
    },
    recharter: async () => {
      setCharter(await fold(), trust().charter, trust().hash);
      derived.touchAll();
      tell('all');
      settleSoon();
    },
    settle: settler.now,
    read: async () => {
      const untouched =
        folding === undefined && derived.isCurrent(inputsOf(commitsOnDisk(repository, trust()), trust()));
      if (!untouched) await settler.now();
      return derived.database;
    },
    headsFault: heads.fault,
    onChanged: (listener) => void listeners.push(listener),
    rebuild: async (progress) => {
      await settler.stop();
      for (const name of book.logs()) book.forget(name);
      folding = load(progress, true);
      tell('all');
      await settler.now();
    },
    close: async () => {
      if (folding === undefined) await settler.stop();
      else await settler.now();
      derived.close();
    },
  };
}

/** Throws BRANCH_REWOUND: a host that was rewound fetches and appends nothing until it is restored. */
export function requireSoundHeads(beliefs: Beliefs): void {
  const fault = beliefs.headsFault();
  if (fault !== undefined) throw fault;
}

interface Loading {
  readonly repository: Repository;
  readonly trust: TrustState;
  readonly book: LogBook;
  readonly derived: Derived;
  readonly heads: HeadsKeeper;
  readonly progress: (text: string) => void;
  /** Write every row again, current or not. */
  readonly anew: boolean;
}

/** Reads, verifies and folds every log of the charter. */
async function loadFold({ repository, trust, book, derived, heads, progress, anew }: Loading): Promise<Fold> {
  const { charter, hash } = trust;
  const fold = createFold(charter, hash);
  const loaded: VerifiedLine[] = [];
  await loadLogs({ repository, charter, book, progress }, (lines) => {
    for (const line of lines) loaded.push(line);
  });
  heads.check(book, trust);
  progress(`folding ${loaded.length} lines`);
  foldLines(fold, loaded);
  if (anew || !derived.isCurrent(inputsOf(book.oids(), trust))) derived.startAnew(loaded);
  return fold;
}

function inputsOf(oids: Readonly<Record<string, string>>, trust: TrustState): Omit<DerivedFrom, 'cuts'> {
  return { oids, trust: trust.hash, rules: rulesVersion };
}

/** Commit of every log branch of the charter, read from the refs alone. */
function commitsOnDisk(repository: Repository, trust: TrustState): Record<string, string> {
  const { hosts } = trust.charter;
  return Object.fromEntries([...listLogs(repository)].filter(([name]) => hosts.has(name)));
}
