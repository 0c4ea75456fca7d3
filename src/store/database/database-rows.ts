/** Tables of the derived database: their columns, row types and digests. */

import { sha256 } from '../../crypto/hash.ts';
import { wordStatements } from './word-index.ts';

/** Layout of the tables. Another number in a file, older or newer, means: throw the file away and fold again. */
export const schemaVersion = 3;

/** One event, once, whatever lines carry it. `log` and `seq` are those of its first line. */
export interface EventRow {
  readonly id: string;
  readonly subject: string;
  readonly scope: string;
  readonly host: string;
  readonly kind: string;
  readonly level: string;
  readonly status: string;
  readonly at: string;
  readonly log: string;
  readonly seq: number;
  /** JSON text of the body; '' when it is not held (a hole). */
  readonly body: string;
  /** JSON text of what the fold says of it. */
  readonly view: string;
}

/** The record of one subject and scope. */
export interface RecordRow {
  readonly subject: string;
  readonly scope: string;
  readonly status: string;
  /** Id of the served claim, or ''. */
  readonly served: string;
  /** JSON text. */
  readonly record: string;
}

/** One line of a log. */
export interface LineRow {
  readonly log: string;
  readonly seq: number;
  readonly id: string;
  readonly link: string;
}

/** One alarm that stands. */
export interface AlarmRow {
  /** Kind + subject or item + host, as one text. */
  readonly identity: string;
  readonly kind: string;
  readonly subject: string;
  readonly host: string;
  /** JSON text. */
  readonly alarm: string;
}

/** What the rows were made from: heads, trust hash, rules, root… as texts. */
export interface MetaRow {
  readonly key: string;
  readonly value: string;
}

/** An idempotency key and the event that it made. Local: it cannot be folded again from the logs. */
export interface OnceRow {
  readonly key: string;
  readonly id: string;
}

/** Row type of every table. */
export interface Rows {
  readonly events: EventRow;
  readonly records: RecordRow;
  readonly lines: LineRow;
  readonly alarms: AlarmRow;
  readonly meta: MetaRow;
  readonly once: OnceRow;
}

/** Name of a table. */
export type TableName = keyof Rows;

interface TableShape {
  readonly columns: readonly string[];
  readonly key: readonly string[];
}

/** Columns in digest order, and the primary key. */
export const tables: {
  readonly [T in TableName]: TableShape & {
    readonly columns: readonly (keyof Rows[T] & string)[];
    readonly key: readonly (keyof Rows[T] & string)[];
  };
} = {
  events: {
    columns: ['id', 'subject', 'scope', 'host', 'kind', 'level', 'status', 'at', 'log', 'seq', 'body', 'view'],
    key: ['id'],
  },
  records: { columns: ['subject', 'scope', 'status', 'served', 'record'], key: ['subject', 'scope'] },
  lines: { columns: ['log', 'seq', 'id', 'link'], key: ['log', 'seq'] },
  alarms: { columns: ['identity', 'kind', 'subject', 'host', 'alarm'], key: ['identity'] },
  meta: { columns: ['key', 'value'], key: ['key'] },
  once: { columns: ['key', 'id'], key: ['key'] },
};

/** Every table, in a fixed order. */
export const tableNames: readonly TableName[] = ['events', 'records', 'lines', 'alarms', 'meta', 'once'];

const indexes = [
  'CREATE INDEX events_subject ON events (subject)',
  'CREATE INDEX records_status ON records (status)',
  'CREATE INDEX lines_id ON lines (id)',
];

/** Tables with long rows under a random key: in a key-ordered table their rows would be moved about at every insert. */
const wide: ReadonlySet<TableName> = new Set(['events', 'records']);

/** Statements that make an empty database of this version. */
export function schemaStatements(): readonly string[] {
  const create = tableNames.map((table) => {
    const { columns, key } = tables[table];
    const typed = columns.map((column) => `${column} ${column === 'seq' ? 'INTEGER' : 'TEXT'} NOT NULL`);
    return `CREATE TABLE ${table} (${typed.join(', ')}, digest BLOB NOT NULL, PRIMARY KEY (${key.join(', ')})) STRICT${wide.has(table) ? '' : ', WITHOUT ROWID'}`;
  });
  return [...create, ...indexes, ...wordStatements(), `PRAGMA user_version = ${schemaVersion}`];
}

/** Values of a row in column order. */
export function rowValues<T extends TableName>(table: T, row: Rows[T]): (string | number)[] {
  const source = row as unknown as Readonly<Record<string, string | number>>;
  return tables[table].columns.map((column) => source[column] ?? '');
}

/** Digest of a row: sha256 over table and values, so that a row copied to another table or key does not pass. Pure. */
export function rowDigest(table: TableName, values: readonly (string | number)[]): Uint8Array {
  return sha256(JSON.stringify([table, ...values]));
}

/** A row's key as a person reads it: `events 3f2a…`, `lines alpha 42`. */
export function rowPlace(table: TableName, row: Readonly<Record<string, unknown>>): string {
  return `${table} ${tables[table].key.map((column) => String(row[column])).join(' ')}`;
}
