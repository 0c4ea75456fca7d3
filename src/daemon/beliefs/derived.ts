/**
 * Everything that follows from the logs and is kept on disk: the database, the plain copies, the view files. Brought up
 * to date behind the acknowledgement, at the latest before the next answer that reads them.
 */
import type { Logger } from 'pino';
import { readState, subjectsOf, type Fold } from '../../core/fold/fold.ts';
import type { Line } from '../../core/line.ts';
import type { Charter } from '../../core/trust/charter.ts';
import { forgetSubjects, renderViews } from '../../core/views/render.ts';
import type { ViewCache } from '../../core/views/selection.ts';
import { viewSourceOf } from '../../core/views/view-source.ts';
import type { StateDatabase } from '../../store/database/database.ts';
import { createDatabasePlace, type DatabasePlace } from './database-place.ts';
import { isOperatingError, type OperatingError } from '../../store/errors.ts';
import type { Repository } from '../../store/git/repository.ts';
import type { Home } from '../../store/home/home.ts';
import { withoutBody } from '../../store/logs/log-rewrite.ts';
import { readLog } from '../../store/logs/log-store.ts';
import { openPlainCopies, type PlainCopies } from '../../store/logs/plain-copies.ts';
import { manifestName } from '../../core/manifest.ts';
import { sha256Hex } from '../../crypto/hash.ts';
import { removeViewFile, writeViewFiles, type WrittenViews } from '../../store/view-files.ts';
import { alarmRows, eventRows, lineRow, recordRows, type StoredTips } from './fold-rows.ts';
import type { LogCut } from './log-book.ts';
import { version } from '../version.ts';

/** What a database was made from. Equal inputs: the rows are what the fold would say. */
export interface DerivedFrom {
  /** Commit of every branch log/<host> of the charter. */
  readonly oids: Readonly<Record<string, string>>;
  readonly trust: string;
  readonly rules: number;
  /** Where logs are cut and where they end here: local facts that the rows tell too. */
  readonly cuts: readonly LogCut[];
  readonly tips: StoredTips;
  /** Logs that are damaged or rewound here: their plain copies may hold more than the repository, and are left alone. */
  readonly damaged: ReadonlySet<string>;
}

/** The part that decides whether rows are current. */
export type DerivedInputs = Pick<DerivedFrom, 'oids' | 'trust' | 'rules'>;

export interface Derived {
  /** The open database; another one once a damaged file was replaced. */
  database(): StateDatabase;
  /** True when the database was made from exactly this, by this version. Without `cuts`: and from whole logs. */
  isCurrent(from: DerivedInputs & Partial<Pick<DerivedFrom, 'cuts'>>): boolean;
  /** Notes that these subjects and lines changed; nothing is written yet. */
  touch(subjects: Iterable<string>, lines: readonly Line[]): void;
  /** Notes that every subject may have changed. */
  touchAll(): void;
  /** Where the rows are: in the file, or in memory while the disk is full. After a move: `startAnew` with every line. */
  readonly place: Pick<DatabasePlace, 'inMemory' | 'leaveFile' | 'returnToFile'>;
  /**
   * Throws away every row; all of them are written again at the next flush, these lines among them. `file`: why the file
   * itself is replaced: it is not to be trusted, or no byte of it may be left.
   */
  startAnew(lines: readonly Line[], options?: { readonly file?: NewFile | undefined }): void;
  /** Notes that views and the copies of these logs are to be written again, whatever changed. */
  touchFiles(logs: Iterable<string>): void;
  /** Notes that the manifests beside the views may say more than they do. */
  touchManifests(): void;
  /** True when rows were written whose copies and views were not: a crash came between. */
  filesAreBehind(): boolean;
  /**
   * Writes what was noted. Cheap when nothing was. A file that cannot be written is a fault, told by `fileFault`, and
   * tried again at the next flush: what is believed can be asked for all the same.
   */
  flush(fold: Fold, from: () => DerivedFrom): Promise<void>;
  fileFault(): OperatingError | undefined;
  /** What the view files of an audience are made with; forgets what changes. Not to be kept. */
  viewCache(audience: string): ViewCache;
  close(): void;
}

/** Why a database file is given up. */
export type NewFile = 'damaged' | 'purged';

interface Pending {
  subjects: Set<string> | 'all';
  /** Lines that are in no plain copy yet; the first `rows` of them are in the database. */
  lines: Line[];
  rows: number;
  dirty: boolean;
}

const nothing = (): Pending => ({ subjects: new Set(), lines: [], rows: 0, dirty: false });

/** What one turn of the event loop may write: a request never waits longer than for these. */
const subjectsPerStep = 100;
const linesPerStep = 2_000;

interface ViewCaches {
  readonly of: (audience: string) => ViewCache;
  readonly forget: (subjects: Iterable<string>) => void;
  readonly clear: () => void;
}

function createViewCaches(): ViewCaches {
  const caches = new Map<string, ViewCache>();
  return {
    of(audience) {
      const cache: ViewCache = caches.get(audience) ?? new Map();
      caches.set(audience, cache);
      return cache;
    },
    forget(subjects) {
      for (const cache of caches.values()) forgetSubjects(cache, subjects);
    },
    clear: () => caches.clear(),
  };
}

/** By audience: the text of the manifest of files with these hashes; undefined when none may be signed. */
export type MakeManifests = (
  fold: Fold,
  files: ReadonlyMap<string, ReadonlyMap<string, string>>,
) => ReadonlyMap<string, string> | undefined;

export interface DerivedOptions {
  readonly home: Home;
  readonly repository: Repository;
  readonly log: Logger | undefined;
  /** The fold of now. */
  readonly latest: () => Promise<Fold>;
  readonly manifests: MakeManifests;
}

/** Opens the database of a home; a file of another schema, or a damaged one, is started anew. Without room for it: in memory. */
export function openDerived(options: DerivedOptions): Derived {
  const { repository, log, latest } = options;
  const place = createDatabasePlace(options.home, log);
  const copies = openPlainCopies(options.home);
  const caches = createViewCaches();
  let pending = nothing();
  /** Logs whose copies must be written anew; undefined when every file is as it should be. */
  let unfiled: Set<string> | undefined;
  let manifestsDue = false;
  let fault: OperatingError | undefined;

  const touchFiles = (logs: Iterable<string>): void => void (unfiled = new Set([...(unfiled ?? []), ...logs]));
  const writeFiles = async (fold: Fold, lines: readonly Line[], { damaged, tips }: DerivedFrom): Promise<void> => {
    const sound = (names: Iterable<string>): Set<string> => new Set([...names].filter((name) => !damaged.has(name)));
    const anew = sound(unfiled ?? []);
    const copy = (added: readonly Line[], all: ReadonlySet<string>): Promise<void> =>
      writeCopies(copies, repository, { lines: added, anew: all, charter: fold.charter });
    try {
      await copy(
        lines.filter(({ log: name }) => !anew.has(name) && !damaged.has(name)),
        anew,
      );
      manifestsDue = false;
      // Another fold, if logs were read again meanwhile: what is signed of it must be of the book of the same moment.
      const { edited, mended } = await writeViews(options, await latest(), caches.of);
      reportEdits(edited, log);
      // Nothing of the fold had changed: somebody removed them, and the copies too, perhaps.
      if (mended && lines.length === 0 && unfiled === undefined) await copy([], sound(Object.keys(tips)));
      place.database().write({ meta: { files: 'written' } });
      [unfiled, fault] = [undefined, undefined];
    } catch (error) {
      touchFiles(lines.map((line) => line.log));
      if (!isOperatingError(error) || error.code === 'DATABASE_DAMAGED') throw error;
      if (fault?.message !== error.message) log?.error({ err: error }, 'cannot write copies and views');
      fault = error;
    }
  };
  return {
    database: place.database,
    place,
    viewCache: caches.of,
    isCurrent: (from) => isMadeFrom(place.database().meta(), from),
    touch(changed, added) {
      for (const subject of changed) if (pending.subjects !== 'all') pending.subjects.add(subject);
      caches.forget(changed);
      for (const line of added) pending.lines.push(line);
      pending.dirty = true;
    },
    touchAll() {
      pending.subjects = 'all';
      pending.dirty = true;
      caches.clear();
    },
    startAnew(lines, { file } = {}) {
      clearPlace(place, file);
      pending = { ...nothing(), subjects: 'all', lines: [...lines], dirty: true };
      caches.clear();
    },
    touchFiles,
    touchManifests: () => void (manifestsDue = true),
    filesAreBehind: () => place.database().meta()['files'] !== 'written',
    async flush(fold, from) {
      const { dirty, lines } = pending;
      // What cannot be written stays noted.
      const large = dirty && (await writeInSteps(place.database(), fold, pending));
      if (dirty) writeDatabase(place.database(), fold, pending, from());
      if (large) place.database().large(false);
      pending = nothing();
      if (dirty || unfiled !== undefined || manifestsDue) await writeFiles(fold, lines, from());
    },
    fileFault: () => fault,
    close: () => place.database().close(),
  };
}

function clearPlace(place: DatabasePlace, file: NewFile | undefined): void {
  try {
    if (file === undefined) return place.database().clear();
  } catch (error) {
    if (!isOperatingError(error, 'DATABASE_DAMAGED')) throw error;
  }
  place.replace(file ?? 'damaged');
}

/**
 * Writes most of a large change, step by step, and strikes it off. The database says nothing about its inputs meanwhile:
 * a crash in between costs a rebuild. What comes in while it runs is added to the same change. @returns whether it was.
 */
async function writeInSteps(database: StateDatabase, fold: Fold, pending: Pending): Promise<boolean> {
  if (noted(pending, fold).size <= subjectsPerStep && pending.lines.length - pending.rows <= linesPerStep) return false;
  database.large(true);
  database.write({ meta: { oids: '' } });
  while (pending.lines.length - pending.rows > linesPerStep) {
    database.write({ lines: pending.lines.slice(pending.rows, pending.rows + linesPerStep).map(lineRow) });
    pending.rows += linesPerStep;
    await nextTurn();
  }
  for (let subjects = noted(pending, fold); subjects.size > subjectsPerStep; subjects = noted(pending, fold)) {
    const step = firstOf(subjects, subjectsPerStep);
    database.write({ events: eventRows(fold, step), records: recordRows(fold, step) });
    for (const subject of step) subjects.delete(subject);
    await nextTurn();
  }
  return true;
}

function noted(pending: Pending, fold: Fold): Set<string> {
  if (pending.subjects === 'all') pending.subjects = new Set(['', ...subjectsOf(fold)]);
  return pending.subjects;
}

function firstOf(names: Iterable<string>, count: number): string[] {
  const first: string[] = [];
  for (const name of names) {
    if (first.length === count) break;
    first.push(name);
  }
  return first;
}

function nextTurn(): Promise<void> {
  return new Promise((resume) => {
    setImmediate(resume);
  });
}

/** Writes what is left of a change, and what all rows were made from, at one moment. */
function writeDatabase(database: StateDatabase, fold: Fold, pending: Pending, from: DerivedFrom): void {
  const state = readState(fold);
  const subjects = noted(pending, fold);
  database.write({
    events: eventRows(fold, subjects),
    records: recordRows(fold, subjects),
    lines: pending.lines.slice(pending.rows).map(lineRow),
    alarms: alarmRows(fold),
    meta: {
      ...inputsOf(from),
      root: state.root,
      counts: JSON.stringify(state.counts),
      cuts: JSON.stringify(from.cuts),
      tips: JSON.stringify(from.tips),
      files: 'due',
    },
  });
}

function isMadeFrom(
  meta: Readonly<Record<string, string>>,
  from: DerivedInputs & Partial<Pick<DerivedFrom, 'cuts'>>,
): boolean {
  // A damaged object can be put back without any branch moving: only who has read the logs knows where they are cut.
  const cuts = JSON.stringify(from.cuts ?? []);
  return Object.entries({ ...inputsOf(from), cuts }).every(([key, value]) => meta[key] === value);
}

function inputsOf(from: DerivedInputs): Record<string, string> {
  const oids = Object.entries(from.oids).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return { version, trust: from.trust, rules: String(from.rules), oids: JSON.stringify(oids) };
}

/**
 * Adds lines to the copies; a copy that does not end where they begin is written anew from the repository, as are those
 * of the logs named in `anew`.
 */
async function writeCopies(
  copies: PlainCopies,
  repository: Repository,
  { lines, anew, charter }: { lines: readonly Line[]; anew: ReadonlySet<string>; charter: Charter },
): Promise<void> {
  const { meshId, purges: purged } = charter;
  const behind = new Set(anew);
  for (const [log, added] of Map.groupBy(lines, (line) => line.log)) {
    const texts = added.map((line) => line.text);
    if (!copies.append(log, added[0]?.seq ?? 1, texts)) behind.add(log);
  }
  for (const log of behind) {
    const { lines: held } = await readLog(repository, log);
    // A branch that somebody put back may hold what was purged: a copy never does.
    copies.rewrite(log, purged.size === 0 ? held : held.map((line) => withoutBody({ meshId, purged }, line).line));
  }
}

/**
 * Writes the views of every audience, and what this host signs of them. All of it is of one moment: the fold goes on while
 * files are written. @returns the hand edits that were found and kept beside; `mended`: a view was written, not only a manifest.
 */
async function writeViews(
  { home, manifests }: Pick<DerivedOptions, 'home' | 'manifests'>,
  fold: Fold,
  viewCache: (audience: string) => ViewCache,
): Promise<Pick<WrittenViews, 'edited'> & { readonly mended: boolean }> {
  const source = viewSourceOf(fold);
  const rendered = new Map(
    [...fold.charter.audiences.keys()].map((audience) => {
      return [audience, renderViews(source, { audience, cache: viewCache(audience) })] as const;
    }),
  );
  const made = manifests(fold, new Map([...rendered].map(([audience, files]) => [audience, hashesOf(files)])));
  const edited: WrittenViews['edited'][number][] = [];
  let mended = false;
  for (const [audience, files] of rendered) {
    const manifest = made?.get(audience);
    // What may not be signed now is not left standing either: it would be the word of before on files of now.
    if (manifest === undefined) removeViewFile(home, { audience, name: manifestName });
    // Last, so that it never speaks of files that are still to come.
    const all = new Map<string, string>(manifest === undefined ? files : [...files, [manifestName, manifest]]);
    const written = await writeViewFiles(home, { audience, files: all });
    edited.push(...written.edited);
    mended ||= written.written.some((name) => name !== manifestName);
  }
  return { edited, mended };
}

function hashesOf(files: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  return new Map([...files].map(([name, text]) => [name, sha256Hex(text)]));
}

function reportEdits(edited: WrittenViews['edited'], log: Logger | undefined): void {
  for (const { name, keptAs } of edited)
    log?.warn({ name, keptAs }, 'a view was edited by hand; the edit is kept beside it');
}
