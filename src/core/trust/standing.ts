/**
 * T1: which approvers exist in a view, and in which order of seniority. Source: docs/fold.md T1.
 *
 *   genesis ── craig (0) ── dana (1) ── erin (2)
 *                       └── gus (1, after dana iff the id of his signer-add is higher)
 */
import { byText, type Held, type Principal, type Register, type View } from './register.ts';

/** Seniority: the genesis signer is 0, everybody else one more than their approver; ties by signer-add id. */
export interface Rank {
  readonly number: number;
  readonly add: string;
}

export interface Standing {
  readonly ranks: ReadonlyMap<Principal, Rank>;
}

/**
 * Goes through the approvers of a view in order of rank. By the time one is reached everybody senior is settled, so
 * whatever bounds an approver's word (a revocation) is decided here, before its own adds are looked at. Pure.
 */
export function standingOf(register: Register, view: View, founder: Held): Standing {
  const ranks = new Map<Principal, Rank>([[founder.approver, { number: 0, add: founder.op.id }]]);
  let frontier: readonly Principal[] = [founder.approver];
  for (let number = 1; frontier.length > 0; number += 1) {
    const next = [...firstAdds(register, view, frontier)].filter(([principal]) => !ranks.has(principal));
    next.sort((left, right) => byText(left[1], right[1]));
    for (const [principal, add] of next) ranks.set(principal, { number, add });
    frontier = next.map(([principal]) => principal);
  }
  return { ranks };
}

/** An op counts iff its approver exists. Pure. */
export function counts(standing: Standing, held: Held): boolean {
  return standing.ranks.has(held.approver);
}

/** Rank of the approver of a counted op. Pure. */
export function approverRank(standing: Standing, held: Held): Rank {
  return standing.ranks.get(held.approver) ?? { number: Number.MAX_SAFE_INTEGER, add: '' };
}

/** Negative iff `left` ranks before `right`. Pure. */
export function compareRanks(left: Rank, right: Rank): number {
  return left.number - right.number || byText(left.add, right.add);
}

/** Whom these approvers add, each with the lowest id of such an add. */
function firstAdds(register: Register, view: View, approvers: readonly Principal[]): Map<Principal, string> {
  const adds = new Map<Principal, string>();
  for (const approver of approvers) {
    for (const held of register.grantsBy.get(approver) ?? []) {
      if (held.grants === null || !view(held)) continue;
      const known = adds.get(held.grants);
      if (known === undefined || held.op.id < known) adds.set(held.grants, held.op.id);
    }
  }
  return adds;
}
