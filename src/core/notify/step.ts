/**
 * Notifying once per mesh: `step(state, input) → { state, effects }`. Pure: no clock, no I/O, no randomness. Every host
 * with a notifier runs it. Hosts are ranked; each waits by its rank, looks into the notes of the others, and tells what
 * nobody has told. What was told is a number that only grows, so no clock is compared. Source: docs/operations.md,
 * Notifications.
 */
import {
  notifyBackOffMaxMs,
  notifyBackOffMs,
  notifyGapMs,
  notifyLearnMs,
  notifyLagMs,
  notifyRankMs,
  notifyReadMs,
  notifyWaitingMax,
} from '../limits.ts';
import { standingOf } from './notes.ts';
import type {
  Item,
  NotifierState,
  NotifyEffect,
  NotifyEvent,
  NotifyInput,
  NotifyState,
  PeerNotes,
  Standing,
  Telling,
} from './state.ts';
import { boundTold, isRaised, mergeTold } from './told.ts';

export interface NotifyStep {
  readonly state: NotifyState;
  readonly effects: readonly NotifyEffect[];
}

interface Turn {
  readonly at: number;
  readonly effects: NotifyEffect[];
  state: NotifyState;
}

/** One step. The same state and input give the same step, always. Pure. */
export function step(state: NotifyState, { at, event }: NotifyInput): NotifyStep {
  const turn: Turn = { at, effects: [], state };
  take(turn, event);
  if (turn.state.notifiers.size > 0) {
    progressReading(turn);
    for (const name of turn.state.notifiers.keys()) progressNotifier(turn, name);
  }
  return { state: turn.state, effects: turn.effects };
}

/** When a `time` event is wanted next; undefined: nothing waits for time. Pure. */
export function nextTime(state: NotifyState): number | undefined {
  const { ready, notifiers, items, readingUntil } = state;
  if (!ready || notifiers.size === 0) return undefined;
  if (readingUntil !== undefined) return readingUntil;
  const due = [...items.values()].flatMap(({ dueAt, telling }) => (dueAt === undefined || telling > 0 ? [] : dueAt));
  const retries = [...notifiers.values()].flatMap(({ waiting, flight, notBefore }) =>
    waiting.length > 0 && flight === null ? notBefore : [],
  );
  const next = Math.min(state.learnAt ?? Infinity, ...due, ...retries);
  return next === Infinity ? undefined : next;
}

/** How many hosts tell before this one. One that nothing is known of may have a notifier. Pure. */
export function rankOf({ host, hosts, order, peers }: NotifyState): number {
  const place = (name: string): string => {
    const at = order.indexOf(name);
    return `${String(at < 0 ? order.length : at).padStart(6, '0')} ${name}`;
  };
  const own = place(host);
  return hosts.filter((peer) => peers.get(peer)?.notifies !== false && place(peer) < own).length;
}

function take(turn: Turn, event: NotifyEvent): void {
  switch (event.kind) {
    case 'standing':
      return takeStanding(turn, event);
    case 'ready':
      return change(turn, { ready: true });
    case 'asleep':
      return change(turn, { ready: false, readingUntil: undefined });
    case 'notes':
      return takeNotes(turn, event.host, event.notes);
    case 'read':
      return finishReading(turn);
    case 'sent':
      return takeSent(turn, event);
    case 'time':
      if (turn.state.readingUntil !== undefined && turn.at >= turn.state.readingUntil) finishReading(turn);
  }
}

function change(turn: Turn, changes: Partial<NotifyState>): void {
  turn.state = { ...turn.state, ...changes };
}

/** What stands now, beside what stood before. What nobody told and is over is forgotten. */
function takeStanding(
  turn: Turn,
  { standing, hosts, order, rankMs = notifyRankMs }: Extract<NotifyEvent, { readonly kind: 'standing' }>,
): void {
  const known = new Set(hosts);
  const peers = new Map([...turn.state.peers].filter(([name]) => known.has(name)));
  change(turn, { hosts, order, rankMs, peers });
  const now = new Map(standing.map((one) => [one.key, one]));
  const before = turn.state.items.size === 0 && !turn.state.ready ? toldBefore(turn.state) : turn.state.items;
  const items = new Map<string, Item>();
  for (const [key, item] of before) {
    const one = now.get(key);
    const raised = one !== undefined;
    const changedAt = raised === item.raised ? item.changedAt : turn.at;
    plan(turn, items, { ...item, standing: one ?? item.standing, raised, changedAt }, 0);
  }
  for (const one of standing) if (!before.has(one.key)) plan(turn, items, newItem(one, turn.at), 0);
  change(turn, { items });
  learnSoon(turn);
}

function newItem(standing: Standing, changedAt: number): Item {
  return { standing, raised: true, dueAt: undefined, changedAt, telling: 0 };
}

/** What others told of a change is looked at while they can still say it: the next change has the next number. */
function learnSoon(turn: Turn): void {
  const { hosts, items, learnAt, readAt } = turn.state;
  const isNew = hosts.length > 0 && [...items.values()].some(({ changedAt }) => changedAt > readAt);
  if (isNew && learnAt === undefined) change(turn, { learnAt: turn.at + notifyLearnMs });
}

/** After a start: what this host saw told as raised, whether it stands still or was cleared meanwhile. */
function toldBefore({ told }: NotifyState): ReadonlyMap<string, Item> {
  const raised = [...told].filter(([, n]) => isRaised(n));
  return new Map(raised.map(([key]) => [key, newItem(standingOf(key), -Infinity)]));
}

/** Puts an item among `items` with the time at which it is due, or leaves it out when nothing is left to do or to see. */
function plan(turn: Turn, items: Map<string, Item>, item: Item, lagMs: number): void {
  const { standing, raised, dueAt } = item;
  const agrees = isRaised(toldOf(turn.state, standing)) === raised;
  // What is just being told must be told as cleared afterwards; what others may have told is looked at first.
  const known = turn.state.hosts.length === 0 || turn.state.readAt >= item.changedAt;
  if (agrees && !raised && item.telling === 0 && known) return void items.delete(standing.key);
  const due = agrees ? undefined : (dueAt ?? turn.at + lagMs + rankOf(turn.state) * turn.state.rankMs);
  items.set(standing.key, { ...item, dueAt: due });
}

/** How often it was told, by us or by others. The word of the host that is to blame does not count. */
function toldOf({ told, peers }: NotifyState, { key, host }: Standing): number {
  let n = told.get(key) ?? 0;
  for (const [peer, notes] of peers) if (peer !== host) n = Math.max(n, notes.told.get(key) ?? 0);
  return n;
}

/** Others may have told what is due here; and what they told may not be known here yet. */
function takeNotes(turn: Turn, host: string, notes: PeerNotes): void {
  const before = turn.state.peers.get(host);
  const told = before === undefined ? notes.told : mergeTold(before.told, notes.told);
  change(turn, { peers: new Map(turn.state.peers).set(host, { notifies: notes.notifies, told: boundTold(told) }) });
  adopt(turn);
  replan(turn, notifyLagMs);
}

/**
 * What others told and is so here is remembered as if this host had told it: then the next change is told by whoever is
 * left, with the next number, and hosts that hear of this one only hear of it too.
 */
function adopt(turn: Turn): void {
  const seen = [...turn.state.items.values()].flatMap(({ standing, raised }): [string, number][] => {
    const n = toldOf(turn.state, standing);
    return raised === isRaised(n) && n > (turn.state.told.get(standing.key) ?? 0) ? [[standing.key, n]] : [];
  });
  if (seen.length === 0 || turn.state.notifiers.size === 0) return;
  change(turn, { told: boundTold(mergeTold(turn.state.told, new Map(seen))) });
  turn.effects.push({ kind: 'write-notes', told: turn.state.told });
}

function replan(turn: Turn, lagMs: number): void {
  const items = new Map(turn.state.items);
  for (const item of turn.state.items.values()) plan(turn, items, item, lagMs);
  change(turn, { items });
}

/** Before anything is told, the notes of the others are read. */
function progressReading(turn: Turn): void {
  const { ready, readingUntil } = turn.state;
  if (!ready || readingUntil !== undefined || !isAnythingDue(turn)) return;
  change(turn, { readingUntil: turn.at + notifyReadMs, learnAt: undefined });
  turn.effects.push({ kind: 'read-notes' });
}

function isAnythingDue({ state, at }: Turn): boolean {
  const due = [...state.items.values()].some((item) => isDue(item, at));
  const free = [...state.notifiers.values()].filter(({ flight }) => flight === null);
  if (state.learnAt !== undefined && state.learnAt <= at) return true;
  return (due && free.length > 0) || free.some((one) => isRetry(one, at) && state.readAt < one.notBefore);
}

/** It failed before, and may be tried again: others may have told it meanwhile. */
function isRetry({ waiting, failures, notBefore }: NotifierState, at: number): boolean {
  return waiting.length > 0 && failures > 0 && notBefore <= at;
}

function isDue({ dueAt, telling }: Item, at: number): boolean {
  return dueAt !== undefined && dueAt <= at && telling === 0;
}

/** The notes are read: what is still untold goes to every notifier. */
function finishReading(turn: Turn): void {
  if (turn.state.readingUntil === undefined) return;
  change(turn, { readingUntil: undefined, readAt: turn.at });
  replan(turn, 0);
  const items = new Map(turn.state.items);
  const tellings: Telling[] = [];
  for (const [key, item] of items) {
    if (!isDue(item, turn.at)) continue;
    const n = toldOf(turn.state, item.standing) + 1;
    tellings.push({ key, n, standing: item.standing, told: false });
    items.set(key, { ...item, telling: n });
  }
  // What others are about to tell is looked at again.
  if ([...items.values()].some(({ dueAt, telling }) => dueAt !== undefined && telling === 0))
    change(turn, { learnAt: turn.at + notifyGapMs });
  if (tellings.length === 0) return;
  const notifiers = new Map(turn.state.notifiers);
  for (const [name, one] of notifiers) notifiers.set(name, enqueue(one, tellings));
  change(turn, { items, notifiers });
}

function enqueue(one: NotifierState, tellings: readonly Telling[]): NotifierState {
  const all = [...one.waiting, ...tellings];
  const dropped = one.dropped + Math.max(0, all.length - notifyWaitingMax);
  return { ...one, waiting: all.slice(0, notifyWaitingMax), dropped };
}

/** Tells what waits, if it is time, and still worth telling. */
function progressNotifier(turn: Turn, name: string): void {
  const one = turn.state.notifiers.get(name);
  if (one === undefined || !turn.state.ready || one.flight !== null || one.waiting.length === 0) return;
  if (turn.at < one.notBefore || (one.failures > 0 && turn.state.readAt < one.notBefore)) return;
  const tellings = one.waiting.filter((telling) => isWorthTelling(turn.state, telling));
  if (tellings.length === 0) {
    changeNotifier(turn, { ...one, waiting: [], dropped: 0 });
    return settleTellings(turn);
  }
  const flight = { tellings, dropped: one.dropped };
  changeNotifier(turn, { ...one, waiting: [], dropped: 0, flight });
  turn.effects.push({ kind: 'send', notifier: name, ...flight });
}

/** Nobody has told it and it is so still; or this host told it, by another notifier. */
function isWorthTelling(state: NotifyState, { key, n, standing, told }: Telling): boolean {
  if (told) return true;
  const item = state.items.get(key);
  return item !== undefined && item.raised === isRaised(n) && toldOf(state, standing) === n - 1;
}

function takeSent(turn: Turn, event: Extract<NotifyEvent, { readonly kind: 'sent' }>): void {
  const one = turn.state.notifiers.get(event.notifier);
  if (one === undefined || one.flight === null) return;
  if (event.ok) {
    const { tellings } = one.flight;
    changeNotifier(turn, { ...one, flight: null, failures: 0, fault: undefined, notBefore: turn.at + notifyGapMs });
    noteTold(turn, new Map(tellings.map(({ key, n }) => [key, n])));
    return settleTellings(turn);
  }
  const failures = one.failures + 1;
  const wait = Math.min(notifyBackOffMaxMs, notifyBackOffMs * 2 ** Math.min(failures - 1, 16));
  const unsent = [...one.flight.tellings, ...one.waiting];
  const again = enqueue({ ...one, waiting: [], dropped: one.dropped + one.flight.dropped }, unsent);
  changeNotifier(turn, { ...again, flight: null, failures, fault: event.detail, notBefore: turn.at + wait });
}

/** This host has told it: other hosts need not, its other notifiers shall. */
function noteTold(turn: Turn, news: ReadonlyMap<string, number>): void {
  const { told, notifiers } = turn.state;
  const mark = (telling: Telling): Telling =>
    news.get(telling.key) === telling.n ? { ...telling, told: true } : telling;
  const marked = [...notifiers].map(([name, one]): [string, NotifierState] => [
    name,
    {
      ...one,
      waiting: one.waiting.map(mark),
      flight: one.flight === null ? null : { ...one.flight, tellings: one.flight.tellings.map(mark) },
    },
  ]);
  change(turn, { notifiers: new Map(marked) });
  if (![...news].some(([key, n]) => n > (told.get(key) ?? 0))) return;
  change(turn, { told: boundTold(mergeTold(told, news)) });
  turn.effects.push({ kind: 'write-notes', told: turn.state.told });
}

/** What no notifier is telling any more is planned anew. */
function settleTellings(turn: Turn): void {
  const busy = new Set(
    [...turn.state.notifiers.values()].flatMap(({ flight, waiting }) =>
      [...(flight?.tellings ?? []), ...waiting].map(({ key, n }) => `${n} ${key}`),
    ),
  );
  const items = new Map(turn.state.items);
  for (const item of turn.state.items.values()) {
    const { telling, standing } = item;
    const isOver = telling <= (turn.state.told.get(standing.key) ?? 0) || !busy.has(`${telling} ${standing.key}`);
    plan(turn, items, telling > 0 && isOver ? { ...item, telling: 0, dueAt: undefined } : item, 0);
  }
  change(turn, { items });
}

function changeNotifier(turn: Turn, one: NotifierState): void {
  change(turn, { notifiers: new Map(turn.state.notifiers).set(one.name, one) });
}
