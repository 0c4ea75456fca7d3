/** The secret gate: which events of a batch hold what looks like a secret, and in which field. */
import type { BodyInput } from '../../core/event.ts';
import { scanTexts } from './scan-texts.ts';

/** Where a secret seems to be. Never what it is. */
export interface SecretHit {
  /** Index of the event. */
  readonly event: number;
  readonly field: string;
  /** Name of the rule, as in docs/secret-gate.md. */
  readonly rule: string;
}

/** Fields of free text, or of names that a person chose. The others are ids, instants and single words by their grammar. */
const fields = [
  'subject',
  'content',
  'value',
  'hook',
  'text',
  'home',
  'names',
  'session',
  'scope',
  'audience',
] as const satisfies readonly (keyof BodyInput)[];

/** Scans all events in one go. The hits are in the order of the events; one event may have several. */
export async function scanEvents(events: readonly BodyInput[]): Promise<SecretHit[]> {
  const texts: string[] = [];
  const places: { readonly event: number; readonly field: string }[] = [];
  for (const [event, body] of events.entries()) {
    for (const field of fields) {
      const value = body[field];
      if (value === undefined) continue;
      texts.push(typeof value === 'string' ? value : value.join('\n'));
      places.push({ event, field });
    }
  }
  const hits = await scanTexts(texts);
  return hits.flatMap(({ text, rule }) => {
    const place = places[text];
    return place === undefined ? [] : [{ ...place, rule }];
  });
}
