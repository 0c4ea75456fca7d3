import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { checkDatabase } from '../../../../src/store/database/database-check.ts';
import { schemaVersion, type EventRow, type LineRow } from '../../../../src/store/database/database-rows.ts';
import { openDatabase, type StateDatabase } from '../../../../src/store/database/database.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

const id = (n: number): string => n.toString(16).padStart(8, '0').padEnd(64, '0');

function event(n: number): EventRow {
  const subject = `note/n${n % 3}`;
  return {
    id: id(n),
    subject,
    scope: '*',
    host: 'alpha',
    kind: 'assert',
    level: 'unsigned',
    status: 'served',
    at: '2026-01-01T00:00:00.000Z',
    log: 'alpha',
    seq: n,
    body: `{"value":"secret-marker-${n}"}`,
    view: '{}',
  };
}
const line = (n: number): LineRow => ({ log: 'alpha', seq: n, id: id(n), link: `link-${n}` });
const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

function open(file: string): StateDatabase {
  const database = openDatabase(file);
  onTestFinished(() => database.close());
  return database;
}

const newFile = (): string => path.join(temporaryFolder(), 'state.sqlite');

/** A closed database with ten events and lines. */
function filled(): string {
  const file = newFile();
  const database = openDatabase(file);
  database.write({ events: numbers(10).map(event), lines: numbers(10).map(line), meta: { root: 'r1' } });
  database.rememberOnce({ key: 'k', id: id(3) });
  database.close();
  return file;
}

/** Changes bytes of the file on disk: every occurrence of a text. */
function spoil(file: string, from: string, to: string): void {
  const bytes = fs.readFileSync(file, 'latin1');
  expect(bytes).toContain(from);
  fs.writeFileSync(file, bytes.replaceAll(from, to), 'latin1');
}

describe('state database', () => {
  test('it starts empty, closed to others, and says why', () => {
    const file = newFile();
    const database = open(file);
    expect(database.rebuilt).toBe('missing');
    expect(database.meta()).toEqual({});
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  });

  test('rows are written in one transaction and found again', () => {
    const database = open(filled());
    expect(database.rebuilt).toBeNull();
    expect(database.event(id(4))).toEqual(event(4));
    expect(database.event(id(99))).toBeUndefined();
    expect(database.eventsOfSubject('note/n1').map((row) => row.seq)).toEqual([1, 4, 7, 10]);
    expect(database.linesOfLog('alpha', { from: 3, limit: 2 }).map((row) => row.seq)).toEqual([3, 4]);
    expect(database.linesOfLog('alpha', { limit: 2, newestFirst: true }).map((row) => row.seq)).toEqual([10, 9]);
    expect(database.linesOfId(id(2))).toEqual([line(2)]);
    expect(database.meta()).toEqual({ root: 'r1' });
    database.write({
      records: [{ subject: 's', scope: '*', status: 'parked', served: '', record: '{}' }],
      alarms: [{ identity: 'a', kind: 'PARKED', subject: 's', host: '', alarm: '{}' }],
    });
    expect(database.recordsByStatus('parked')).toHaveLength(1);
    database.write({ alarms: [], recordsGone: [{ subject: 's', scope: '*' }] });
    expect(database.alarms()).toEqual([]);
    expect(database.recordsOfSubject('s')).toEqual([]);
  });

  test('a failed write changes nothing', () => {
    const database = open(filled());
    const broken = function* (): Generator<EventRow> {
      yield event(50);
      throw new Error('the fold stopped');
    };
    expect(() => database.write({ meta: { root: 'r2' }, events: broken() })).toThrow('the fold stopped');
    expect(database.event(id(50))).toBeUndefined();
    expect(database.meta()['root']).toBe('r1');
  });

  test('ids are found by prefix, unique or not', () => {
    const database = open(newFile());
    database.write({ events: [0xaabbcc01, 0xaabbcc02, 0xffffffff].map(event) });
    expect(database.idsByPrefix('aabbcc01', 2)).toEqual([id(0xaabbcc01)]);
    expect(database.idsByPrefix('aabbcc', 5)).toEqual([id(0xaabbcc01), id(0xaabbcc02)]);
    expect(database.idsByPrefix('f', 5)).toEqual([id(0xffffffff)]);
    expect(database.idsByPrefix('b', 5)).toEqual([]);
    expect(() => database.idsByPrefix("a' OR 1", 1)).toThrow('assertion failed');
  });

  test('many rows go in at once, and the newest lines are found without reading the others', () => {
    const database = open(newFile());
    database.write({ events: numbers(20_000).map(event), lines: numbers(20_000).map(line) });
    expect(database.linesOfLog('alpha', { limit: 1, newestFirst: true })[0]?.seq).toBe(20_000);
  });
});

describe('a database that cannot be trusted', () => {
  test.each([
    ['older', -3],
    ['newer', 99],
  ])('an %s schema is thrown away before any table is read', (kind, version) => {
    const file = newFile();
    const foreign = new Database(file);
    foreign.exec(`CREATE TABLE events (other TEXT); PRAGMA user_version = ${version}`);
    foreign.close();
    const database = open(file);
    expect(database.rebuilt).toBe(`${kind} schema`);
    database.write({ events: [event(1)] });
    expect(database.event(id(1))).toEqual(event(1));
  });

  test.each([
    ['empty', ''],
    ['NUL bytes', '\0'.repeat(8_192)],
    ['text', 'not a database '.repeat(1_000)],
  ])('a damaged file (%s) is kept beside and a new one is started, once', (kind, content) => {
    const file = newFile();
    fs.writeFileSync(file, content);
    const database = open(file);
    expect(database.rebuilt).toBe('damaged');
    if (kind !== 'empty') expect(fs.readFileSync(`${file}.damaged`, 'utf8')).toBe(content);
    database.close();
    expect(open(file).rebuilt).toBeNull();
  });

  test('the right version with other tables is damage', () => {
    const file = newFile();
    const foreign = new Database(file);
    foreign.exec(`CREATE TABLE events (id TEXT); PRAGMA user_version = ${schemaVersion}`);
    foreign.close();
    expect(open(file).rebuilt).toBe('damaged');
  });

  test('idempotency keys survive a rebuild, since no log holds them', () => {
    const file = filled();
    const raw = new Database(file);
    raw.pragma('user_version = 77');
    raw.close();
    const database = open(file);
    expect(database.rebuilt).toBe('newer schema');
    expect(database.once('k')).toBe(id(3));
    database.clear();
    expect(database.once('k')).toBe(id(3));
    expect(database.once('other')).toBeUndefined();
  });

  test('a flipped byte in a row is refused on reading, naming table and key', () => {
    const file = filled();
    spoil(file, 'secret-marker-7', 'secret-markes-7');
    const database = open(file);
    expect(() => database.event(id(7))).toThrow(
      expect.objectContaining({ code: 'DATABASE_DAMAGED', message: expect.stringContaining(`events ${id(7)}`) }),
    );
    expect(database.event(id(6))).toEqual(event(6));
  });

  test('verification names every wrong, missing and foreign row', () => {
    const file = filled();
    spoil(file, 'secret-marker-7', 'secret-markes-7');
    const database = open(file);
    const expected = {
      events: numbers(10).map((n) => (n === 5 ? { ...event(5), status: 'parked' } : event(n))),
      lines: [...numbers(9).map(line), line(11)],
      meta: [{ key: 'root', value: 'r1' }],
    };
    const found = checkDatabase(database, expected).map((problem) => `${problem.place}: ${problem.detail}`);
    expect(found.toSorted()).toEqual(
      [
        `events ${id(7)}: its digest does not match its content`,
        `events ${id(5)}: differs from the folded state`,
        'lines alpha 10: is not in the folded state',
        'lines alpha 11: is missing',
      ].toSorted(),
    );
    expect(checkDatabase(open(filled()), { events: numbers(10).map(event), lines: numbers(10).map(line) })).toEqual([]);
  });

  test('a row copied to another key does not pass', () => {
    const file = filled();
    const raw = new Database(file);
    raw.exec(`UPDATE lines SET seq = 500 WHERE seq = 5`);
    raw.close();
    expect(() => open(file).linesOfLog('alpha', { from: 500 })).toThrow(
      expect.objectContaining({ code: 'DATABASE_DAMAGED' }),
    );
  });

  test('long lists of problems are cut with a count', () => {
    const problems = checkDatabase(open(filled()), { events: numbers(500).map((n) => event(n + 1_000)) });
    expect(problems).toHaveLength(21);
    expect(problems.at(-1)?.detail).toBe('and 490 more rows');
  });
});

test('a write-ahead log that grew with a rebuild shrinks again', () => {
  const file = newFile();
  const database = open(file);
  const size = (): number => fs.statSync(`${file}-wal`).size;
  database.write({ events: numbers(20_000).map(event), lines: [], meta: {} });
  const grown = size();
  for (const n of [1, 2, 3]) database.write({ events: [event(n)], lines: [], meta: {} });
  expect(grown).toBeGreaterThan(4 * 1_024 * 1_024);
  expect(size()).toBeLessThanOrEqual(4 * 1_024 * 1_024);
});
