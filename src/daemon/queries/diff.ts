/** diff: what changed between two instants, and which event did it. */
import { eventsOf, eventView, readState, type Fold } from '../../core/fold/fold.ts';
import { recordKey, type EventView, type SubjectRecord } from '../../core/fold/state.ts';
import { claimJson } from '../../core/views/claim-json.ts';
import type { ViewHead } from '../../core/view-line.ts';
import type { Answer, BelievedJson, DiffJson, Params } from '../api/api-types.ts';
import type { Engine } from '../engine.ts';
import { foldAt, type FoldThen } from '../journal/fold-at.ts';
import { findInstant } from '../journal/journal-instant.ts';
import { opsSince } from '../journal/trust-at.ts';
import { servedStatus } from './recall.ts';
import { replayJson } from './replay.ts';

/** Compares the records of two instants. Refuses as `replay`. */
export async function diff(
  engine: Engine,
  { from, to, host = engine.identity.host }: Params<'diff'>,
  progress: (text: string) => void,
): Promise<Answer<'diff'>> {
  const [first, last] = [await findInstant(engine, { at: from, host }), await findInstant(engine, { at: to, host })];
  const before = await foldAt(engine, first.line, progress);
  const after = await foldAt(engine, last.line, progress);
  return { from: replayJson(first, before), to: replayJson(last, after), changes: changesOf(before, after) };
}

/** Sorted by subject and scope. */
export function changesOf(before: FoldThen, after: FoldThen): readonly DiffJson[] {
  const [was, is] = [readState(before.fold).records, readState(after.fold).records];
  const keys = new Set([...was.keys(), ...is.keys()]);
  const changes: DiffJson[] = [];
  for (const key of keys) {
    const [old, now] = [believed(before.fold, was.get(key)), believed(after.fold, is.get(key))];
    if (sameBelief(old, now)) continue;
    const { subject, scope } = (is.get(key) ?? was.get(key)) as SubjectRecord;
    changes.push({ subject, scope, before: old, after: now, by: causeOf(before, after, { subject, scope }) });
  }
  const order = ({ subject, scope }: DiffJson): string => recordKey(subject, scope);
  return changes.toSorted((left, right) => (order(left) < order(right) ? -1 : 1));
}

function believed(fold: Fold, record: SubjectRecord | undefined): BelievedJson | null {
  if (record === undefined) return null;
  const view = record.served === null ? undefined : eventView(fold, record.served);
  const claim = view === undefined ? undefined : claimJson(view);
  const status = record.served === null ? record.status : servedStatus(record, view?.level);
  return { status, flags: record.flags, ...(claim === undefined ? {} : { claim }) };
}

function sameBelief(left: BelievedJson | null, right: BelievedJson | null): boolean {
  if (left === null || right === null) return left === right;
  return (
    left.status === right.status &&
    left.claim?.id === right.claim?.id &&
    left.claim?.level === right.claim?.level &&
    JSON.stringify(left.flags) === JSON.stringify(right.flags)
  );
}

/**
 * The event that did it: the claim that is served now, what withdrew the one that was, else the newest on the subject;
 * and where no line came, the newest trust op.
 */
function causeOf(
  before: FoldThen,
  after: FoldThen,
  { subject, scope }: { readonly subject: string; readonly scope: string },
): string | null {
  const isNew = (view: EventView | undefined): view is EventView =>
    view !== undefined && view.lines.some(({ log, seq }) => isBeyond(before.line.heads, log, seq));
  const seen = (id: string | null | undefined): EventView | undefined =>
    id === null || id === undefined ? undefined : eventView(after.fold, id);
  const key = recordKey(subject, scope);
  const served = seen(readState(after.fold).records.get(key)?.served);
  if (isNew(served)) return served.id;
  const gone = seen(readState(before.fold).records.get(key)?.served);
  const withdrew = gone?.by.map(seen).find(isNew);
  if (withdrew !== undefined) return withdrew.id;
  const fresh = eventsOf(after.fold, subject).map(seen).filter(isNew);
  const newest = fresh.toSorted((left, right) => placeOrder(left, right)).at(-1);
  return newest?.id ?? opsSince(before.trust.set, after.trust.set).at(-1)?.id ?? null;
}

function isBeyond(heads: ReadonlyMap<string, ViewHead>, log: string, seq: number): boolean {
  return seq > (heads.get(log)?.seq ?? 0);
}

/** By claimed time, for people. */
function placeOrder(left: EventView, right: EventView): number {
  const [a, b] = [left.body?.at ?? '', right.body?.at ?? ''];
  return a < b ? -1 : a > b ? 1 : left.id < right.id ? -1 : 1;
}
