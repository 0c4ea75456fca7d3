/** This host's own log: the only one that it writes. Validates, stamps, chains, signs, and makes batches durable. */
import { randomBytes } from 'node:crypto';
import { audienceOf, classOf, isClaim, makeBody, type Auth, type Body, type BodyInput } from '../../core/event.ts';
import { draftLine, type LineDraft } from '../../core/line.ts';
import type { VerifiedLine } from '../../core/log.ts';
import type { Said } from '../../core/recovery.ts';
import { lineBytesMax, transactionEventsMax } from '../../core/limits.ts';
import type { Charter } from '../../core/trust/charter.ts';
import { signEd25519, signEd25519Later, type SigningKey } from '../../crypto/ed25519.ts';
import { utf8Length } from '../../crypto/text.ts';
import { nearestWords } from '../config/nearest-words.ts';
import { onceNonce } from './once.ts';
import { Refusal, type RefusalOptions } from '../refusal.ts';

/** One transaction: all of its events are appended, or none. */
export interface Transaction {
  readonly events: readonly BodyInput[];
  readonly session: string;
  /** Events that a signer approved, of whichever host: their bodies stand as they are. They come before `events`. */
  readonly approved?: readonly ApprovedBody[];
  /** Names the request: made again, it is answered with the events of the first time. */
  readonly once?: string;
  /** What was said before on a branch that counts no more, as it stood. What the mesh does not take any more is left out. */
  readonly again?: readonly Said[];
}

/** A body with an approval that has been verified. */
export interface ApprovedBody {
  readonly body: Body;
  readonly auth: Auth;
}

export interface Stamp {
  readonly mesh: string;
  readonly host: string;
  /** Claimed time of the batch, ISO 8601 with milliseconds. */
  readonly at: string;
}

/**
 * Turns a transaction into bodies. Refuses the whole of it, naming the event by its position, when one is malformed, too
 * long, of an unknown class, or for an audience that nobody declared.
 */
export function makeBodies(transaction: Transaction, stamp: Stamp, charter: Charter): Body[] {
  const { events, session } = transaction;
  if (events.length > transactionEventsMax) {
    throw new Refusal({
      code: 'TOO_MANY_EVENTS',
      message: `${events.length} events in one transaction; ${transactionEventsMax} is the most`,
      hint: 'split the file',
      exit: 2,
    });
  }
  const nonces = randomBytes(16 * events.length).toString('hex');
  return events.map((event, index) => {
    const nonce =
      transaction.once === undefined
        ? nonces.slice(32 * index, 32 * (index + 1))
        : onceNonce(stamp.host, transaction.once, index);
    const where = events.length === 1 ? '' : `event ${index + 1} of ${events.length}: `;
    const body = makeBody(event, { ...stamp, session: event.session ?? session, nonce });
    if (!body.ok) throw invalid(event.kind, `${where}${body.detail}`);
    requireRegistered(body.value, charter, where);
    requireFits(body.value, where);
    return body.value;
  });
}

function requireRegistered(body: Body, charter: Charter, where: string): void {
  const objection = judgeRegistration(body, charter);
  if (objection !== undefined) throw new Refusal({ ...objection, message: `${where}${objection.message}`, exit: 2 });
}

/** Why this mesh does not take an event of this class or audience; '' when it does. */
export function objectionTo(event: Pick<BodyInput, 'kind' | 'subject' | 'audience'>, charter: Charter): string {
  return judgeRegistration(event, charter)?.message ?? '';
}

function judgeRegistration(
  event: Pick<BodyInput, 'kind' | 'subject' | 'audience'>,
  charter: Charter,
): Pick<RefusalOptions, 'code' | 'message' | 'hint'> | undefined {
  const name = classOf(event.subject);
  const known = charter.classes.get(name);
  if (known === undefined) {
    const near = nearestWords(name, [...charter.classes.keys()]);
    const meant = near.length > 0 ? `did you mean ${near.join(' or ')}? ` : '';
    return {
      code: 'CLASS_UNKNOWN',
      message: `there is no class ${name} in this mesh`,
      hint: `${meant}memctl class list; a signer adds one: memctl class add ${name}`,
    };
  }
  if (isClaim(event.kind) && known.claims === null) {
    return {
      code: 'EVENT_INVALID',
      message: `class ${name} takes no claims`,
      hint: `${event.kind} a subject of another class: memctl class list`,
    };
  }
  const audience = audienceOf(event);
  if (charter.audiences.has(audience)) return undefined;
  return {
    code: 'AUDIENCE_UNKNOWN',
    message: `there is no audience ${audience} in this mesh`,
    hint: `known: ${[...charter.audiences.keys()].join(', ')}`,
  };
}

/**
 * Checks that the mesh takes an approved event and that a line holds it. Refuses CLASS_UNKNOWN, AUDIENCE_UNKNOWN,
 * EVENT_INVALID, LINE_TOO_LONG.
 */
export function requireAppendable({ body, auth }: ApprovedBody, charter: Charter): void {
  requireRegistered(body, charter, '');
  const bytes = utf8Length(JSON.stringify(body)) + utf8Length(JSON.stringify(auth)) + envelopeBytesMax;
  if (bytes <= lineBytesMax) return;
  const hint = `say it anew and shorter: memctl sign ${body.subject} --help`;
  throw tooLong(`with its approval ${body.kind} ${body.subject}`, bytes, hint);
}

/** Those of `again` that the mesh still takes: a class may be gone since. */
export function stillTaken(again: readonly Said[], charter: Charter): readonly Said[] {
  return again.filter(({ body }) => judgeRegistration(body, charter) === undefined);
}

/** Where a log ends: the next line is drafted after it. */
export interface LogEnd {
  readonly host: string;
  readonly seq: number;
  readonly link: string;
}

/** Drafts lines after `from`, chained, not yet signed. */
export function draftLines(said: readonly Said[], from: LogEnd): LineDraft[] {
  let { seq, link } = from;
  return said.map(({ body, auth }) => {
    const draft = draftLine({ body, auth, log: from.host, seq: seq + 1, prev: link });
    ({ seq, link } = draft);
    return draft;
  });
}

/** Signs drafts with this host's key: a few here and now, many on all cores. */
export async function signDrafts(drafts: readonly LineDraft[], key: SigningKey): Promise<VerifiedLine[]> {
  const few = drafts.length <= signHereMax;
  const signatures = few
    ? drafts.map(({ message }) => signEd25519(key, message))
    : await Promise.all(drafts.map(({ message }) => signEd25519Later(key, message)));
  // Built from checked bodies, chained to our own tip and signed with our own key: verified by construction.
  return drafts.map((draft, index) => draft.finish(signatures[index] as Uint8Array) as VerifiedLine);
}

/** Signatures that cost less here than a round trip through the thread pool. */
const signHereMax = 4;

/** Bytes of a line beside its body: names, numbers, a link and a signature at their longest. */
const envelopeBytesMax = 400;

function requireFits(body: Body, where: string): void {
  const longest = [body.content, body.text, body.hook].reduce(
    (sum, text) => sum + (text === undefined ? 0 : utf8Length(JSON.stringify(text))),
    0,
  );
  if (longest + envelopeBytesMax < lineBytesMax / 2) return;
  const bytes = utf8Length(JSON.stringify(body)) + envelopeBytesMax;
  const hint = 'shorten its text; memory holds pointers, documents live in their home';
  if (bytes > lineBytesMax) throw tooLong(`${where}${body.kind} ${body.subject}`, bytes, hint);
}

function tooLong(what: string, bytes: number, hint: string): Refusal {
  const message = `${what} would be ${bytes} bytes; a line holds ${lineBytesMax}`;
  return new Refusal({ code: 'LINE_TOO_LONG', message, hint, exit: 2 });
}

/** The command that makes events of a kind; its help names the fields. Kinds without one come by append alone. */
const verbs: ReadonlyMap<unknown, string> = new Map([
  ['assert', 'assert'],
  ['lesson', 'lesson'],
  ['decision', 'decide'],
  ['question', 'question'],
  ['observe', 'observe'],
  ['propose', 'propose'],
  ['retract', 'retract'],
]);

function invalid(kind: unknown, message: string): Refusal {
  const verb = verbs.get(kind) ?? 'append';
  return new Refusal({
    code: 'EVENT_INVALID',
    message,
    hint: message.endsWith('home is missing')
      ? 'a fact names the document where it lives: --home-ref file:PATH#anchor; nothing was appended'
      : `memctl ${verb} --help shows the fields; nothing was appended`,
    exit: 2,
  });
}
