/**
 * The derived database `state.sqlite`: a read model of the folded state, rebuilt whenever anything about it is in doubt,
 * never trusted. The schema version is checked before anything else; every row carries a digest that is checked when it
 * is read, since SQLite has no checksums of its own. Long because every statement stands beside the others of its table.
 */

import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { cachePages } from './database-cache.ts';
import { assert } from '../../crypto/result.ts';
import {
  rowDigest,
  rowPlace,
  rowValues,
  schemaStatements,
  schemaVersion,
  tableNames,
  tables,
  type AlarmRow,
  type EventRow,
  type LineRow,
  type OnceRow,
  type RecordRow,
  type Rows,
  type TableName,
} from './database-rows.ts';
import { openWordIndex, reasonKinds, type WordHits, type WordIndex, type WordTable } from './word-index.ts';
import { isReadOnly } from '../home/disk-room.ts';
import { diskError, OperatingError, readOnlyHint, systemCode } from '../errors.ts';

/** Why `openDatabase` started from an empty file. `missing` is the ordinary first start. */
export type RebuildReason = 'missing' | 'older schema' | 'newer schema' | 'damaged' | 'purged';

/** Rows to write in one transaction; rows with a known key are replaced. */
export interface RowChanges {
  readonly events?: Iterable<EventRow>;
  readonly records?: Iterable<RecordRow>;
  readonly lines?: Iterable<LineRow>;
  /** All alarms that stand; the table holds exactly these afterwards. */
  readonly alarms?: Iterable<AlarmRow>;
  readonly meta?: Readonly<Record<string, string>>;
  /** Subject and scope of records that are gone. */
  readonly recordsGone?: Iterable<Pick<RecordRow, 'subject' | 'scope'>>;
}

/** Which lines of a log: from seq, at most so many, ascending unless `newestFirst`. */
export interface LineRange {
  readonly from?: number;
  readonly limit?: number;
  readonly newestFirst?: boolean;
}

/**
 * The open database. Reads check digests and throw `DATABASE_DAMAGED` naming table and key; the caller then rebuilds
 * once (`clear`, fold, write). Not durable against a power cut, which only costs a rebuild.
 */
export interface StateDatabase {
  readonly file: string;
  /** Why it is empty, or null when it was opened as it stood. */
  readonly rebuilt: RebuildReason | null;
  meta(): Readonly<Record<string, string>>;
  /** Writes everything in one transaction, or nothing. */
  write(changes: RowChanges): void;
  /** Empties every table but `once`. */
  clear(): void;
  /** Takes more memory for pages while most rows are written, and gives it back. */
  large(begins: boolean): void;
  event(id: string): EventRow | undefined;
  /** Full ids that begin with these hex digits, sorted, at most `limit` (2 suffice to see that a prefix is not unique). */
  idsByPrefix(prefix: string, limit: number): readonly string[];
  /** Every event whose id begins with these digits, sorted by id. */
  eventsByPrefix(prefix: string): readonly EventRow[];
  eventsOfSubject(subject: string): readonly EventRow[];
  /** Decisions, questions and proposals on a subject, in log order. */
  reasonsOfSubject(subject: string): readonly EventRow[];
  /** Events that an expression of `matchExpression` matches, best first. They are candidates: read their rows. */
  findWords(table: WordTable, expression: string): WordHits;
  recordsOfSubject(subject: string): readonly RecordRow[];
  recordsByStatus(status: string): readonly RecordRow[];
  linesOfLog(log: string, range?: LineRange): readonly LineRow[];
  linesOfId(id: string): readonly LineRow[];
  alarms(): readonly AlarmRow[];
  /** Event that this idempotency key made, or undefined. Whether its line is in the log is the caller's to check. */
  once(key: string): string | undefined;
  /** Remembers a key; call before the append, so that a crash in between cannot make a retry append twice. */
  rememberOnce(row: OnceRow): void;
  /** Every row of a table in key order, sound or not: for verification. */
  scan<T extends TableName>(table: T): IterableIterator<{ readonly row: Rows[T]; readonly sound: boolean }>;
  /** What SQLite finds wrong with its own structure, that of the word index included; empty when nothing. */
  integrity(): readonly string[];
  close(): void;
}

type Stored = Readonly<Record<string, string | number | Uint8Array>>;

/**
 * Opens the database, or starts an empty one when it is missing, damaged, or of another schema version. A damaged file is
 * kept beside as `state.sqlite.damaged`; idempotency keys are carried over where their rows are sound. `damaged` says that
 * a reader found it so, however sound it looks when it is opened; `purged`, that no byte of the file may be left.
 * Errors: `DATABASE_FAILED`, `DISK_FAILED`, `DISK_FULL`.
 */
export function openDatabase(file: string, options: { readonly anew?: 'damaged' | 'purged' } = {}): StateDatabase {
  const existing = options.anew ?? openExisting(file);
  if (typeof existing !== 'string') return wrap(existing, { file, rebuilt: null });
  const kept = existing === 'missing' ? [] : salvageOnce(file);
  try {
    setAside(file, existing === 'damaged');
    fs.closeSync(fs.openSync(file, 'wx', 0o600));
    const database = new Database(file, { timeout: 2_000 });
    configure(database);
    database.transaction(() => schemaStatements().forEach((statement) => void database.exec(statement)))();
    const wrapped = wrap(database, { file, rebuilt: existing });
    for (const row of kept) wrapped.rememberOnce(row);
    return wrapped;
  } catch (error) {
    throw databaseError(error, file);
  }
}

/** An empty database that is gone when it is closed. */
export function openMemoryDatabase(): StateDatabase {
  const database = new Database(':memory:');
  database.transaction(() => schemaStatements().forEach((statement) => void database.exec(statement)))();
  return wrap(database, { file: ':memory:', rebuilt: 'missing' });
}

function configure(database: Database.Database): void {
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = NORMAL');
  cachePages(database, false);
  // A rebuild leaves a write-ahead log of tens of MB; without this it keeps its size for ever.
  database.pragma(`journal_size_limit = ${walBytesKept}`);
}

/** Bytes of the write-ahead log that stay when it is begun anew: what SQLite writes back at a time anyway. */
const walBytesKept: number = 4 * 1_024 * 1_024;

/** What SQLite says of a file that is no database, or of one with other tables (`ERROR`). */
const damageCode = /^SQLITE_(CORRUPT|NOTADB|FORMAT|ERROR)/;

/** The database as it stands, or why it cannot be used. The version is read before any table. */
function openExisting(file: string): Database.Database | RebuildReason {
  if (!fs.existsSync(file)) return 'missing';
  let database: Database.Database | undefined;
  try {
    database = new Database(file, { timeout: 2_000 });
    const version = Number(database.pragma('user_version', { simple: true }));
    if (version === schemaVersion) {
      configure(database);
      for (const table of tableNames)
        database.prepare(`SELECT ${tables[table].columns.join(', ')}, digest FROM ${table} LIMIT 1`).get();
      return database;
    }
    database.close();
    return version === 0 ? 'damaged' : version < schemaVersion ? 'older schema' : 'newer schema';
  } catch (error) {
    database?.close();
    // A file that cannot be opened, locked or written now is not a damaged one, and is not given up.
    if (damageCode.test(systemCode(error))) return 'damaged';
    throw databaseError(error, file);
  }
}

/** The sound `once` rows of a file that is about to be given up; they cannot be folded again from the logs. */
function salvageOnce(file: string): OnceRow[] {
  const rows: OnceRow[] = [];
  try {
    const database = new Database(file, { timeout: 2_000 });
    try {
      for (const row of database.prepare('SELECT key, id, digest FROM once').iterate() as IterableIterator<Stored>) {
        const { key, id, digest } = row;
        if (typeof key !== 'string' || typeof id !== 'string' || !(digest instanceof Uint8Array)) continue;
        if (sameBytes(digest, rowDigest('once', [key, id]))) rows.push({ key, id });
      }
    } finally {
      database.close();
    }
  } catch {
    // Nothing more can be read; what was read stays.
  }
  return rows;
}

function setAside(file: string, keep: boolean): void {
  for (const suffix of ['', '-wal', '-shm']) {
    const from = `${file}${suffix}`;
    if (keep && suffix === '' && fs.existsSync(from)) fs.renameSync(from, `${file}.damaged`);
    else fs.rmSync(from, { force: true });
  }
}

function databaseError(error: unknown, file: string): OperatingError {
  if (error instanceof OperatingError) return error;
  const code = systemCode(error);
  // The second: no room for the index of the write-ahead log, when the file is opened.
  if (code === 'SQLITE_FULL' || code === 'SQLITE_IOERR_SHMSIZE')
    return new OperatingError('DISK_FULL', `cannot write ${file}: the disk is full`, {
      cause: error,
      hint: 'free some space, then try again',
    });
  // A directory that takes no files reads as one that cannot be opened.
  if (code.startsWith('SQLITE_READONLY') || (code.startsWith('SQLITE_CANTOPEN') && isReadOnly(path.dirname(file))))
    return new OperatingError('DISK_READ_ONLY', `cannot write ${file}: the disk is read-only`, {
      cause: error,
      hint: readOnlyHint,
    });
  if (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB') return damagedDatabase(file, 'file', code);
  if (code.startsWith('SQLITE_'))
    return new OperatingError('DATABASE_FAILED', `${file}: ${code}`, { cause: error, hint: 'run: memctl rebuild' });
  return diskError(error, 'use', file);
}

function damagedDatabase(file: string, place: string, reason: string): OperatingError {
  return new OperatingError('DATABASE_DAMAGED', `${file}: ${place} is damaged (${reason})`, {
    hint: 'it is derived: run memctl rebuild',
  });
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

/** Runs database work; what SQLite throws becomes an operating failure. */
type Guard = <R>(work: () => R) => R;

function wrap(database: Database.Database, info: { file: string; rebuilt: RebuildReason | null }): StateDatabase {
  const { file } = info;
  const guard: Guard = (work) => {
    try {
      return work();
    } catch (error) {
      throw databaseError(error, file);
    }
  };
  const { metaRows, ...reads } = prepareReads((table, rest) => {
    const statement = database.prepare(`SELECT ${tables[table].columns.join(', ')}, digest FROM ${table} ${rest}`);
    return (...values) => guard(() => (statement.all(...values) as Stored[]).map((row) => checkRow(file, table, row)));
  });
  // Both trees are asked: an id that a damaged page of one of them lost is still an id.
  const within = (table: TableName): string => `SELECT id FROM ${table} WHERE id >= :prefix AND id < :prefix || 'g'`;
  const words = openWordIndex(database);
  const byPrefix = database.prepare(`${within('events')} UNION ${within('lines')} ORDER BY id LIMIT :limit`).pluck();
  return {
    ...info,
    ...reads,
    ...prepareWrites(database, words, guard),
    findWords: (table, expression) => guard(() => words.find(table, expression)),
    meta: () => Object.fromEntries(metaRows().map((row) => [row.key, row.value])),
    idsByPrefix: (prefix, limit) => {
      assert(/^[0-9a-f]{1,64}$/.test(prefix), 'an id prefix is hex digits');
      return guard(() => byPrefix.all({ prefix, limit }) as string[]);
    },
    scan: (table) => scanRows(database, { file, table }),
    large: (begins) => guard(() => cachePages(database, begins)),
    integrity: () => guard(() => [...integrityOf(database), ...words.incomplete()]),
    close: () => void database.close(),
  };
}

function integrityOf(database: Database.Database): string[] {
  const rows = database.pragma('integrity_check(20)') as { integrity_check: string }[];
  return rows.map((row) => row.integrity_check).filter((text) => text !== 'ok');
}

/** Everything that changes rows, each call one transaction. */
function prepareWrites(
  database: Database.Database,
  words: WordIndex,
  guard: Guard,
): Pick<StateDatabase, 'write' | 'clear' | 'rememberOnce'> {
  const put = preparePut(database);
  const forgetRecord = database.prepare('DELETE FROM records WHERE subject = ? AND scope = ?');
  const write = database.transaction((changes: RowChanges) => {
    put('events', noted(changes.events ?? [], words));
    words.flush();
    put('records', changes.records);
    put('lines', changes.lines);
    for (const { subject, scope } of changes.recordsGone ?? []) forgetRecord.run(subject, scope);
    if (changes.alarms !== undefined) database.exec('DELETE FROM alarms');
    put('alarms', changes.alarms);
    const meta = Object.entries(changes.meta ?? {});
    put(
      'meta',
      meta.map(([key, value]) => ({ key, value })),
    );
  });
  const clear = database.transaction(() => {
    for (const table of tableNames) if (table !== 'once') database.exec(`DELETE FROM ${table}`);
    words.clear();
  });
  return {
    write: (changes) => guard(() => void write(changes)),
    clear: () => guard(() => void clear()),
    rememberOnce: (row) => guard(() => put('once', [row])),
  };
}

function* noted(rows: Iterable<EventRow>, words: WordIndex): Generator<EventRow> {
  for (const row of rows) {
    words.note(row);
    yield row;
  }
}

function preparePut(
  database: Database.Database,
): <T extends TableName>(table: T, rows: Iterable<Rows[T]> | undefined) => void {
  const statements = new Map(
    tableNames.map((table) => {
      const { columns } = tables[table];
      const marks = '?, '.repeat(columns.length);
      return [
        table,
        database.prepare(`INSERT OR REPLACE INTO ${table} (${columns.join(', ')}, digest) VALUES (${marks}?)`),
      ];
    }),
  );
  return (table, rows) => {
    const statement = statements.get(table);
    for (const row of rows ?? []) {
      const values = rowValues(table, row);
      statement?.run(...values, rowDigest(table, values));
    }
  };
}

type Select = <T extends TableName>(table: T, rest: string) => (...values: (string | number)[]) => Rows[T][];

/** The prepared look-ups. */
function prepareReads(select: Select): Pick<
  StateDatabase,
  | 'event'
  | 'eventsByPrefix'
  | 'eventsOfSubject'
  | 'reasonsOfSubject'
  | 'recordsOfSubject'
  | 'recordsByStatus'
  | 'linesOfLog'
  | 'linesOfId'
  | 'alarms'
  | 'once'
> & {
  metaRows: () => Rows['meta'][];
} {
  const event = select('events', 'WHERE id = ?');
  const once = select('once', 'WHERE key = ?');
  const byPrefix = select('events', 'WHERE id >= ? AND id < ? ORDER BY id');
  const reasons = reasonKinds.map((kind) => `'${kind}'`).join(', ');
  const lines = select('lines', 'WHERE log = ? AND seq >= ? ORDER BY seq LIMIT ?');
  const newest = select('lines', 'WHERE log = ? AND seq >= ? ORDER BY seq DESC LIMIT ?');
  return {
    metaRows: select('meta', 'ORDER BY key'),
    event: (id) => event(id)[0],
    eventsByPrefix: (prefix) => byPrefix(prefix, `${prefix}g`),
    reasonsOfSubject: select('events', `WHERE subject = ? AND kind IN (${reasons}) ORDER BY log, seq, id`),
    eventsOfSubject: select('events', 'WHERE subject = ? ORDER BY log, seq, id'),
    recordsOfSubject: select('records', 'WHERE subject = ? ORDER BY scope'),
    recordsByStatus: select('records', 'WHERE status = ? ORDER BY subject, scope'),
    linesOfLog: (log, range = {}) =>
      (range.newestFirst === true ? newest : lines)(log, range.from ?? 1, range.limit ?? -1),
    linesOfId: select('lines', 'WHERE id = ? ORDER BY log, seq'),
    alarms: select('alarms', 'ORDER BY identity'),
    once: (key) => once(key)[0]?.id,
  };
}

function isSound(table: TableName, stored: Stored): boolean {
  const values = tables[table].columns.map((column) => stored[column] as string | number);
  return stored['digest'] instanceof Uint8Array && sameBytes(stored['digest'], rowDigest(table, values));
}

function checkRow<T extends TableName>(file: string, table: T, stored: Stored): Rows[T] {
  const { digest: _, ...row } = stored;
  if (!isSound(table, stored)) throw damagedDatabase(file, rowPlace(table, row), 'its digest does not match');
  return row as unknown as Rows[T];
}

function* scanRows<T extends TableName>(
  database: Database.Database,
  source: { file: string; table: T },
): IterableIterator<{ row: Rows[T]; sound: boolean }> {
  const { file, table } = source;
  const { columns, key } = tables[table];
  const statement = database.prepare(`SELECT ${columns.join(', ')}, digest FROM ${table} ORDER BY ${key.join(', ')}`);
  try {
    for (const stored of statement.iterate() as IterableIterator<Stored>) {
      const { digest: _, ...row } = stored;
      yield { row: row as unknown as Rows[T], sound: isSound(table, stored) };
    }
  } catch (error) {
    throw databaseError(error, file);
  }
}
