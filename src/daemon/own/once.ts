/**
 * `--once KEY`: a request that is made again is answered with the events of the first time. The key is in the nonce of
 * the events, so that it lasts as long as they do: a crash between the append and its answer changes nothing.
 */
import { isClaim, type Body, type BodyInput } from '../../core/event.ts';
import { eventsOf, eventView, type Fold } from '../../core/fold/fold.ts';
import { sha256Hex } from '../../crypto/hash.ts';
import type { Transaction } from './own-log.ts';
import { Refusal } from '../refusal.ts';

/** An event that this host appended before. */
export interface SaidBefore {
  readonly id: string;
  readonly log: string;
  readonly seq: number;
  readonly body: Body;
}

/** Nonce of the event at this place of a request with this key. 32 hex. Pure. */
export function onceNonce(host: string, key: string, index: number): string {
  return sha256Hex(`memd-once\n${host}\n${index}\n${key}`).slice(0, 32);
}

/**
 * The events of a request that was made before, in their order; undefined when it was not. Refuses ONCE_USED when they
 * say something else, or only some are there: then the key names another request.
 */
export function saidBefore({ events, once }: Transaction, fold: Fold, host: string): readonly SaidBefore[] | undefined {
  if (once === undefined) return undefined;
  const found = events.map((event, index) => findSaid(event, onceNonce(host, once, index), { fold, host }));
  if (found.every((one) => one === undefined)) return undefined;
  return found.map((one, index) => {
    if (one !== undefined && saysTheSame(events[index] as BodyInput, one.body)) return one;
    throw used(once, found.find((other) => other !== undefined) as SaidBefore);
  });
}

/** Requests of one key follow each other, so that the second sees what the first one left. */
export function oneAtATime(): <T>(key: string | undefined, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return (key, work) => {
    if (key === undefined) return work();
    const turn = (last.get(key) ?? Promise.resolve()).then(work, work);
    last.set(key, turn);
    const forget = (): void => {
      if (last.get(key) === turn) last.delete(key);
    };
    turn.then(forget, forget);
    return turn;
  };
}

function findSaid(
  { subject }: BodyInput,
  nonce: string,
  { fold, host }: { readonly fold: Fold; readonly host: string },
): SaidBefore | undefined {
  if (typeof subject !== 'string') return undefined;
  for (const id of eventsOf(fold, subject)) {
    const view = eventView(fold, id);
    const line = view?.lines.find(({ log }) => log === host);
    const body = view?.body ?? null;
    if (body?.nonce === nonce && body.host === host && line !== undefined)
      return { id, log: host, seq: line.seq, body };
  }
  return undefined;
}

/** What a claim or an observation comes to; its marks and references may have been worked out anew. */
function saysTheSame(event: BodyInput, body: Body): boolean {
  const fields = ['kind', 'content', 'value', 'home', 'digest'] as const;
  const same = fields.every((field) => (event[field] ?? null) === (body[field] ?? null));
  return same && (!isClaim(body.kind) || (event.polarity ?? 'exists') === (body.polarity ?? 'exists'));
}

function used(key: string, { id, log, seq }: SaidBefore): Refusal {
  return new Refusal({
    code: 'ONCE_USED',
    message: `--once ${key} was used by another request: event ${id.slice(0, 12)} (${log}:${seq}) says something else; nothing was appended`,
    hint: `memctl show ${id.slice(0, 12)}; a new request takes a new key`,
    exit: 2,
  });
}
