/**
 * What this host believes: the logs as read and verified, the fold over them, and everything derived. Made from the
 * repository when it is first needed; a reader whose database is up to date needs none of it.
 */
import type { Logger } from 'pino';
import { foldLines, setCharter, type Fold } from '../../core/fold/fold.ts';
import { rulesVersion } from '../../core/fold/state.ts';
import type { VerifiedLine } from '../../core/log.ts';
import type { LogTip } from '../../core/sync/peer.ts';
import type { Charter } from '../../core/trust/charter.ts';
import { usableUpto, type Usable } from '../../core/trust/usable.ts';
import type { ViewCache } from '../../core/views/selection.ts';
import type { StateDatabase } from '../../store/database/database.ts';
import type { OperatingError } from '../../store/errors.ts';
import type { Repository } from '../../store/git/repository.ts';
import type { Home } from '../../store/home/home.ts';
import type { LastHead } from '../../store/notes/last-heads.ts';
import { commitsOnDisk } from './commits-on-disk.ts';
import { openDerived, type Derived, type DerivedInputs, type MakeManifests, type NewFile } from './derived.ts';
import { writeSomewhere } from './database-place.ts';
import { logsIn, tipsIn } from './fold-rows.ts';
import { readsOtherwise } from './log-rules.ts';
import { openHeadsKeeper, type HeadsKeeper, type ViewSeen } from './heads-keeper.ts';
import { createFoldKeeper, type FoldKeeper } from './fold-keeper.ts';
import { cutOf, readVerifiedLog, wrongBranch, type LogBook } from './log-book.ts';
import type { ManifestMaker } from '../journal/manifest-maker.ts';
import { createSettler, type Settler } from './settler.ts';
import type { OwnWord } from './own-word.ts';
import type { TrustState } from '../trust/trust-keeper.ts';

export interface BeliefsOptions {
  readonly home: Home;
  /** Slug of this host. */
  readonly host: string;
  readonly repository: Repository;
  readonly trust: () => TrustState;
  /** True in memd: derived files follow on a timer. Without it they follow at the next read, and at the end. */
  readonly daemon: boolean;
  /** Newest line of this host's view journal, as far as it is known. */
  readonly viewTip?: () => ViewSeen | undefined;
  /** What this host signed about its own log, where `last-heads.json` says nothing. */
  readonly ownWord?: OwnWord | undefined;
  /** What this host signs of its views; nothing when absent. */
  readonly manifests?: ManifestMaker;
  readonly log: Logger | undefined;
  readonly progress: (text: string) => void;
}

export interface Beliefs {
  readonly book: LogBook;
  /** The database as it stands; see `read` for one that is up to date. Not to be kept: a damaged one is replaced. */
  readonly database: StateDatabase;
  readonly fold: () => Promise<Fold>;
  /** As `FoldKeeper.pack`. */
  readonly pack: () => boolean;
  /** Takes lines that are durable and verified; `oid` is the commit that holds them. */
  readonly take: (log: string, lines: readonly VerifiedLine[], oid: string) => Promise<void>;
  /** The same for a log whose copy here was damaged and has been replaced by one that ends at `tip`; there may be no new line. */
  readonly mend: (log: string, lines: readonly VerifiedLine[], tip: LogTip) => Promise<void>;
  /** Reads a log again, and takes what has come back of it. @returns true when it is cut. */
  readonly recheck: (log: string) => Promise<boolean>;
  /**
   * Puts the fold under the trust set as it is now. Logs are read again if it says something else of one that is here. No
   * append may be under way.
   */
  readonly recharter: () => Promise<void>;
  /** Brings everything derived up to date. */
  readonly settle: () => Promise<void>;
  /** The database, up to date. Needs no fold when it was up to date already. */
  readonly read: () => Promise<StateDatabase>;
  /** BRANCH_REWOUND once the own log or the trust branch says less than when this host last looked: nothing is written. */
  readonly headsFault: () => OperatingError | undefined;
  /** The same of the trust branch alone. */
  readonly trustFault: () => OperatingError | undefined;
  /** Lines of the own log that this host once held, as far as its present key signed the last of them. */
  readonly seenOfOwn: () => number;
  /** The last line of a log that this host saw; undefined when it is not known. */
  readonly lastOf: (log: string) => LastHead | undefined;
  /** The same for every branch. A peer's log comes back from peers, and meanwhile this host may write its own. */
  readonly headsFaults: () => readonly OperatingError[];
  /** What else a person should hear of this home. */
  readonly notes: HeadsKeeper['notes'];
  /** Newest line of this host's view journal when this host last looked. */
  readonly lastView: HeadsKeeper['lastView'];
  /** Why copies or views could not be written. */
  readonly fileFault: () => OperatingError | undefined;
  /** Has views and copies written again at the next settling, whatever changed. */
  readonly touchFiles: () => void;
  /** Has the manifests beside the views brought up to date soon, if the journal of this host has news for them. */
  readonly touchManifests: (host: string) => void;
  /** What is known of the subjects for the views of an audience, every scope. Forgets what changes. Not to be kept. */
  readonly viewCache: (audience: string) => ViewCache;
  /** Has the listener told of every change of the fold: the subjects that were worked out anew, or all of them. */
  readonly onChanged: (listener: FoldListener) => void;
  /**
   * Makes everything derived again from the repository. With `damage`, into a new file; nothing is done if that has
   * happened meanwhile. No append may be under way.
   */
  readonly rebuild: (progress: (text: string) => void, damage?: DatabaseDamage) => Promise<void>;
  /**
   * Has `work` take bodies out of the repository while nothing of this process reads it, and makes everything derived again
   * under the trust set as it is then, in a new database file. No append and no fetch may be under way.
   */
  readonly purge: (progress: (text: string) => void, work: () => Promise<void>) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** A database that was found damaged, and how that showed. */
export interface DatabaseDamage {
  readonly database: StateDatabase;
  readonly error: OperatingError;
}

/** Told of subjects that were worked out anew. */
export type FoldListener = (subjects: Iterable<string> | 'all') => void;

export function openBeliefs(options: BeliefsOptions): Beliefs {
  const { home, host, repository, trust, daemon, log, progress } = options;
  const heads = openHeadsKeeper(home, options.viewTip, options.ownWord);
  const listeners: FoldListener[] = [];
  const tell: FoldListener = (subjects) => listeners.forEach((listener) => listener(subjects));
  const manifests: MakeManifests = (fold, files) => options.manifests?.make(fold, book, files);
  const derived = openDerived({ home, repository, log, latest: () => keeper.latest(), manifests });
  const keeper = createFoldKeeper({
    repository,
    trust,
    progress,
    onLoaded(lines) {
      const current = derived.isCurrent({ ...inputsOf(book.oids(), trust().hash), cuts: book.cuts() });
      if (!current) derived.startAnew(lines);
      if (derived.filesAreBehind()) derived.touchFiles(book.logs());
    },
  });
  const { book } = keeper;
  const headsFaults = (): ReadonlyMap<string, OperatingError> =>
    heads.faults(keeper.isAskedFor() ? book : logsIn(derived.database()), trust());
  const flush = (): Promise<void> => flushDerived({ keeper, derived }, () => headsFaults().keys());
  const settler = createSettler(
    async () => {
      await writeSomewhere(derived.place, { write: flush, makeAgain: () => reloadAll(parts, () => undefined) });
      await heads.write(book, trust());
    },
    (error) => log?.error({ err: error }, 'cannot write what is derived'),
  );
  const settleSoon = (): void => {
    if (daemon) settler.soon();
  };
  const parts: Parts = { keeper, derived, settler, tell, settleSoon, log };
  return {
    book,
    get database() {
      return derived.database();
    },
    fold: keeper.latest,
    pack: keeper.pack,
    take: (name, lines, oid) => takeLines(parts, { log: name, lines, oid }),
    mend: (name, lines, tip) => takeMended(parts, { log: name, lines, tip }),
    recheck: (name) => recheckLog(parts, options, name),
    recharter: () => recharter(parts, options),
    settle: settler.now,
    read: async () => {
      const current = derived.isCurrent(inputsOf(commitsOnDisk(repository, trust()), trust().hash));
      const untouched = !keeper.isAskedFor() && current && !derived.filesAreBehind();
      if (!untouched) await settler.now();
      return derived.database();
    },
    ...headsFaultsOf(headsFaults, host),
    ...lastSeenOf(heads, host, trust),
    fileFault: () => derived.fileFault(),
    touchFiles: () => derived.touchFiles(book.logs()),
    touchManifests: (name) => touchManifests(options, parts, name),
    viewCache: (audience) => derived.viewCache(audience),
    onChanged: (listener) => void listeners.push(listener),
    rebuild: (said, damage) => rebuildAll(parts, said, damage),
    purge: (said, work) => purgeAll(parts, said, work),
    close: () => closeAll(parts),
  };
}

/** Brings what is derived up to date. `behind`: logs that say less than was seen of them. */
async function flushDerived(
  { keeper, derived }: Pick<Parts, 'keeper' | 'derived'>,
  behind: () => Iterable<string>,
): Promise<void> {
  const fold = await keeper.latest();
  const { book } = keeper;
  // The fold's own trust: the set may have grown since, and rows of the old charter must not pass for rows of the new.
  await derived.flush(fold, () => {
    const cuts = book.cuts();
    const damaged = new Set([...cuts.map(({ log }) => log), ...behind()]);
    return { ...inputsOf(book.oids(), fold.trust), cuts, tips: tipsIn(book), damaged };
  });
}

function touchManifests({ manifests }: BeliefsOptions, { derived, settleSoon }: Parts, host: string): void {
  if (manifests?.isNews(host) !== true) return;
  derived.touchManifests();
  settleSoon();
}

async function closeAll({ keeper, settler, derived }: Parts): Promise<void> {
  if (keeper.isAskedFor()) await settler.now();
  else await settler.stop();
  derived.close();
}

function headsFaultsOf(
  faults: () => ReadonlyMap<string, OperatingError>,
  host: string,
): Pick<Beliefs, 'headsFault' | 'trustFault' | 'headsFaults'> {
  return {
    headsFault: () => faults().get('') ?? faults().get(host),
    trustFault: () => faults().get(''),
    headsFaults: () => [...faults().values()],
  };
}

function lastSeenOf(
  heads: HeadsKeeper,
  host: string,
  trust: () => TrustState,
): Pick<Beliefs, 'seenOfOwn' | 'lastOf' | 'notes' | 'lastView'> {
  return {
    seenOfOwn: () => heads.seen(host, trust()),
    lastOf: (log) => heads.lastOf(log, trust()),
    notes: heads.notes,
    lastView: heads.lastView,
  };
}

interface Parts {
  readonly keeper: FoldKeeper;
  readonly derived: Derived;
  readonly settler: Settler;
  readonly tell: FoldListener;
  readonly settleSoon: () => void;
  readonly log: Logger | undefined;
}

interface TakenLines {
  readonly log: string;
  readonly lines: readonly VerifiedLine[];
  readonly oid: string;
}

async function takeLines(parts: Parts, taken: TakenLines): Promise<void> {
  const { keeper, derived, tell, settleSoon } = parts;
  const { log, lines, oid } = taken;
  await keeper.checkAhead(lines);
  const fold = await keeper.latest();
  const known = keeper.book.tip(log)?.seq ?? 0;
  const fresh = lines.filter(({ seq }) => seq > known);
  // A rebuild that ran meanwhile has read the branch, and with it these lines and their commit, already.
  if (fresh.length === 0 && lines.length > 0) return settleSoon();
  const used = keeper.book.head(log)?.seq ?? 0;
  keeper.book.extend(log, fresh, oid);
  const { upto } = boundLog(keeper.book, fold.charter, log);
  if (upto < used) {
    // It has come to a pin, and is another branch than the one that was pinned: some of it must be forgotten.
    await reloadAll(parts, () => undefined);
  } else {
    const usable = fresh.filter(({ seq }) => seq <= upto);
    const { subjects } = foldLines(fold, usable);
    derived.touch(subjects, usable);
    tell(subjects);
  }
  settleSoon();
}

/** Bounds a log that was extended, and notes the cut if it is not what a signer pinned. */
function boundLog(book: LogBook, { hosts }: Charter, log: string): Usable {
  const host = hosts.get(log);
  const held = book.tip(log)?.seq ?? 0;
  const bounds = host === undefined ? { upto: held } : usableUpto(host, (seq) => book.linkAt(log, seq), held);
  book.bound(log, bounds.upto);
  if (bounds.fault !== undefined && book.cutOf(log) === undefined)
    book.cut(wrongBranch(log, { code: bounds.fault, upto: bounds.upto, held }));
  return bounds;
}

interface MendedLog {
  readonly log: string;
  readonly lines: readonly VerifiedLine[];
  readonly tip: LogTip;
}

/** Its copy on disk is another one than before, and may have stopped early while it was damaged. */
async function takeMended(parts: Parts, { log, lines, tip }: MendedLog): Promise<void> {
  await parts.keeper.latest();
  const { book } = parts.keeper;
  const [first] = lines;
  const held = book.tip(log);
  // Else what was read before is not what the log begins with now: it was another branch than the one that a signer pinned.
  const follows = first === undefined ? held?.link === tip.link : first.seq === (held?.seq ?? 0) + 1;
  book.uncut(log);
  if (follows) await takeLines(parts, { log, lines, oid: tip.oid });
  else await reloadAll(parts, () => undefined);
  parts.derived.touchFiles([log]);
  parts.settleSoon();
}

/**
 * A damaged object is put back, or damaged, without any branch moving. Lines that are held in memory stay: they were
 * verified; the cut says what a restart would find.
 */
async function recheckLog(parts: Parts, { repository, trust }: BeliefsOptions, log: string): Promise<boolean> {
  const { keeper, derived, settleSoon } = parts;
  const fold = await keeper.latest();
  const { book } = keeper;
  const { charter } = trust();
  const host = charter.hosts.get(log);
  const [before, tip] = [book.cutOf(log), book.tip(log)];
  const read = host && (await readVerifiedLog(repository, host, { meshId: charter.meshId, purged: charter.purges }));
  // What a fetch or a rebuild said meanwhile is newer.
  if (read === undefined || (await keeper.latest()) !== fold || book.cutOf(log) !== before) return before !== undefined;
  const { lines } = read.extension;
  const known = tip?.seq ?? 0;
  const cut = cutOf(log, read);
  if (cut === undefined && (known === 0 || lines[known - 1]?.link === tip?.link)) {
    if (before !== undefined) await takeMended(parts, { log, lines, tip: { ...read.extension.tip, oid: read.oid } });
    return false;
  }
  if (cut === undefined || JSON.stringify(cut) === JSON.stringify(before)) return before !== undefined;
  book.cut(cut);
  derived.touch([], []);
  settleSoon();
  return true;
}

async function recharter(parts: Parts, { repository, trust, progress }: BeliefsOptions): Promise<void> {
  const { keeper, derived, tell, settleSoon } = parts;
  const fold = await keeper.latest();
  const { charter, hash } = trust();
  if (readsOtherwise(repository, fold.charter, charter)) {
    await reloadAll(parts, progress);
  } else {
    setCharter(fold, charter, hash);
    derived.touchAll();
    tell('all');
  }
  // Not waited for: a disk that is full must not make an op that counts look like one that was refused.
  settleSoon();
}

async function rebuildAll(parts: Parts, progress: (text: string) => void, damage?: DatabaseDamage): Promise<void> {
  const { derived, settler, log } = parts;
  await settler.alone(async () => {
    if (damage !== undefined && damage.database !== derived.database()) return;
    if (damage !== undefined) log?.warn({ err: damage.error }, 'the database is damaged: it is made again');
    await reloadAll(parts, progress, damage === undefined ? undefined : 'damaged');
  });
  await settler.now();
}

async function purgeAll(parts: Parts, progress: (text: string) => void, work: () => Promise<void>): Promise<void> {
  const { keeper, settler } = parts;
  // A load that is under way reads what is about to go.
  if (keeper.isAskedFor()) await keeper.latest();
  await settler.alone(async () => {
    await work();
    await reloadAll(parts, progress, 'purged');
  });
  await settler.now();
}

/** Reads and folds every log again; everything derived is due. */
async function reloadAll(
  { keeper, derived, tell }: Parts,
  progress: (text: string) => void,
  file?: NewFile,
): Promise<void> {
  await keeper.reload(progress, (lines) => {
    derived.startAnew(lines, { file });
    derived.touchFiles(keeper.book.logs());
  });
  tell('all');
}

/** Throws BRANCH_REWOUND: without its trust set a host asks nobody. */
export function requireSoundTrust(beliefs: Beliefs): void {
  const fault = beliefs.trustFault();
  if (fault !== undefined) throw fault;
}

/** Throws BRANCH_REWOUND: a host that was rewound appends nothing until it has what it had. */
export function requireSoundHeads(beliefs: Beliefs): void {
  const fault = beliefs.headsFault();
  if (fault !== undefined) throw fault;
}

function inputsOf(oids: Readonly<Record<string, string>>, trust: string): DerivedInputs {
  return { oids, trust, rules: rulesVersion };
}
