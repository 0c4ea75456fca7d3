/** Keeps the state in step with the outcomes of its subjects: what one subject said before goes, what it says now comes. */
import { sha256Hex } from '../../crypto/hash.ts';
import { setLeaf } from '../root.ts';
import type { SubjectOutcome } from './evaluate.ts';
import type { Fold, StateTotals } from './fold-index.ts';
import { recordKey, reportKey, type SubjectRecord } from './state.ts';

/** Replaces the outcome of one subject in the state. */
export function replaceOutcome(fold: Fold, subject: string, outcome: SubjectOutcome): void {
  const before = fold.outcomes.get(subject);
  if (before !== undefined) removeOutcome(fold, before, outcome);
  for (const record of outcome.records) putRecord(fold, record);
  for (const alarm of outcome.alarms) fold.alarms.set(reportKey(alarm), alarm);
  for (const notice of outcome.notices) fold.notices.set(reportKey(notice), notice);
  count(fold.totals, outcome, 1);
  fold.outcomes.set(subject, outcome);
}

function removeOutcome(fold: Fold, before: SubjectOutcome, next: SubjectOutcome): void {
  const stays = new Set(next.records.map(({ subject, scope }) => recordKey(subject, scope)));
  for (const { subject, scope } of before.records) {
    const key = recordKey(subject, scope);
    if (stays.has(key)) continue;
    fold.records.delete(key);
    setLeaf(fold.tree, key, null);
  }
  for (const alarm of before.alarms) fold.alarms.delete(reportKey(alarm));
  for (const notice of before.notices) fold.notices.delete(reportKey(notice));
  count(fold.totals, before, -1);
}

function putRecord(fold: Fold, record: SubjectRecord): void {
  const key = recordKey(record.subject, record.scope);
  fold.records.set(key, record);
  setLeaf(fold.tree, key, sha256Hex(JSON.stringify(record)));
}

function count(totals: StateTotals, outcome: SubjectOutcome, sign: 1 | -1): void {
  totals.held += sign * outcome.held;
  totals.quarantined += sign * outcome.quarantined;
  for (const { status, flags } of outcome.records) {
    totals[status] += sign;
    if (flags.includes('stale')) totals.stale += sign;
    if (flags.includes('undecided')) totals.undecided += sign;
  }
}
