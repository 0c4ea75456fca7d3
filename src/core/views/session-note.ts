/** What changed about the rows that a session was given: one short note, or nothing. Source: docs/fold.md R7. */
import { claimKey } from '../fold/claim-keys.ts';
import { recordKey } from '../fold/state.ts';
import { sessionNoteBytesMax, sessionNoteSubjectsMax } from '../limits.ts';
import { fileOf, roomBeside, roomOf, takeFitting } from './budget.ts';
import { openLine, servedLine } from './index-file.ts';
import { commandSpan, subjectSpan } from './row.ts';
import type { GivenRow } from './session-text.ts';
import { summarizeSubject, type Reader, type SubjectSummary } from './subject-summary.ts';
import type { ViewSource } from './view-source.ts';

export interface SessionNote {
  /** '' when nothing that was given has changed. */
  readonly text: string;
  /** The rows as they are now: what the next note is compared with. */
  readonly given: readonly GivenRow[];
}

/** Compares what a session was given with what is served now. Rows that left because of rank alone are no change. Pure. */
export function sessionNote(source: ViewSource, reader: Reader, given: readonly GivenRow[]): SessionNote {
  const summaries = summariesOf(source, reader, given);
  const now = given.map((row) => compare(source, row, summaries.get(row.subject)));
  const changes = now.flatMap(({ line }) => (line === undefined ? [] : [line]));
  if (changes.length === 0) return { text: '', given };
  const head = 'memd: what this session was told has changed since:';
  const more = (left: number): readonly string[] =>
    left === 0 ? [] : [`${left} more changed: \`memctl index\` shows all as it is now.`];
  const room = roomBeside(
    { bytes: sessionNoteBytesMax, lines: sessionNoteSubjectsMax + 2 },
    roomOf([head, ...more(changes.length)]),
  );
  const shown = takeFitting(changes.length, room, (i) => [changes[i] ?? '']).flat();
  return {
    text: fileOf([head, ...shown, ...more(changes.length - shown.length)]),
    given: now.map(({ row }) => row),
  };
}

function summariesOf(
  source: ViewSource,
  reader: Reader,
  given: readonly GivenRow[],
): ReadonlyMap<string, SubjectSummary> {
  const scopes = new Map<string, Set<string>>();
  for (const { subject, scope } of given) {
    scopes.set(subject, (scopes.get(subject) ?? new Set([reader.scope ?? '*', '*'])).add(scope));
  }
  return new Map(
    [...scopes].map(([name, own]) => {
      const records = [...own].flatMap((scope) => source.state.records.get(recordKey(name, scope)) ?? []);
      return [name, summarizeSubject(source, reader, { name, records })];
    }),
  );
}

interface Compared {
  readonly row: GivenRow;
  readonly line?: string;
}

function compare(source: ViewSource, row: GivenRow, summary: SubjectSummary | undefined): Compared {
  const { subject, scope } = row;
  const served = summary?.served.find((entry) => entry.scope === scope) ?? summary?.served[0];
  const open = summary?.open.find(({ record }) => record.scope === scope) ?? summary?.open[0];
  if (served !== undefined) {
    const stale = served.record.flags.includes('stale');
    const now: GivenRow = { subject, scope, id: served.id, ...(stale ? { stale: true } : {}) };
    if (sameClaim(source, row.id, served.id) && (!stale || row.stale === true)) return { row: now };
    if (stale) return { row: now, line: staleLine(subject) };
    return { row: now, line: servedLine(source, served) };
  }
  const gone: GivenRow = { subject, scope, id: null };
  if (row.id === null) return { row: gone };
  if (open !== undefined) return { row: gone, line: openLine(open) };
  return { row: gone, line: `- ${subjectSpan(subject)} is not served any more: ${ask(subject)} says why` };
}

function staleLine(subject: string): string {
  return `- ${subjectSpan(subject)} is STALE: its source changed; ${ask(subject)} says what to read again`;
}

function ask(subject: string): string {
  return commandSpan(`memctl recall ${subject}`);
}

/** Equal claims are one belief: another host that says the same may come to stand for it. */
function sameClaim(source: ViewSource, before: string | null, now: string): boolean {
  if (before === now) return true;
  const keyOf = (id: string): string | undefined => {
    const body = source.eventView(id)?.body ?? null;
    return body === null ? undefined : claimKey(null, body);
  };
  const key = keyOf(now);
  return before !== null && key !== undefined && keyOf(before) === key;
}
