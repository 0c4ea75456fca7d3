import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { rankedEventsMax } from '../../../../src/core/limits.ts';
import type { EventRow } from '../../../../src/store/database/database-rows.ts';
import { openDatabase, type StateDatabase } from '../../../../src/store/database/database.ts';
import { matchExpression } from '../../../../src/store/database/word-index.ts';
import { emptyDatabase } from '../../../lib/database.ts';
import { readOutsideJson, withOutsideVectors } from '../../../lib/outside-vectors.ts';
import { createRandom } from '../../../lib/random.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

const id = (n: number): string => n.toString(16).padStart(8, '0').padEnd(64, '0');
const row = (n: number, fields: Readonly<Record<string, unknown>>, kind = 'assert'): EventRow => ({
  id: id(n),
  subject: `note/n${n}`,
  scope: '*',
  host: 'alpha',
  kind,
  level: 'unsigned',
  status: 'served',
  at: '2026-01-01T00:00:00.000Z',
  log: 'alpha',
  seq: n,
  body: JSON.stringify(fields),
  view: '{}',
});

const idsOf = (database: StateDatabase, words: string): string[] =>
  database
    .findWords('claim_words', matchExpression(words, 'all') ?? '')
    .hits.flatMap(({ prefix }) => database.eventsByPrefix(prefix).map((event) => event.id));

/** Words that make a query fail. */
function notTaken(database: StateDatabase, typed: readonly string[]): string[] {
  const expressions = typed.flatMap((words) =>
    (['all', 'beginnings', 'some'] as const).map((matching) => matchExpression(words, matching)),
  );
  return expressions
    .filter((expression) => expression !== undefined)
    .filter((expression) => {
      try {
        database.findWords('claim_words', expression);
        return false;
      } catch {
        return true;
      }
    });
}

describe('word index', () => {
  test('every part of a claim is found by its words: subject, names, value, content, hook, text', () => {
    const database = emptyDatabase();
    const fields = { names: ['one two'], value: 'three:3000', content: 'four', hook: 'five', text: 'six' };
    database.write({ events: [row(1, fields), row(2, { value: 'other' })] });
    for (const word of ['n1', 'NOTE/N1', 'two', 'three:3000', 'Four', 'five', 'six'])
      expect(idsOf(database, word)).toEqual([id(1)]);
    expect(idsOf(database, 'absent')).toEqual([]);
  });

  test('the subject outweighs the content, and the content the long text', () => {
    const database = emptyDatabase();
    const filler = 'a b c';
    database.write({
      events: [
        { ...row(1, { text: `mini ${filler}`, content: filler }) },
        { ...row(2, { content: `mini ${filler}`, text: filler }) },
        { ...row(3, { content: filler, text: filler }), subject: 'note/mini' },
      ],
    });
    expect(idsOf(database, 'mini')).toEqual([id(3), id(2), id(1)]);
  });

  test('equal sets of rows rank alike whatever the order and the batches in which they came', () => {
    const random = createRandom(7);
    const words = ['ssh', 'route', 'mini', 'desk', 'port', 'quote'];
    const rows = Array.from({ length: 300 }, (_, n) =>
      row(n + 1, { content: Array.from({ length: 4 }, () => random.pick(words)).join(' ') }),
    );
    const [first, second] = [emptyDatabase(), emptyDatabase()];
    first.write({ events: rows });
    const shuffled = rows.toSorted(() => random.next() - 0.5);
    for (let at = 0; at < shuffled.length; at += 7) second.write({ events: shuffled.slice(at, at + 7) });
    for (const word of words) {
      const expression = matchExpression(word, 'all') ?? '';
      expect(second.findWords('claim_words', expression)).toEqual(first.findWords('claim_words', expression));
    }
  });

  test('a row that is written again is indexed once; one whose body was taken away is not found any more', () => {
    const database = emptyDatabase();
    const claim = row(1, { content: 'grafana' });
    database.write({ events: [claim] });
    database.write({ events: [{ ...claim, status: 'superseded' }, claim] });
    expect(idsOf(database, 'grafana')).toEqual([id(1)]);
    database.write({ events: [{ ...claim, body: '', status: 'held' }] });
    expect(idsOf(database, 'grafana')).toEqual([]);
    database.write({ events: [claim] });
    expect(idsOf(database, 'grafana')).toEqual([id(1)]);
    expect(database.integrity()).toEqual([]);
  });

  test('reasons are indexed apart from claims', () => {
    const database = emptyDatabase();
    database.write({ events: [row(1, { content: 'postgres' }, 'decision'), row(2, { content: 'postgres' })] });
    expect(idsOf(database, 'postgres')).toEqual([id(2)]);
    expect(database.findWords('reason_words', '"postgres"').hits).toHaveLength(1);
  });

  test('clear empties it', () => {
    const database = emptyDatabase();
    database.write({ events: [row(1, { content: 'grafana' })] });
    database.clear();
    expect(idsOf(database, 'grafana')).toEqual([]);
  });

  test('more hits than are ranked are told, and which are ranked follows from ids alone', () => {
    const database = emptyDatabase();
    database.write({
      events: Array.from({ length: rankedEventsMax + 5 }, (_, n) => row(rankedEventsMax + 5 - n, { content: 'the' })),
    });
    const { hits, tooMany } = database.findWords('claim_words', '"the"');
    expect([hits.length, tooMany]).toEqual([rankedEventsMax, true]);
    expect(hits.some(({ prefix }) => id(rankedEventsMax + 1).startsWith(prefix))).toBe(false);
  });

  test('words are words: nothing that is typed is syntax', () => {
    const database = emptyDatabase();
    database.write({ events: [row(1, { content: 'and or not near' })] });
    const typed = [
      '"',
      "'",
      '* -',
      'a"b',
      'NEAR(a b)',
      'AND OR',
      '-x',
      'subject:x',
      '^a',
      '{subject} : a',
      'a + b',
      '(',
      'x*',
      '\0',
      'a\0b',
      ';',
      '\u{1F600}',
      '\uD800x',
      '\u0301',
      'ª',
      'ⓐ',
    ];
    expect(notTaken(database, typed)).toEqual([]);
    expect(matchExpression(' * - "', 'all')).toBeUndefined();
    expect(idsOf(database, 'NEAR OR')).toEqual([id(1)]);
  });

  test('a word that punctuation divides is a phrase; beginnings and any word are asked for', () => {
    const database = emptyDatabase();
    database.write({ events: [row(1, { content: 'ssh-route mini' }), row(2, { content: 'route ssh quoting' })] });
    expect(idsOf(database, 'ssh/route')).toEqual([id(1)]);
    expect(database.findWords('claim_words', matchExpression('quot', 'beginnings') ?? '').hits).toHaveLength(1);
    expect(database.findWords('claim_words', matchExpression('absent mini', 'some') ?? '').hits).toHaveLength(1);
  });

  test('a document that is missing is found where the whole is checked', () => {
    const file = path.join(temporaryFolder(), 'state.sqlite');
    const database = openDatabase(file);
    database.write({ events: [row(1, { content: 'grafana' }), row(2, { content: 'loki' })] });
    expect(database.integrity()).toEqual([]);
    database.close();
    const raw = new Database(file);
    raw.exec('DELETE FROM claim_words WHERE rowid IN (SELECT rowid FROM claim_words LIMIT 1)');
    raw.close();
    const again = openDatabase(file);
    expect(again.integrity()).toEqual(['claim_words has 1 documents for 2 events']);
    again.close();
  });

  test('damage to the index is found, and is damage of the database', () => {
    const file = path.join(temporaryFolder(), 'state.sqlite');
    const database = openDatabase(file);
    database.write({ events: Array.from({ length: 50 }, (_, n) => row(n + 1, { content: 'grafana' })) });
    database.close();
    const raw = new Database(file);
    raw.unsafeMode(true);
    raw.exec("UPDATE claim_words_data SET block = x'00' WHERE id > 10");
    raw.close();
    const again = openDatabase(file);
    expect(again.integrity()).not.toEqual([]);
    expect(() => again.findWords('claim_words', '"grafana"')).toThrow(
      expect.objectContaining({ code: 'DATABASE_DAMAGED' }),
    );
    again.close();
    expect(fs.existsSync(file)).toBe(true);
  });

  withOutsideVectors('naughty', (folder) => {
    test('naughty strings are words like any others', () => {
      const database = emptyDatabase();
      database.write({ events: [row(1, { content: 'plain' })] });
      expect(notTaken(database, readOutsideJson(folder, 'blns.json') as string[])).toEqual([]);
    });
  });
});
