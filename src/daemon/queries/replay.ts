/** replay: what a host believed at an instant, from its journal. */
import { eventsOf, eventView, readState, type Fold } from '../../core/fold/fold.ts';
import { renderViews } from '../../core/views/render.ts';
import { viewSourceOf } from '../../core/views/view-source.ts';
import { openMemoryDatabase, type StateDatabase } from '../../store/database/database.ts';
import type { Answer, Params, RecallJson, ReplayJson } from '../api/api-types.ts';
import type { Engine } from '../engine.ts';
import { foldAt, type FoldThen } from '../journal/fold-at.ts';
import { eventRows, recordRows } from '../beliefs/fold-rows.ts';
import { findInstant, type Instant } from '../journal/journal-instant.ts';
import { Refusal } from '../refusal.ts';
import { recall } from './recall.ts';

type Progress = (text: string) => void;

/** Folds what a host held at an instant. Refuses HOST_UNKNOWN, AUDIENCE_UNKNOWN, and as `findInstant` and `foldAt`. */
export async function replay(engine: Engine, params: Params<'replay'>, progress: Progress): Promise<Answer<'replay'>> {
  const { at, host = engine.identity.host, subject, scope = '*', index = false, audience = 'operator' } = params;
  const instant = await findInstant(engine, { at, host });
  const then = await foldAt(engine, instant.line, progress);
  return {
    ...replayJson(instant, then),
    ...(subject === undefined ? {} : { recall: recallThen(then, { subject, scope }) }),
    ...(index ? { index: indexThen(then.fold, audience) } : {}),
  };
}

export function replayJson({ isFine }: Instant, { line, root, verified, why, fold }: FoldThen): ReplayJson {
  const { host, at, n, heads, trust, rules } = line;
  return {
    host,
    at,
    n: isFine ? null : n,
    heads: Object.fromEntries(heads),
    trust,
    rules,
    root,
    verified,
    ...(why === undefined || verified ? {} : { why }),
    counts: { ...readState(fold).counts },
  };
}

/** What recall would have said; ages are of then. */
function recallThen({ fold, line }: FoldThen, asked: { readonly subject: string; readonly scope: string }): RecallJson {
  const database = openMemoryDatabase();
  try {
    writeSubject(database, fold, asked.subject);
    return recall(database, { ...asked, host: line.host, now: Date.parse(line.at) });
  } finally {
    database.close();
  }
}

/** The rows that recall reads: of the subject, and of what its events rest on or were replaced by. */
function writeSubject(database: StateDatabase, fold: Fold, subject: string): void {
  const subjects = new Set([subject]);
  for (const id of eventsOf(fold, subject)) {
    const view = eventView(fold, id);
    for (const other of [...(view?.by ?? []), ...(view?.body?.basis ?? [])])
      subjects.add(eventView(fold, other)?.subject ?? '');
  }
  database.write({ events: eventRows(fold, subjects), records: recordRows(fold, subjects) });
}

function indexThen(fold: Fold, audience: string): { markdown: string; json: string } {
  const known = [...fold.charter.audiences.keys()];
  if (!known.includes(audience)) {
    throw new Refusal({
      code: 'AUDIENCE_UNKNOWN',
      message: `there was no audience ${audience} then`,
      hint: `known then: ${known.join(', ')}`,
      exit: 7,
    });
  }
  const files = renderViews(viewSourceOf(fold), { audience });
  return { markdown: files.get('INDEX.md') ?? '', json: files.get('index.json') ?? '' };
}
