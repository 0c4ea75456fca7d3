import { claimJson, type ClaimJson } from '../../core/views/claim-json.ts';
import type { Body } from '../../core/event.ts';
import type { EventStatus, EventView } from '../../core/fold/state.ts';
import type { Level } from '../../core/fold/levels.ts';
import type { EventRow } from '../../store/database/database-rows.ts';
import type { StoredView } from '../beliefs/fold-rows.ts';

/** What the fold said of an event, read back from its row. */
export function viewOfRow(row: EventRow): EventView {
  const stored = JSON.parse(row.view) as StoredView;
  return {
    ...stored,
    purge: stored.purge ?? null,
    id: row.id,
    body: row.body === '' ? null : (JSON.parse(row.body) as Body),
    subject: row.subject === '' ? null : row.subject,
    level: row.level as Level,
    status: row.status as EventStatus,
    place: { log: row.log, seq: row.seq },
  };
}

/** Rows as claims; events whose body cannot be read are left out. */
export function claimsOf(rows: readonly EventRow[]): ClaimJson[] {
  return rows.flatMap((row) => claimJson(viewOfRow(row)) ?? []);
}
