/**
 * What signed events withdrew from a subject, as keys: an unsigned claim that says again what a signer withdrew parks
 * alone, until a live signed claim says it. Source: docs/fold.md R4.
 */
import { isClaim, takesPart, type EventNode, type SubjectEvents } from './node.ts';

/** Answers for one subject, after pass 1. "Unsigned" here is whatever is not signed, delegated claims too. */
export interface Withdrawals {
  /** True iff the claim says what a signer withdrew and no live signed claim of `scope` or `*` says it. */
  readonly parksAlone: (claim: EventNode, scope: string) => boolean;
}

const nothingWithdrawn: Withdrawals = { parksAlone: () => false };

/** Reads the signed withdrawals of a subject off its pass-1 edges. Pure. */
export function withdrawalsOf(subject: SubjectEvents): Withdrawals {
  if (!subject.events.some((node) => node.withdrawnBySigned)) return nothingWithdrawn;
  const withdrawn = new Set<number>();
  const saidBySigner = new Set<string>();
  for (const node of subject.events) {
    if (!isClaim(node)) continue;
    if (node.withdrawnBySigned) withdrawn.add(node.key);
    else if (node.level === 'signed' && node.purge === null && takesPart(node))
      saidBySigner.add(`${node.key} ${node.scope}`);
  }
  const isSaid = (key: number, scope: string): boolean =>
    saidBySigner.has(`${key} *`) || saidBySigner.has(`${key} ${scope}`);
  return {
    parksAlone: (claim, scope) => claim.level !== 'signed' && withdrawn.has(claim.key) && !isSaid(claim.key, scope),
  };
}
