/** Ids as people give them: in full, or a prefix of at least 8 digits that only one event has. */
import { idsWithPrefix, type Fold } from '../core/fold/fold.ts';
import { Refusal } from './refusal.ts';

/** Full ids for unique prefixes. What a client sends may be a list of anything, or no list at all: it is judged later. */
export function fullIds(ids: readonly string[], fold: Fold): readonly string[] {
  return Array.isArray(ids)
    ? ids.map((id: unknown) => (typeof id === 'string' ? fullId(id, fold) : id) as string)
    : ids;
}

/** Refuses BAD_REQUEST unless the text can be an id or a prefix of one. */
export function requireIdText(given: string): void {
  if (/^[0-9a-f]{8,64}$/.test(given)) return;
  throw new Refusal({
    code: 'BAD_REQUEST',
    message: `an id is 8 to 64 hex digits, not ${JSON.stringify(given.slice(0, 80))}`,
    hint: 'memctl log SUBJECT shows ids',
    exit: 2,
  });
}

/** ID_UNKNOWN, for an id that no event has. */
export function unknownEvent(id: string): Refusal {
  return new Refusal({
    code: 'ID_UNKNOWN',
    message: `no event has the id ${id}`,
    hint: 'memctl fetch, if it is new; memctl log SUBJECT shows ids',
    exit: 7,
  });
}

/** Refuses ID_UNKNOWN, ID_AMBIGUOUS. A full id need not be known: its event may not have arrived yet. */
export function fullId(id: string, fold: Fold): string {
  if (!/^[0-9a-f]{8,63}$/.test(id)) return id;
  const [found, second] = idsWithPrefix(fold, id, 2);
  if (found === undefined) {
    throw new Refusal({
      code: 'ID_UNKNOWN',
      message: `no event has an id that starts with ${id}`,
      hint: 'memctl log SUBJECT shows ids',
      exit: 7,
    });
  }
  if (second === undefined) return found;
  throw new Refusal({
    code: 'ID_AMBIGUOUS',
    message: `several events have ids that start with ${id}`,
    hint: 'give more digits',
    exit: 2,
  });
}
