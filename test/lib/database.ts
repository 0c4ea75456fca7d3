/** A derived database filled from a fold, as memd fills it. */
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { readState, subjectsOf, type Fold } from '../../src/core/fold/fold.ts';
import { alarmRows, eventRows, recordRows } from '../../src/daemon/beliefs/fold-rows.ts';
import { openDatabase, type StateDatabase } from '../../src/store/database/database.ts';
import { temporaryFolder } from './temporary.ts';

/** An empty database that is gone when the test ends. */
export function emptyDatabase(): StateDatabase {
  const database = openDatabase(join(temporaryFolder(), 'state.sqlite'));
  onTestFinished(() => database.close());
  return database;
}

/** Writes the rows of these subjects, or of all. */
export function writeFold(database: StateDatabase, fold: Fold, subjects: Iterable<string> = subjectsOf(fold)): void {
  const named = ['', ...subjects];
  database.write({
    events: eventRows(fold, named),
    records: recordRows(fold, named),
    alarms: alarmRows(fold),
    meta: { counts: JSON.stringify(readState(fold).counts) },
  });
}
