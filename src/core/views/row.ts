/**
 * Pieces of generated lines. Every text from outside passes through here or `escape.ts` and nowhere else.
 *
 * A row is `- `subject` [mark · mark] text`: what the fold says of a claim stands in the bare brackets before the claim's
 * own text, which runs to the end of the line and can hold no bare bracket. So a claim cannot say of itself that it is
 * signed, corroborated or resolved.
 */
import { utf8Length } from '../../crypto/text.ts';
import type { Body } from '../event.ts';
import type { EventView } from '../fold/state.ts';
import { shortId } from '../id.ts';
import { codeSpan, inlineText } from './escape.ts';
import { placeOf } from './view-source.ts';

/** Longest legal subject: class, slash, entity. */
const subjectBytesMax = 152;
const markBytesMax = 64;
const homeShownBytesMax = 160;
const valueShownBytesMax = 160;

/** A subject as a code span. Pure. */
export function subjectSpan(subject: string): string {
  return codeSpan(subject, subjectBytesMax);
}

/** A command to copy, as a code span. Pure. */
export function commandSpan(command: string): string {
  return codeSpan(command, markBytesMax + 2 * subjectBytesMax);
}

/** A name or short text inside a generated sentence. Pure. */
export function plainMark(text: string): string {
  return inlineText(text, markBytesMax);
}

/** `[a · b]`, each mark escaped and cut; '' marks are left out. Pure. */
export function marks(...texts: readonly string[]): string {
  const shown = texts.filter((text) => text !== '').map(plainMark);
  return `[${shown.join(' · ')}]`;
}

/** `scope web` for a scope other than everywhere. Pure. */
export function scopeMark(scope: string): string {
  return scope === '*' ? '' : `scope ${scope}`;
}

/** Who stands behind an event: `signed by dana`, or the name of the host whose own word it is. Pure. */
export function authorMark(view: EventView): string {
  if (view.signers.length > 0) return `signed by ${view.signers.join(', ')}`;
  return view.body?.host ?? placeOf(view).log;
}

/** Host, place, session, time, level and id of an event: everything but what it says. Pure. */
export function eventMarks(view: EventView): readonly string[] {
  const { log, seq } = placeOf(view);
  const { body, purge } = view;
  const host = body?.host ?? purge?.target.host ?? log;
  return [
    host === log ? `${log} ${seq}` : `${host}, in log ${log} ${seq}`,
    body === null ? '' : `session ${body.session}`,
    body === null ? '' : `at ${body.at}`,
    view.signers.length > 0 ? authorMark(view) : view.level,
    `id ${shortId(view.id)}`,
  ];
}

/** What a claim says on one line: its value as a code span, else its content. Cut at about `bytesMax`. Pure. */
export function saidText(body: Body, bytesMax: number): string {
  const value = body.value === undefined ? '' : `= ${codeSpan(body.value, Math.min(bytesMax, valueShownBytesMax))}`;
  const content = body.content === undefined ? '' : inlineText(body.content, bytesMax);
  return [value, content].filter((text) => text !== '').join(' ');
}

/**
 * What an index row says: the claim, and behind it the hook while both fit; of a claim too long for a row its hook
 * alone, since that is what the hook was written for. Pure.
 */
export function rowText(body: Body, bytesMax: number): string {
  const said = saidText(body, bytesMax);
  if (body.hook === undefined) return said;
  const hook = inlineText(body.hook, bytesMax);
  const bytes = utf8Length(said);
  if (bytes > bytesMax) return hook;
  return bytes + utf8Length(hook) + 3 <= bytesMax ? `${said} — ${hook}` : said;
}

/** ` → home` for a claim that has one. Pure. */
export function homeText(body: Body): string {
  return body.home === undefined ? '' : ` → ${codeSpan(body.home, homeShownBytesMax)}`;
}
