/**
 * What is about to be signed, as a person reads it. Every byte of the body is shown, and nothing of it reaches the
 * terminal raw.
 */
import type { ClaimJson } from '../../daemon/api/api-types.ts';
import type { SignDraftJson } from '../../daemon/api/sign-json.ts';
import { claimLine, saying } from '../claim-text.ts';

/** Members that every body has, and that are no more than where and when. */
const quiet: ReadonlySet<string> = new Set(['mesh', 'nonce', 'kind', 'subject', 'supersedes']);
/** Order in which a person wants to see the rest. */
const order = ['value', 'polarity', 'content', 'hook', 'text', 'home', 'basis', 'names', 'scope', 'audience'];

/**
 * Lines that show a draft whole: fields as JSON strings, then what it does to other claims, then what exactly is
 * signed. Pure.
 */
export function describeDraft(draft: SignDraftJson, now: number): string[] {
  const body = JSON.parse(draft.body) as Readonly<Record<string, unknown>>;
  const names = Object.keys(body).filter((name) => !quiet.has(name));
  const rank = (name: string): number => (order.includes(name) ? order.indexOf(name) : order.length);
  const fields = names.toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  const by = draft.signer === null ? '' : `, as ${draft.signer}`;
  return [
    `To be signed${by}${draft.existing ? ' (an event that was said before, as it stands)' : ''}:`,
    `  ${String(body['kind'])} ${draft.subject}`,
    ...fields.map((name) => `  ${name.padEnd(10)} ${JSON.stringify(body[name])}`),
    ...group('  replaces', draft.replaces, now),
    ...draft.unknown.map((id) => `  replaces ${id}, which is not known here`),
    ...beside('  was withdrawn by', draft.withdrawnBy, now),
    ...beside('  agrees with it, and stays', draft.agrees, now),
    ...beside('  says otherwise, and stays beside it', draft.leaves, now),
    ...beside('  stays open', draft.questions, now),
    `  mesh ${draft.mesh}`,
    `  id ${draft.id}`,
    `  (sha256 of the ${Buffer.byteLength(draft.body)} bytes that are signed, namespace memd-event)`,
  ];
}

/** Claims of one sort that are shown where they are no part of what is signed: whoever floods a subject hides it no more. */
const besideMax = 12;

function beside(what: string, claims: readonly ClaimJson[], now: number): string[] {
  const more = claims.length - besideMax;
  return [...group(what, claims.slice(0, besideMax), now), ...(more > 0 ? [`${what} (${more} more)`] : [])];
}

function group(what: string, claims: readonly ClaimJson[], now: number): string[] {
  return claims.map((claim) => `${what} ${claimLine(claim, now)}\n      ${claim.kind} ${saying(claim)}`);
}
