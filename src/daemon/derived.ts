/**
 * Everything that follows from the logs and is kept on disk: the database, the plain copies, the view files. Brought up
 * to date behind the acknowledgement, at the latest before the next answer that reads them.
 */
import { readState, subjectsOf, type Fold } from '../core/fold/fold.ts';
import type { Line } from '../core/line.ts';
import { forgetSubjects, renderViews } from '../core/views/render.ts';
import type { ViewCache } from '../core/views/selection.ts';
import { viewSourceOf } from '../core/views/view-source.ts';
import { openDatabase, type StateDatabase } from '../store/database.ts';
import type { Repository } from '../store/git/repository.ts';
import type { Home } from '../store/home.ts';
import { readLog } from '../store/log-store.ts';
import { openPlainCopies, type PlainCopies } from '../store/plain-copies.ts';
import { writeViewFiles } from '../store/view-files.ts';
import { alarmRows, eventRows, lineRow, recordRows } from './fold-rows.ts';
import { version } from './version.ts';

/** What a database was made from. Equal inputs: the rows are what the fold would say. */
export interface DerivedFrom {
  /** Commit of every branch log/<host> of the charter. */
  readonly oids: Readonly<Record<string, string>>;
  readonly trust: string;
  readonly rules: number;
  /** Where logs are cut here: local facts that the rows tell too. */
  readonly cuts: readonly unknown[];
}

export interface Derived {
  readonly database: StateDatabase;
  /** True when the database was made from exactly this, by this version. */
  isCurrent(from: Omit<DerivedFrom, 'cuts'>): boolean;
  /** Notes that these subjects and lines changed; nothing is written yet. */
  touch(subjects: Iterable<string>, lines: readonly Line[]): void;
  /** Notes that every subject may have changed. */
  touchAll(): void;
  /** Throws away every row; all of them are written again at the next flush, these lines among them. */
  startAnew(lines: readonly Line[]): void;
  /** Writes what was noted. Cheap when nothing was. */
  flush(fold: Fold, from: DerivedFrom): Promise<void>;
  close(): void;
}

interface Pending {
  subjects: Set<string> | 'all';
  lines: Line[];
  dirty: boolean;
}

/** Opens the database of a home; a file of another schema, or a damaged one, is started anew. */
export function openDerived(home: Home, repository: Repository): Derived {
  const database = openDatabase(home.database);
  const copies = openPlainCopies(home);
  const caches = new Map<string, ViewCache>();
  let pending: Pending = { subjects: new Set(), lines: [], dirty: false };
  const touchAll = (): void => {
    pending = { ...pending, subjects: 'all', dirty: true };
    caches.clear();
  };
  return {
    database,
    isCurrent: (from) => {
      const meta = database.meta();
      return Object.entries(inputsOf(from)).every(([key, value]) => meta[key] === value);
    },
    touch(changed, added) {
      for (const subject of changed) if (pending.subjects !== 'all') pending.subjects.add(subject);
      for (const cache of caches.values()) forgetSubjects(cache, changed);
      for (const line of added) pending.lines.push(line);
      pending.dirty = true;
    },
    touchAll,
    startAnew(lines) {
      database.clear();
      pending = { subjects: 'all', lines: [...lines], dirty: true };
      caches.clear();
    },
    async flush(fold, from) {
      if (!pending.dirty) return;
      const now = pending;
      pending = { subjects: new Set(), lines: [], dirty: false };
      writeDatabase(database, fold, { ...now, from });
      await writeCopies(copies, repository, now.lines);
      await writeViews(home, fold, caches);
    },
    close: () => database.close(),
  };
}

function writeDatabase(database: StateDatabase, fold: Fold, change: Pending & { readonly from: DerivedFrom }): void {
  const state = readState(fold);
  const subjects = change.subjects === 'all' ? ['', ...subjectsOf(fold)] : [...change.subjects];
  database.write({
    events: eventRows(fold, subjects),
    records: recordRows(fold, subjects),
    lines: change.lines.map(lineRow),
    alarms: alarmRows(fold),
    meta: {
      ...inputsOf(change.from),
      root: state.root,
      counts: JSON.stringify(state.counts),
      cuts: JSON.stringify(change.from.cuts),
    },
  });
}

function inputsOf(from: Omit<DerivedFrom, 'cuts'>): Record<string, string> {
  const oids = Object.entries(from.oids).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return { version, trust: from.trust, rules: String(from.rules), oids: JSON.stringify(oids) };
}

/** Adds lines to the copies; a copy that does not end where they begin is written anew from the repository. */
async function writeCopies(copies: PlainCopies, repository: Repository, lines: readonly Line[]): Promise<void> {
  for (const [log, added] of Map.groupBy(lines, (line) => line.log)) {
    const texts = added.map((line) => line.text);
    if (copies.append(log, added[0]?.seq ?? 1, texts)) continue;
    copies.rewrite(log, (await readLog(repository, log)).lines);
  }
}

async function writeViews(home: Home, fold: Fold, caches: Map<string, ViewCache>): Promise<void> {
  const source = viewSourceOf(fold);
  for (const audience of fold.charter.audiences.keys()) {
    const cache: ViewCache = caches.get(audience) ?? new Map();
    caches.set(audience, cache);
    await writeViewFiles(home, { audience, files: renderViews(source, { audience, cache }) });
  }
}
