/**
 * search: which subjects some words are about, and what is believed there. Served and contested claims are answers; a hit
 * on an old wording leads to what replaced it; everything else is named, and its text is not repeated.
 */
import type { SubjectRecord } from '../../core/fold/state.ts';
import { searchedEventsMax } from '../../core/limits.ts';
import type { ClaimJson } from '../../core/views/claim-json.ts';
import type { EventRow } from '../../store/database/database-rows.ts';
import type { StateDatabase } from '../../store/database/database.ts';
import { matchExpression, type Matching, type WordHits, type WordTable } from '../../store/database/word-index.ts';
import type { FoundJson, SearchJson } from '../api/api-types.ts';
import type { StoredRecord } from '../beliefs/fold-rows.ts';
import { Refusal } from '../refusal.ts';
import { servedStatus } from './recall.ts';
import { heldEvent } from './sound-rows.ts';
import { claimsOf, viewOfRow } from './stored-event.ts';

export interface SearchRequest {
  readonly words: string;
  /** Undefined: everywhere. */
  readonly scope: string | undefined;
  readonly limit: number;
}

/** Hits under the strictest reading of the words that has any. Refuses BAD_REQUEST when there is no word in them. */
export function findWords(
  database: StateDatabase,
  table: WordTable,
  words: string,
): WordHits & { readonly matching: Matching } {
  let found: WordHits = { hits: [], tooMany: false };
  for (const matching of ['all', 'beginnings', 'some'] as const) {
    const expression = matchExpression(words, matching);
    if (expression === undefined) throw wordless(words);
    found = database.findWords(table, expression);
    if (found.hits.length > 0) return { ...found, matching };
  }
  return { ...found, matching: 'some' };
}

function wordless(words: string): Refusal {
  return new Refusal({
    code: 'BAD_REQUEST',
    message: `there is no word in ${JSON.stringify(words.slice(0, 80))}`,
    hint: 'memctl search ssh mini',
    exit: 2,
  });
}

/** Where hits are judged: the database, and what was read of it for this search already. */
interface Reading {
  readonly database: StateDatabase;
  readonly scope: string | undefined;
  readonly records: Map<string, readonly SubjectRecord[]>;
}

/** Answers first, then what is only named; within both by rank, then subject, then id. */
export function search(database: StateDatabase, request: SearchRequest): SearchJson {
  const { words, scope, limit } = request;
  const { hits, tooMany, matching } = findWords(database, 'claim_words', words);
  const reading: Reading = { database, scope, records: new Map() };
  const found = new Map<string, Found>();
  let elsewhere = 0;
  let [answers, looked] = [0, 0];
  for (const { prefix, rank } of hits.slice(0, searchedEventsMax)) {
    if (answers >= limit) break;
    looked += 1;
    for (const row of database.eventsByPrefix(prefix)) {
      if (scope !== undefined && row.scope !== '*' && row.scope !== scope) {
        elsewhere += 1;
        continue;
      }
      const one = foundOf(reading, row);
      if (found.has(one.key)) continue;
      found.set(one.key, { ...one, rank });
      if (one.answers) answers += 1;
    }
  }
  const claims = sorted(withoutEchoes(found)).slice(0, limit);
  return {
    claims: claims.map(({ claim }) => claim),
    matching,
    hits: hits.length,
    more: tooMany || looked < hits.length || found.size > claims.length,
    tooMany,
    elsewhere,
  };
}

interface Found {
  /** Hits with one key are one line of the answer. */
  readonly key: string;
  readonly claim: FoundJson;
  /** It says something that stands, itself or by what replaced it. */
  readonly answers: boolean;
  /** Id of the claim that stands, where one does. */
  readonly stands: string | undefined;
  readonly rank: number;
}

type Unranked = Omit<Found, 'rank'>;

/** The line of a hit: what its subject says in the scope that was asked. */
function foundOf(reading: Reading, row: EventRow): Unranked {
  const { status } = row;
  if (status === 'superseded' || status === 'retracted') return tombstone(reading, row);
  const record = recordFor(reading, row, reading.scope);
  const place = `${row.subject} ${record?.scope ?? row.scope}`;
  const stands = status === 'served' || status === 'corroborates';
  if (stands && record !== undefined && record.served !== null) return standing(reading, record, place);
  const word = stands ? (record?.status === 'parked' ? 'parked' : 'held') : row.status;
  return { key: `${word} ${place}`, claim: { ...named(row), status: word }, answers: false, stands: undefined };
}

function standing({ database }: Reading, record: SubjectRecord, place: string): Unranked {
  const row = heldEvent(database, record.served ?? '');
  const status = servedStatus(record, row.level);
  const answers = status === 'served' || status === 'contested';
  const claim = answers ? claimOf(row) : named(row);
  return { key: `served ${place}`, claim: { ...claim, status }, answers, stands: row.id };
}

function tombstone(reading: Reading, row: EventRow): Unranked {
  const { status } = row;
  const last = replacementOf(reading.database, row);
  if (last === undefined)
    return { key: `${status} ${row.subject}`, claim: { ...named(row), status }, answers: false, stands: undefined };
  const record = recordFor(reading, last, last.scope);
  const believed = record?.served === last.id ? servedStatus(record, last.level) : undefined;
  const answers = believed === 'served' || believed === 'contested' || last.status === 'corroborates';
  const replacedBy: FoundJson = { ...(answers ? claimOf(last) : named(last)), status: believed ?? last.status };
  return {
    key: `${status} ${row.subject} ${last.id}`,
    claim: { ...named(row), status, replacedBy },
    answers,
    stands: answers ? last.id : undefined,
  };
}

/** Superseders may be superseded in turn; how many steps are followed before the tombstone says where it stopped. */
const stepsMax = 16;

/** The last claim of the chain that begins with what withdrew `row`; undefined when it was only taken back. */
function replacementOf(database: StateDatabase, row: EventRow): EventRow | undefined {
  let [last, seen] = [row, new Set([row.id])];
  for (let step = 0; step < stepsMax; step += 1) {
    const next = viewOfRow(last)
      .by.map((id) => heldEvent(database, id))
      .filter(({ kind, id }) => kind !== 'retract' && !seen.has(id));
    const best = next.find(({ status }) => status === 'served') ?? next[0];
    if (best === undefined) break;
    last = best;
    seen = seen.add(best.id);
  }
  return last === row ? undefined : last;
}

/** The record that recall would answer from. */
function recordFor(reading: Reading, row: EventRow, scope: string | undefined): SubjectRecord | undefined {
  const records = recordsOf(reading, row.subject);
  const asked = row.scope === '*' ? (scope ?? '*') : row.scope;
  return records.find((one) => one.scope === asked) ?? records.find((one) => one.scope === '*');
}

/** A subject that was corrected often has many hits: its records are read once. */
function recordsOf({ database, records }: Reading, subject: string): readonly SubjectRecord[] {
  const known = records.get(subject);
  if (known !== undefined) return known;
  const read = database.recordsOfSubject(subject).map((one) => (JSON.parse(one.record) as StoredRecord).record);
  records.set(subject, read);
  return read;
}

/** Tombstones that lead to a claim which is found by itself say nothing new. */
function withoutEchoes(found: ReadonlyMap<string, Found>): Found[] {
  const all = [...found.values()];
  const served = new Set(all.filter(({ key }) => key.startsWith('served ')).map(({ stands }) => stands));
  return all.filter(({ key, stands }) => key.startsWith('served ') || stands === undefined || !served.has(stands));
}

function sorted(found: readonly Found[]): Found[] {
  return found.toSorted(
    (a, b) =>
      Number(b.answers) - Number(a.answers) ||
      a.rank - b.rank ||
      compare(a.claim.subject, b.claim.subject) ||
      compare(a.claim.id, b.claim.id),
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function claimOf(row: EventRow): ClaimJson {
  const [claim] = claimsOf([row]);
  if (claim === undefined) throw new Error(`${row.id} is indexed without a body`);
  return claim;
}

/** A claim without what it says: who, when and about what. */
function named(row: EventRow): ClaimJson {
  const { content: _content, value: _value, polarity: _polarity, hook: _hook, ...rest } = claimOf(row);
  return rest;
}
