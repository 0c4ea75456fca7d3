/** log and parks. */
import type { ClaimJson } from '../../core/views/claim-json.ts';
import type { StateDatabase } from '../../store/database/database.ts';
import type { ParkJson } from '../api/api-types.ts';
import type { StoredRecord } from '../beliefs/fold-rows.ts';
import { Refusal } from '../refusal.ts';
import { heldEvent, newestLines, parkedRecords, rowsOfSubject } from './sound-rows.ts';
import { claimsOf } from './stored-event.ts';

/** Events of a log, or of a subject (told by its slash): the newest `limit`, newest last. */
export function listEvents(database: StateDatabase, of: string, limit: number): ClaimJson[] {
  return of.includes('/') ? eventsOfSubject(database, of, limit) : eventsOfLog(database, of, limit);
}

function eventsOfSubject(database: StateDatabase, subject: string, limit: number): ClaimJson[] {
  const rows = rowsOfSubject(database, subject).events.toSorted(
    (a, b) => compare(a.at, b.at) || compare(a.log, b.log) || a.seq - b.seq,
  );
  if (rows.length === 0) {
    throw new Refusal({
      code: 'SUBJECT_UNKNOWN',
      message: `no event is about ${subject}`,
      hint: 'memctl log HOST lists what a host said',
      exit: 7,
    });
  }
  return claimsOf(rows.slice(-limit));
}

function eventsOfLog(database: StateDatabase, log: string, limit: number): ClaimJson[] {
  return claimsOf(newestLines(database, log, limit).map(({ id }) => heldEvent(database, id)));
}

/** Every parked record with all of its sides, by subject and scope. */
export function listParks(database: StateDatabase): ParkJson[] {
  return parkedRecords(database).map((row) => {
    const { subject, scope, flags } = (JSON.parse(row.record) as StoredRecord).record;
    const sides = rowsOfSubject(database, subject).events.filter(
      (event) => event.status === 'parked' && (event.scope === '*' || event.scope === scope),
    );
    const claims = claimsOf(sides);
    return {
      subject,
      scope,
      // Claimed times, for display: the newest side is what made it a park.
      since:
        claims
          .map(({ at }) => at)
          .toSorted(compare)
          .at(-1) ?? '',
      claims,
      alarm: flags.includes('signers-disagree') ? 'SIGNERS_DISAGREE' : 'PARKED',
    };
  });
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
