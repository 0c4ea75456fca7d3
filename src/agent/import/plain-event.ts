import { makeBody, type Body, type BodyInput, type BodyStamp } from '../../core/event.ts';
import { lineBytesMax } from '../../core/limits.ts';
import { ok, refuse, type Result } from '../../crypto/result.ts';
import { utf8Length } from '../../crypto/text.ts';

/** Why an event cannot be appended. */
export type PlainEventFault = 'INVALID' | 'TOO_LONG';

/** Stands for what the appending host will write; only its length matters, so its names have the longest form. */
const placeholder: BodyStamp = {
  mesh: '0'.repeat(64),
  host: 'x'.repeat(31),
  session: 'import:claude-memory',
  at: '2000-01-01T00:00:00.000Z',
  nonce: '0'.repeat(32),
};
/** Bytes of a line beside its body: names, numbers, a link, a signature, and an approval that may be added later. */
const envelopeBytesMax = 4_096;

/**
 * The event as a log will hold it (normalised, defaults left out), or the reason why no log can. Importing is all or
 * nothing for what is appended, so each event is proved appendable here, where it can still be named and left out. Pure.
 */
export function plainEvent(input: BodyInput): Result<BodyInput, PlainEventFault> {
  const { session: _, ...unsessioned } = input;
  const made = makeBody(unsessioned, placeholder);
  if (!made.ok) return refuse('INVALID', made.detail);
  const bytes = utf8Length(JSON.stringify(made.value)) + envelopeBytesMax;
  if (bytes > lineBytesMax) return refuse('TOO_LONG', 'it is too long for one line of a log: split it');
  return ok(withoutStamp(made.value));
}

/** A body without what the appending host adds to it. Pure. */
export function withoutStamp(body: Body): BodyInput {
  const { mesh: _mesh, host: _host, session: _session, at: _at, nonce: _nonce, ...input } = body;
  return input;
}
