/**
 * Full text over claims and over reasons: two FTS5 tables without content, in the derived database. A document is the
 * beginning of its event's id as a number, so that equal sets of events rank and break ties alike on every host, in
 * whatever order they came. The tables only name candidates: what is answered is read from rows with digests.
 */
import type Database from 'better-sqlite3';
import type { Body } from '../../core/event.ts';
import { rankedEventsMax, wordChunkRows } from '../../core/limits.ts';
import type { EventRow } from './database-rows.ts';

/** What is indexed apart: claims answer `search`; reasons (decisions, questions, proposals) answer `why`. */
export type WordTable = 'claim_words' | 'reason_words';

const tablesOfWords: readonly WordTable[] = ['claim_words', 'reason_words'];

const claimKinds: readonly string[] = ['assert', 'lesson'];

/** Kinds of events that are reasons and no claims. */
export const reasonKinds: readonly string[] = ['decision', 'question', 'propose'];

/** A hit: the first `documentDigits` hex digits of an event's id. A better rank is a smaller number. */
export interface WordHit {
  readonly prefix: string;
  readonly rank: number;
}

/** What a query found: hits, best first, and whether there were more than are ranked. */
export interface WordHits {
  readonly hits: readonly WordHit[];
  readonly tooMany: boolean;
}

/**
 * 60 bits: an event that shares them with a given other one costs about 2^60 hashes to make, and would then only be found
 * together with it.
 */
const documentDigits = 15;

/** Columns and their weights: what a claim is about counts more than what it says, and that more than its long text. */
const columns = { subject: 4, names: 4, said: 2, prose: 1 } as const;

/** Statements that make the tables. */
export function wordStatements(): readonly string[] {
  return tablesOfWords.map(
    (table) =>
      `CREATE VIRTUAL TABLE ${table} USING fts5(${Object.keys(columns).join(', ')}, content='', contentless_delete=1, tokenize='unicode61')`,
  );
}

export interface WordIndex {
  /** Notes rows that are about to be written; call before the table of events changes. */
  note(row: EventRow): void;
  /** Indexes what was noted. */
  flush(): void;
  clear(): void;
  /** `expression` as `matchExpression` makes it. */
  find(table: WordTable, expression: string): WordHits;
  /** Tables that do not have as many documents as there are events for them. */
  incomplete(): readonly string[];
}

/** Prepares the statements. All calls belong into the transactions of the caller. */
export function openWordIndex(database: Database.Database): WordIndex {
  const names = Object.keys(columns);
  const prepared = new Map(tablesOfWords.map((table) => [table, prepareTable(database, table, names)]));
  const heldBody = database.prepare("SELECT body <> '' FROM events WHERE id = ?").pluck();
  let fresh: EventRow[] = [];
  const flush = (): void => {
    // FTS5 writes out what it has gathered whenever a document comes before the last one: ascending is much faster.
    const rows = fresh.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    fresh = [];
    for (const row of rows) {
      const table = tableOf(row);
      if (table !== undefined) prepared.get(table)?.add.run(documentOf(row.id), ...textsOf(row));
    }
  };
  return {
    note(row) {
      const held = heldBody.get(row.id);
      // A body is named by its id, so what is indexed once stays as it is, until the body is taken away.
      if (held === 1 && row.body === '') for (const { drop } of prepared.values()) drop.run(documentOf(row.id));
      if (held === 1 || row.body === '') return;
      fresh.push(row);
      if (fresh.length >= wordChunkRows) flush();
    },
    flush,
    clear() {
      fresh = [];
      for (const table of tablesOfWords) database.exec(`INSERT INTO ${table} (${table}) VALUES ('delete-all')`);
    },
    find(table, expression) {
      const rows = (prepared.get(table)?.find.all(expression) ?? []) as { document: bigint; rank: number }[];
      const hits = rows.map(({ document, rank }) => ({
        prefix: document.toString(16).padStart(documentDigits, '0'),
        rank,
      }));
      return { hits: hits.slice(0, rankedEventsMax), tooMany: hits.length > rankedEventsMax };
    },
    incomplete: () =>
      [...prepared].flatMap(([table, { count }]) => {
        const { documents, events } = count.get() as { documents: number; events: number };
        return documents === events ? [] : [`${table} has ${documents} documents for ${events} events`];
      }),
  };
}

function prepareTable(
  database: Database.Database,
  table: WordTable,
  names: readonly string[],
): Readonly<Record<'add' | 'drop' | 'find' | 'count', Database.Statement>> {
  const marks = ', ?'.repeat(names.length);
  const weights = Object.values(columns).join(', ');
  return {
    add: database.prepare(`INSERT INTO ${table} (rowid, ${names.join(', ')}) VALUES (?${marks})`),
    count: database.prepare(
      `SELECT (SELECT count(*) FROM ${table}_docsize) AS documents, (SELECT count(*) FROM events WHERE kind IN (${kindsOf(table)}) AND body <> '') AS events`,
    ),
    drop: database.prepare(`DELETE FROM ${table} WHERE rowid = ?`),
    // One more than are ranked tells that there are more; which ones those are follows from ids alone.
    find: database
      .prepare(
        `SELECT document, rank FROM (SELECT rowid AS document, bm25(${table}, ${weights}) AS rank FROM ${table} WHERE ${table} MATCH ? LIMIT ${rankedEventsMax + 1}) ORDER BY rank, document`,
      )
      .safeIntegers(true),
  };
}

function documentOf(id: string): bigint {
  return BigInt(`0x${id.slice(0, documentDigits)}`);
}

function kindsOf(table: WordTable): string {
  return (table === 'claim_words' ? claimKinds : reasonKinds).map((kind) => `'${kind}'`).join(', ');
}

function tableOf({ kind }: EventRow): WordTable | undefined {
  if (claimKinds.includes(kind)) return 'claim_words';
  return reasonKinds.includes(kind) ? 'reason_words' : undefined;
}

/** What an event says, by column. */
function textsOf({ subject, body }: EventRow): string[] {
  const { names, value, content, hook, text } = JSON.parse(body) as Partial<Body>;
  const said = [value, content, hook].filter((part) => part !== undefined);
  return [subject, (names ?? []).join(' '), said.join(' '), text ?? ''];
}

/** How strictly words are taken: all of them, all as beginnings of words, or any of them as a beginning. */
export type Matching = 'all' | 'beginnings' | 'some';

/**
 * An FTS5 expression for words that a person typed; undefined when there is no word in them. Everything is quoted, so that
 * nothing in it is syntax; a word that punctuation divides (`ssh-route/mini`) is a phrase, except where some of the words are enough. Pure.
 */
export function matchExpression(words: string, matching: Matching): string | undefined {
  const apart = matching === 'some' ? /[^\p{L}\p{N}\p{M}]+/u : /\s+/u;
  const parts = [...new Set(words.split(apart))].filter((part) => /[\p{L}\p{N}]/u.test(part));
  if (parts.length === 0) return undefined;
  const quoted = parts.map((part) => `"${part.replace(/["\0]/g, ' ').trim()}"`);
  if (matching === 'all') return quoted.join(' ');
  return quoted.map((part) => `${part} *`).join(matching === 'some' ? ' OR ' : ' ');
}
