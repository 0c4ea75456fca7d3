/** recall: an exact subject is answered or refused, never replaced by a similar one. */
import type { EventView, SubjectRecord } from '../../core/fold/state.ts';
import { claimJson, type ClaimJson } from '../../core/views/claim-json.ts';
import type { EventRow } from '../../store/database/database-rows.ts';
import type { StateDatabase } from '../../store/database/database.ts';
import type { RecallJson, RecallStatus } from '../api/api-types.ts';
import { heldEvent, rowsOfSubject } from './sound-rows.ts';
import { claimsOf, viewOfRow } from './stored-event.ts';

export interface RecallRequest {
  readonly subject: string;
  readonly scope: string;
  /** This host. */
  readonly host: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** What is believed about a subject in a scope. A scope without a record of its own answers as `*` does. */
export function recall(database: StateDatabase, { subject, scope, host, now }: RecallRequest): RecallJson {
  const answer = believed(database, subject, scope);
  const told = answer.claim === undefined ? (answer.claims ?? []) : [answer.claim];
  const times = told.map(({ at }) => Date.parse(at)).filter((time) => !Number.isNaN(time));
  const newest = times.toSorted((a, b) => b - a)[0];
  return { ...answer, host, age: newest === undefined ? null : Math.round((now - newest) / 1_000) };
}

function believed(database: StateDatabase, subject: string, scope: string): Omit<RecallJson, 'host' | 'age'> {
  const { records, events } = rowsOfSubject(database, subject);
  const record = records.find((one) => one.scope === scope) ?? records.find((one) => one.scope === '*');
  if (record === undefined) {
    const elsewhere = records.map((one) => one.scope).toSorted((a, b) => (a < b ? -1 : 1));
    return {
      subject,
      scope,
      status: 'none',
      flags: [],
      corroboration: 0,
      ...(elsewhere.length > 0 ? { elsewhere } : {}),
    };
  }
  const rows = events.filter((event) => event.scope === '*' || event.scope === record.scope);
  const answer = {
    subject,
    scope: record.scope,
    flags: record.flags,
    corroboration: record.served === null ? 0 : record.corroboration.hosts.count + 1,
  };
  return {
    ...answer,
    ...(record.served === null ? notServed(database, record, rows) : served(database, record, rows)),
  };
}

type Found = Pick<RecallJson, 'status' | 'claim' | 'claims' | 'text' | 'replacedBy' | 'observed'>;

function served(database: StateDatabase, record: SubjectRecord, rows: readonly EventRow[]): Found {
  const row = rows.find(({ id }) => id === record.served);
  const view = row === undefined ? undefined : viewOfRow(row);
  const claim = view === undefined ? undefined : claimJson(view);
  const text = view?.body?.text;
  return {
    status: servedStatus(record, view?.level),
    ...(claim === undefined ? {} : { claim }),
    ...(text === undefined ? {} : { text }),
    ...(view === undefined ? {} : observedOf(database, view)),
    claims: claimsOf(rows.filter(({ status }) => status === 'parked' || status === 'open')),
  };
}

/** The newest observation of its home that a claim rests on. */
function observedOf(database: StateDatabase, { body }: EventView): Pick<RecallJson, 'observed'> {
  const cited = (body?.basis ?? []).flatMap((id) => database.event(id) ?? []).map((row) => viewOfRow(row).body);
  const ofHome = cited.filter((one) => one?.kind === 'observe' && one.home === body?.home);
  const newest = ofHome.toSorted((a, b) => ((a?.at ?? '') < (b?.at ?? '') ? 1 : -1))[0];
  if (newest?.digest === undefined) return {};
  return { observed: { host: newest.host, at: newest.at, digest: newest.digest } };
}

/**
 * A claim that rests on an old observation, and one that no signer stands behind beside an open question, are told with that
 * word first. `level`: of what is served. Anybody can ask: a question does not take a signer's word out of the answer.
 */
export function servedStatus({ status, flags }: SubjectRecord, level: string | undefined): RecallStatus {
  if (flags.includes('stale')) return 'stale';
  if (flags.includes('undecided') && level !== 'signed') return 'undecided';
  return status === 'contested' ? 'contested' : 'served';
}

function notServed(database: StateDatabase, record: SubjectRecord, rows: readonly EventRow[]): Found {
  const having = (...statuses: readonly string[]): EventRow[] => rows.filter(({ status }) => statuses.includes(status));
  if (record.status === 'parked') return { status: 'parked', claims: claimsOf(having('parked')) };
  if (record.flags.includes('undecided')) return { status: 'undecided', claims: claimsOf(having('open')) };
  const purged = having('purged').filter(({ kind }) => kind === 'assert' || kind === 'lesson');
  // What a purge took away while it stood; what was withdrawn before is told as that.
  if (purged.some((row) => viewOfRow(row).by.length === 0)) return { status: 'purged', claims: claimsOf(purged) };
  const withdrawn = having('superseded', 'retracted');
  if (withdrawn.length > 0) return tombstone(database, withdrawn);
  if (having('quarantined').length > 0) return { status: 'quarantined', claims: claimsOf(having('quarantined')) };
  if (having('held').length > 0) return { status: 'held', claims: claimsOf(having('held')) };
  // Decisions and proposals claim nothing, but they are not nothing either.
  if (purged.length > 0) return { status: 'purged', claims: claimsOf(purged) };
  return rows.length === 0 ? { status: 'none' } : { status: 'none', claims: claimsOf(rows) };
}

/** What stood here, and what stands in its place elsewhere. */
function tombstone(database: StateDatabase, withdrawn: readonly EventRow[]): Found {
  const newest = withdrawn.toSorted((a, b) => b.seq - a.seq)[0];
  const status = newest?.status === 'superseded' ? 'superseded' : 'retracted';
  const by = newest === undefined ? [] : viewOfRow(newest).by;
  const replacement = by.map((id) => heldEvent(database, id)).find((row) => row.kind !== 'retract');
  const replacedBy: ClaimJson | undefined = replacement === undefined ? undefined : claimJson(viewOfRow(replacement));
  return { status, claims: claimsOf(withdrawn), ...(replacedBy === undefined ? {} : { replacedBy }) };
}
