/** A claim as a person reads it. */
import type { ClaimJson } from '../daemon/api/api-types.ts';
import { ago, shortId } from './output.ts';

/** What a claim says, in one line. */
export function saying(claim: Pick<ClaimJson, 'value' | 'content' | 'polarity' | 'purged'>): string {
  if (claim.purged !== undefined) return 'PURGED';
  const value = claim.value === undefined ? [] : [claim.value];
  const said = [...value, ...(claim.content === undefined ? [] : [claim.content])].join(' · ');
  return `${claim.polarity === 'absent' ? 'NOT ' : ''}${oneLine(said)}`;
}

/** Who says it: id, level, host, session, claimed time, confidence. */
export function claimLine(claim: Omit<ClaimJson, 'status'> & { readonly status?: string }, now: number): string {
  if (claim.purged !== undefined) {
    const { op, by: signer, reason } = claim.purged;
    return [shortId(claim.id), placeText(claim), `PURGED (${reason}) by ${signer}`, `trust op ${shortId(op)}`].join(
      ' · ',
    );
  }
  const by = claim.signer === undefined ? claim.level : `signed by ${claim.signer}`;
  const parts = [shortId(claim.id), placeText(claim), by, oneLine(claim.session), ago(claim.at, now), claim.confidence];
  return [...parts, ...(claim.status === undefined ? [] : [claim.status])].join(' · ');
}

/** Where it stands, and whose word it claims to be where that is somebody else's log. */
function placeText({ host, seq, log = host }: Pick<ClaimJson, 'host' | 'seq' | 'log'>): string {
  return log === host ? `${log}:${seq}` : `${log}:${seq} of ${host}`;
}

/** A claim is somebody's text: control and bidirectional characters never reach a terminal. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ');
}
