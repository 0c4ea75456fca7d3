/** What the fold says, as rows of the derived database, and the logs as those rows have them. */
import { scopeOf } from '../../core/event.ts';
import { eventsOf, eventView, readState, recordsOf, type Fold } from '../../core/fold/fold.ts';
import { reportKey, type Alarm, type EventView, type SubjectRecord } from '../../core/fold/state.ts';
import type { Line } from '../../core/line.ts';
import type { StateDatabase } from '../../store/database/database.ts';
import type { AlarmRow, EventRow, LineRow, RecordRow } from '../../store/database/database-rows.ts';
import type { HeldLogs } from './heads-keeper.ts';
import type { LogBook } from './log-book.ts';

/** Row of an event. Everything but id, body and subject is display of what the fold decided. */
export function eventRow(view: EventView): EventRow {
  const { body, lines, purge } = view;
  const place = view.place ?? lines[0] ?? { log: '', seq: 0 };
  return {
    id: view.id,
    subject: view.subject ?? '',
    scope: purge?.target.scope ?? (body === null ? '*' : scopeOf(body)),
    host: purge?.target.host ?? body?.host ?? place.log,
    kind: purge?.target.kind ?? body?.kind ?? '',
    level: view.level,
    status: view.status,
    at: body?.at ?? '',
    log: place.log,
    seq: place.seq,
    body: body === null ? '' : JSON.stringify(body),
    view: JSON.stringify(storedView(view)),
  };
}

/** What the `view` column holds. No `purge`: the event is not purged. */
export type StoredView = Pick<EventView, 'by' | 'lines' | 'reason' | 'signers' | 'stale'> &
  Partial<Pick<EventView, 'purge'>>;

function storedView({ by, lines, reason, signers, stale, purge }: EventView): StoredView {
  return { by, lines, reason, signers, stale, ...(purge === null ? {} : { purge }) };
}

/** What the `record` column holds: the record, and how many events the subject has, whatever their scope. */
export interface StoredRecord {
  readonly record: SubjectRecord;
  readonly events: number;
}

/** Last usable line of every log, as the meta row `tips` holds it. */
export type StoredTips = Readonly<Record<string, { readonly seq: number; readonly link: string }>>;

export function recordRow({ record, events }: StoredRecord): RecordRow {
  const { subject, scope, status, served } = record;
  return { subject, scope, status, served: served ?? '', record: JSON.stringify({ record, events }) };
}

export function lineRow({ log, seq, id, link }: Line): LineRow {
  return { log, seq, id, link };
}

export function alarmRow(alarm: Alarm): AlarmRow {
  const { kind, subject, host } = alarm;
  return { identity: reportKey(alarm), kind, subject: subject ?? '', host: host ?? '', alarm: JSON.stringify(alarm) };
}

/** Rows of every event of these subjects. */
export function* eventRows(fold: Fold, subjects: Iterable<string>): Generator<EventRow> {
  for (const subject of subjects) {
    for (const id of eventsOf(fold, subject)) {
      const view = eventView(fold, id);
      if (view !== undefined) yield eventRow(view);
    }
  }
}

/** Rows of every record of these subjects. */
export function* recordRows(fold: Fold, subjects: Iterable<string>): Generator<RecordRow> {
  for (const subject of subjects) {
    const events = eventsOf(fold, subject).length;
    yield* recordsOf(fold, subject).map((record) => recordRow({ record, events }));
  }
}

export function alarmRows(fold: Fold): AlarmRow[] {
  return [...readState(fold).alarms.values()].map(alarmRow);
}

/** The logs as the database has them: the same as the book while it is up to date. */
export function logsIn(database: StateDatabase): HeldLogs {
  const meta = database.meta();
  const oids = new Map(JSON.parse(meta['oids'] ?? '[]') as [string, string][]);
  const tips = JSON.parse(meta['tips'] ?? '{}') as StoredTips;
  return {
    oids: () => Object.fromEntries(oids),
    tip: (log) => (tips[log] === undefined ? undefined : { ...tips[log], oid: oids.get(log) ?? '' }),
    linkAt: (log, seq) => database.linesOfLog(log, { from: seq, limit: 1 })[0]?.link,
  };
}

/** Last usable line of every log of the book. */
export function tipsIn(book: Pick<LogBook, 'logs' | 'head'>): StoredTips {
  return Object.fromEntries(
    book.logs().flatMap((log) => {
      const head = book.head(log);
      return head === undefined ? [] : [[log, { seq: head.seq, link: head.link }]];
    }),
  );
}
