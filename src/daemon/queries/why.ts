/** why and blame: what was said and decided about something, by whom, and what became of it. History, never truth. */
import type { ClaimJson } from '../../core/views/claim-json.ts';
import { searchedEventsMax } from '../../core/limits.ts';
import type { EventRow } from '../../store/database/database-rows.ts';
import type { StateDatabase } from '../../store/database/database.ts';
import { reasonKinds } from '../../store/database/word-index.ts';
import type { BlamedJson, WhyJson } from '../api/api-types.ts';
import { Refusal } from '../refusal.ts';
import { findWords } from './search.ts';
import { heldEvent, rowsOfSubject } from './sound-rows.ts';
import { claimsOf, viewOfRow } from './stored-event.ts';

export interface WhyRequest {
  readonly topic: string;
  /** Undefined: everywhere. */
  readonly scope: string | undefined;
  readonly limit: number;
}

/** Subjects whose claims match a topic and whose reasons are therefore told. */
const subjectsMax = 50;

/**
 * Decisions, questions and proposals on a topic, oldest first: those of the subject of that name, else those that have the
 * words, or whose subject has claims that do. The newest `limit` of them.
 */
export function why(database: StateDatabase, { topic, scope, limit }: WhyRequest): WhyJson {
  const exact = topic.includes('/') ? rowsOfSubject(database, topic).events : [];
  const rows = exact.length > 0 ? exact.filter(isReason) : reasonsAbout(database, topic);
  const inScope = rows.filter((row) => scope === undefined || row.scope === '*' || row.scope === scope);
  const ordered = inScope.toSorted((a, b) => compare(a.at, b.at) || compare(a.log, b.log) || a.seq - b.seq);
  return {
    subjects: [...new Set(ordered.map(({ subject }) => subject))].toSorted(compare),
    claims: claimsOf(ordered.slice(-limit)),
    more: Math.max(0, ordered.length - limit),
    exact: exact.length > 0,
  };
}

function reasonsAbout(database: StateDatabase, topic: string): EventRow[] {
  const rows = new Map<string, EventRow>();
  for (const { prefix } of findWords(database, 'reason_words', topic).hits.slice(0, searchedEventsMax))
    for (const row of database.eventsByPrefix(prefix)) if (isReason(row)) rows.set(row.id, row);
  for (const subject of subjectsAbout(database, topic))
    for (const row of database.reasonsOfSubject(subject)) rows.set(row.id, row);
  return [...rows.values()];
}

/** The subjects of the best claims that have all of the words. */
function subjectsAbout(database: StateDatabase, topic: string): ReadonlySet<string> {
  const { hits, matching } = findWords(database, 'claim_words', topic);
  const best = matching === 'some' ? [] : hits.slice(0, subjectsMax);
  return new Set(best.flatMap(({ prefix }) => database.eventsByPrefix(prefix).map(({ subject }) => subject)));
}

function isReason({ kind, body, status }: EventRow): boolean {
  return reasonKinds.includes(kind) && (body !== '' || status === 'purged');
}

/**
 * Every claim of a subject with what became of it and which events did that, in log order. Refuses SUBJECT_UNKNOWN.
 */
export function blame(database: StateDatabase, subject: string): BlamedJson[] {
  const { events } = rowsOfSubject(database, subject);
  const claims = events.filter(({ kind }) => kind === 'assert' || kind === 'lesson');
  if (claims.length === 0) {
    throw new Refusal({
      code: 'SUBJECT_UNKNOWN',
      message: `nothing was ever claimed about ${subject}`,
      hint: events.length === 0 ? 'memctl search WORDS finds subjects' : `what else was said: memctl log ${subject}`,
      exit: 7,
    });
  }
  return claims.flatMap((row) => {
    const [claim] = claimsOf([row]);
    return claim === undefined ? [] : [blamed(database, row, claim)];
  });
}

function blamed(database: StateDatabase, row: EventRow, claim: ClaimJson): BlamedJson {
  const { by, reason, lines } = viewOfRow(row);
  return {
    ...claim,
    log: claim.log ?? claim.host,
    ...(reason === null ? {} : { reason }),
    carriedBy: lines.map(({ log, seq }) => ({ log, seq })),
    by: by.map((id) => {
      const { kind, subject, host, at, log, seq } = heldEvent(database, id);
      return { id, kind, subject, host, at, log, seq };
    }),
  };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
