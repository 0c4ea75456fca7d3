/** Rows that vanish from one tree of the database are missed in another. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  heldEvent,
  newestLines,
  parkedRecords,
  rowsOfSubject,
  standingAlarms,
} from '../../../../src/daemon/queries/sound-rows.ts';
import { openDatabase, type StateDatabase } from '../../../../src/store/database/database.ts';
import type { EventRow } from '../../../../src/store/database/database-rows.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

const id = (n: number): string => n.toString(16).padStart(64, '0');

function event(n: number, subject: string, scope = '*'): EventRow {
  const place = { log: 'alpha', seq: n, at: '2026-01-01T00:00:00.000Z' };
  return {
    id: id(n),
    subject,
    scope,
    host: 'alpha',
    kind: 'assert',
    level: 'unsigned',
    status: 'parked',
    body: '{}',
    view: '{}',
    ...place,
  };
}

function record(subject: string, scope: string, events: number) {
  const said = { record: { subject, scope, status: 'parked' }, events };
  return { subject, scope, status: 'parked', served: '', record: JSON.stringify(said) };
}

/** Two subjects, one of them in two scopes; three lines, two parks and an alarm. */
function filled(): { database: StateDatabase; without: (sql: string) => StateDatabase } {
  const file = join(temporaryFolder(), 'state.sqlite');
  const database = openDatabase(file);
  database.write({
    events: [event(1, 'note/a'), event(2, 'note/a', 'web'), event(3, 'note/b')],
    records: [record('note/a', '*', 2), record('note/a', 'web', 2), record('note/b', '*', 1)],
    lines: [1, 2, 3].map((seq) => ({ log: 'alpha', seq, id: id(seq), link: id(seq) })),
    alarms: [{ identity: 'PARKED note/a ', kind: 'PARKED', subject: 'note/a', host: '', alarm: '{}' }],
    meta: {
      counts: JSON.stringify({ parked: 3, alarms: 1 }),
      tips: JSON.stringify({ alpha: { seq: 3, link: id(3) } }),
    },
  });
  onTestFinished(() => database.close());
  return {
    database,
    without(sql) {
      const raw = new Database(file);
      raw.exec(sql);
      raw.close();
      return database;
    },
  };
}

const damage = expect.objectContaining({ code: 'DATABASE_DAMAGED' });

describe('rows that notice what is missing', () => {
  test('sound rows are answered, and a subject that nobody spoke of is empty', () => {
    const { database } = filled();
    expect(rowsOfSubject(database, 'note/a').events).toHaveLength(2);
    expect(rowsOfSubject(database, 'note/a').records).toHaveLength(2);
    expect(rowsOfSubject(database, 'note/none')).toEqual({ records: [], events: [] });
    expect(parkedRecords(database)).toHaveLength(3);
    expect(standingAlarms(database)).toHaveLength(1);
    expect(newestLines(database, 'alpha', 2).map(({ seq }) => seq)).toEqual([2, 3]);
    expect(newestLines(database, 'alpha', 9).map(({ seq }) => seq)).toEqual([1, 2, 3]);
    expect(newestLines(database, 'beta', 9)).toEqual([]);
    expect(heldEvent(database, id(1)).id).toBe(id(1));
  });

  test.each([
    ['an event of a subject', `DELETE FROM events WHERE id = '${id(1)}'`],
    ['every event of a subject', `DELETE FROM events WHERE subject = 'note/a'`],
    ['the record of one scope', `DELETE FROM records WHERE subject = 'note/a' AND scope = 'web'`],
    ['every record of a subject', `DELETE FROM records WHERE subject = 'note/a'`],
  ])('%s is missed', (_, sql) => {
    const database = filled().without(sql);
    expect(() => rowsOfSubject(database, 'note/a')).toThrow(damage);
    expect(rowsOfSubject(database, 'note/b').events).toHaveLength(1);
  });

  test.each([
    ['a park', `DELETE FROM records WHERE subject = 'note/b'`, parkedRecords],
    ['an alarm', 'DELETE FROM alarms', standingAlarms],
    [
      'the newest line',
      'DELETE FROM lines WHERE seq = 3',
      (database: StateDatabase) => newestLines(database, 'alpha', 2),
    ],
    [
      'a line in the middle',
      'DELETE FROM lines WHERE seq = 2',
      (database: StateDatabase) => newestLines(database, 'alpha', 9),
    ],
    [
      'the first line',
      'DELETE FROM lines WHERE seq = 1',
      (database: StateDatabase) => newestLines(database, 'alpha', 9),
    ],
    [
      'an event that a line names',
      `DELETE FROM events WHERE id = '${id(2)}'`,
      (database: StateDatabase) => heldEvent(database, id(2)),
    ],
  ])('%s is missed', (_, sql, read) => {
    const database = filled().without(sql);
    expect(() => read(database)).toThrow(damage);
  });

  test('an id is found in either tree', () => {
    const database = filled().without(`DELETE FROM events WHERE id = '${id(2)}'`);
    expect(database.idsByPrefix(id(2), 2)).toEqual([id(2)]);
    expect(database.idsByPrefix('0'.repeat(60), 9)).toEqual([id(1), id(2), id(3)]);
  });
});
