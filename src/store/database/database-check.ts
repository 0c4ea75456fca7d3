/** Comparing the derived database with what the fold says: for `memctl verify --deep`. */

import { rowPlace, rowValues, tableNames, type Rows, type TableName } from './database-rows.ts';
import type { StateDatabase } from './database.ts';
import { isOperatingError } from '../errors.ts';
import type { Problem } from '../problem.ts';

/** Rows that the tables should hold, in any order. A table left out is checked for its digests only. */
export type ExpectedRows = { readonly [T in TableName]?: Iterable<Rows[T]> };

/** Problems listed per table at most; the rest is one more line with a count. */
const problemsPerTable = 20;

/** Checks SQLite's own structure, every row's digest, and every row against what is expected. Names table and key. */
export function checkDatabase(database: StateDatabase, expected: ExpectedRows): readonly Problem[] {
  return [
    ...structureProblems(database),
    ...tableNames.flatMap((table) => limitProblems(database, table, tableProblems(database, table, expected[table]))),
  ];
}

function problem(database: StateDatabase, place: string, detail: string): Problem {
  return { file: database.file, place, detail, hint: 'it is derived: run memctl rebuild' };
}

function structureProblems(database: StateDatabase): Problem[] {
  try {
    return database.integrity().map((detail) => problem(database, 'structure', detail));
  } catch (error) {
    if (!isOperatingError(error)) throw error;
    return [problem(database, 'structure', error.message)];
  }
}

function textOf(table: TableName, row: Rows[TableName]): string {
  return JSON.stringify(rowValues(table, row));
}

function placeOf(table: TableName, row: Rows[TableName]): string {
  return rowPlace(table, row as unknown as Readonly<Record<string, unknown>>);
}

function tableProblems(
  database: StateDatabase,
  table: TableName,
  expected: Iterable<Rows[TableName]> | undefined,
): Problem[] {
  const missing =
    expected === undefined ? undefined : new Map([...expected].map((row) => [placeOf(table, row), textOf(table, row)]));
  const problems: Problem[] = [];
  try {
    for (const { row, sound } of database.scan(table)) {
      const place = placeOf(table, row);
      const should = missing?.get(place);
      missing?.delete(place);
      if (!sound) problems.push(problem(database, place, 'its digest does not match its content'));
      else if (missing !== undefined && should === undefined)
        problems.push(problem(database, place, 'is not in the folded state'));
      else if (should !== undefined && should !== textOf(table, row))
        problems.push(problem(database, place, 'differs from the folded state'));
    }
  } catch (error) {
    if (!isOperatingError(error)) throw error;
    return [...problems, problem(database, table, error.message)];
  }
  for (const place of missing?.keys() ?? []) problems.push(problem(database, place, 'is missing'));
  return problems;
}

function limitProblems(database: StateDatabase, table: TableName, problems: Problem[]): Problem[] {
  const more = problems.length - problemsPerTable;
  return more > 0
    ? [...problems.slice(0, problemsPerTable), problem(database, table, `and ${more} more rows`)]
    : problems;
}
