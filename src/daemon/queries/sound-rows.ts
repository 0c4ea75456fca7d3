/**
 * Reads of the derived database that notice what is missing. A digest proves the rows that come back; a damaged index or
 * page can also make rows vanish without a word, and then a withheld claim would look like an absent one. So every list
 * is held against a count that stands elsewhere, in another tree of the file.
 */
import type { StateCounts, SubjectRecord } from '../../core/fold/state.ts';
import type { AlarmRow, EventRow, LineRow, RecordRow } from '../../store/database/database-rows.ts';
import type { StateDatabase } from '../../store/database/database.ts';
import { OperatingError } from '../../store/errors.ts';
import type { StoredRecord, StoredTips } from '../beliefs/fold-rows.ts';

/** A subject whole: its records, one per scope that its events name, and every event. Both are empty, or neither. */
export interface SubjectRows {
  readonly records: readonly SubjectRecord[];
  readonly events: readonly EventRow[];
}

/** Everything about a subject. Fails with DATABASE_DAMAGED when something of it is missing. */
export function rowsOfSubject(database: StateDatabase, subject: string): SubjectRows {
  const stored = database.recordsOfSubject(subject).map((row) => JSON.parse(row.record) as StoredRecord);
  const events = database.eventsOfSubject(subject);
  const scopes = new Set(stored.map(({ record }) => record.scope));
  const counted = stored.every((one) => one.events === events.length);
  const covered = events.every(({ scope }) => scopes.has(scope));
  if (!counted || !covered) throw incomplete(database, `the events of ${subject}`);
  return { records: stored.map(({ record }) => record), events };
}

/** Totals of the state that the rows were made from. */
export function countsOf(database: StateDatabase): Partial<StateCounts> {
  return JSON.parse(database.meta()['counts'] ?? '{}') as Partial<StateCounts>;
}

/** Every parked record. */
export function parkedRecords(database: StateDatabase): readonly RecordRow[] {
  const rows = database.recordsByStatus('parked');
  if (rows.length !== (countsOf(database).parked ?? 0)) throw incomplete(database, 'the list of parks');
  return rows;
}

/** Every alarm that stands. */
export function standingAlarms(database: StateDatabase): readonly AlarmRow[] {
  const rows = database.alarms();
  if (rows.length !== (countsOf(database).alarms ?? 0)) throw incomplete(database, 'the list of alarms');
  return rows;
}

/** Last usable line of every log. */
export function tipsOf(database: StateDatabase): StoredTips {
  return JSON.parse(database.meta()['tips'] ?? '{}') as StoredTips;
}

/** The newest `limit` lines of a log, oldest of them first. */
export function newestLines(database: StateDatabase, log: string, limit: number): readonly LineRow[] {
  const lines = database.linesOfLog(log, { limit, newestFirst: true });
  const tip = tipsOf(database)[log]?.seq ?? 0;
  const whole = lines.length === Math.min(limit, tip) && lines.every(({ seq }, at) => seq === tip - at);
  if (!whole) throw incomplete(database, `the lines of log ${log}`);
  return lines.toReversed();
}

/** An event that a line or another event names as held. */
export function heldEvent(database: StateDatabase, id: string): EventRow {
  const row = database.event(id);
  if (row === undefined) throw incomplete(database, `the list of events, without ${id},`);
  return row;
}

function incomplete({ file }: StateDatabase, what: string): OperatingError {
  return new OperatingError('DATABASE_DAMAGED', `${file}: ${what} is not complete`, {
    hint: 'it is derived: run memctl rebuild',
  });
}
