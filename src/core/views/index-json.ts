import { canonicalJson, type JsonValue } from '../../crypto/canonical.ts';
import { indexNewestPerHost } from '../limits.ts';
import { claimJson } from './claim-json.ts';
import type { IndexFile } from './index-file.ts';
import type { Selection } from './selection.ts';
import type { NewestEvent } from './subject-summary.ts';
import type { ViewSource } from './view-source.ts';

/** Version of the shape of index.json. */
const indexJsonVersion = 1;

/**
 * index.json: the entries of INDEX.md, in rank order, with their exact strings, and the counts. Canonical JSON and one
 * newline. Strings are data: whoever prints one escapes it. Pure.
 */
export function indexJson(
  source: ViewSource,
  selection: Selection,
  about: { readonly audience: string; readonly scope: string | null; readonly shown: IndexFile },
): string {
  const { served, open } = about.shown;
  const value = {
    audience: about.audience,
    counts: {
      served: selection.served.length,
      unresolved: selection.open.length,
      quarantined: selection.quarantined.length,
      held: selection.held.length,
      purged: selection.purged.length,
      stale: selection.stale.length,
      more: selection.served.length + selection.open.length - served.length - open.length,
    },
    entries: served.map((entry) => ({
      section: entry.section,
      subject: entry.subject,
      scope: entry.scope,
      status: entry.record.status,
      flags: entry.record.flags,
      corroboration: entry.corroborating,
      claim: claimOf(source, entry.id),
    })),
    newest: Object.fromEntries(
      [...selection.newest].map(([host, events]) => [host, events.slice(0, indexNewestPerHost).map(placeInLog)]),
    ),
    scope: about.scope,
    unresolved: open.map(({ record, reason, hosts }) => ({
      subject: record.subject,
      scope: record.scope,
      reason,
      hosts,
      claims: record.parked,
    })),
    v: indexJsonVersion,
  };
  return `${canonicalJson(value as unknown as JsonValue)}\n`;
}

function placeInLog({ subject, seq }: NewestEvent): JsonValue {
  return { subject, seq };
}

function claimOf(source: ViewSource, id: string): JsonValue {
  const view = source.eventView(id);
  return ((view === undefined ? undefined : claimJson(view)) ?? null) as unknown as JsonValue;
}
