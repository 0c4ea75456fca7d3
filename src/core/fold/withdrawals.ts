/**
 * What signed events and purges withdrew from a subject, as keys: an unsigned claim that says again what a signer took away
 * parks alone, until a live signed claim says it. Source: docs/fold.md R4.
 */
import { isClaim, takesPart, type EventNode, type SubjectEvents } from './node.ts';

/** Answers for one subject, after pass 1. "Unsigned" here is whatever is not signed, delegated claims too. */
export interface Withdrawals {
  /** True iff the claim says what a signer withdrew or purged and no live signed claim of `scope` or `*` says it. */
  readonly parksAlone: (claim: EventNode, scope: string) => boolean;
}

const nothingWithdrawn: Withdrawals = { parksAlone: () => false };

/** By a signer's word: an event that withdraws it, or a purge of an event that is admitted. */
function isTakenAway({ withdrawnBySigned, purge, held }: EventNode): boolean {
  return withdrawnBySigned || (purge !== null && held === null);
}

/** Reads the signed withdrawals of a subject off its pass-1 edges and its purges. Pure. */
export function withdrawalsOf(subject: SubjectEvents): Withdrawals {
  if (!subject.events.some(isTakenAway)) return nothingWithdrawn;
  const withdrawn = new Set<number>();
  const saidBySigner = new Set<string>();
  for (const node of subject.events) {
    if (!isClaim(node)) continue;
    if (isTakenAway(node)) withdrawn.add(node.key);
    else if (node.level === 'signed' && node.purge === null && takesPart(node))
      saidBySigner.add(`${node.key} ${node.scope}`);
  }
  const isSaid = (key: number, scope: string): boolean =>
    saidBySigner.has(`${key} *`) || saidBySigner.has(`${key} ${scope}`);
  return {
    parksAlone: (claim, scope) => claim.level !== 'signed' && withdrawn.has(claim.key) && !isSaid(claim.key, scope),
  };
}
