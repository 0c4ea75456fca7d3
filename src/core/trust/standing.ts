/**
 * T1: which approvers exist in a view, in which order of seniority, and up to where their word counts. Source:
 * docs/fold.md T1.
 *
 *   genesis ── craig (0) ── dana (1) ── erin (2)
 *                       └── gus (1, after dana iff the id of his signer-add is higher)
 */
import { byIdOrder, byText, isAncestor, type Held, type Principal, type Register, type View } from './register.ts';

/** Seniority: the genesis signer is 0, everybody else one more than their approver; ties by signer-add id. */
export interface Rank {
  readonly number: number;
  readonly add: string;
}

/** `cuts`: the revocations in force against an approver, in the order in which they came into force. */
export interface Standing {
  readonly ranks: ReadonlyMap<Principal, Rank>;
  readonly cuts: ReadonlyMap<Principal, readonly Held[]>;
}

/** A question about a standing that is not settled yet: if no more revocation came into force, is a charter signer left? */
export type Remains = (standing: Standing) => boolean;

/** The mutable side of one `standingOf`. */
interface Settling {
  readonly register: Register;
  readonly view: View;
  readonly founder: Principal;
  readonly ranks: Map<Principal, Rank>;
  readonly cuts: Map<Principal, readonly Held[]>;
  readonly remains: Remains;
}

/**
 * Goes through the approvers of a view in order of rank. By the time one is reached everybody senior is settled, so the
 * revocations that bound its word are decided here, before its own ops are looked at. Pure.
 */
export function standingOf(register: Register, view: View, founder: Held, remains: Remains): Standing {
  const ranks = new Map<Principal, Rank>([[founder.approver, { number: 0, add: founder.op.id }]]);
  const settling: Settling = { register, view, founder: founder.approver, ranks, cuts: new Map(), remains };
  for (let level: readonly Principal[] = [founder.approver]; level.length > 0;) {
    for (const principal of level) settle(settling, principal, level);
    level = rankNext(settling, level);
  }
  return settling;
}

/** An op counts iff its approver exists and every revocation in force against it knows the op, or is the op. Pure. */
export function counts({ ranks, cuts }: Standing, held: Held): boolean {
  if (!ranks.has(held.approver)) return false;
  return (cuts.get(held.approver) ?? []).every((cut, _, all) => isAncestor(held, cut) || all.includes(held));
}

/** Rank of the approver of a counted op. Pure. */
export function approverRank(standing: Standing, held: Held): Rank {
  return standing.ranks.get(held.approver) ?? { number: Number.MAX_SAFE_INTEGER, add: '' };
}

/** Negative iff `left` ranks before `right`. Pure. */
export function compareRanks(left: Rank, right: Rank): number {
  return left.number - right.number || byText(left.add, right.add);
}

/** True iff no revocation is in force against the approver, and it exists. Pure. */
export function isActive({ ranks, cuts }: Standing, principal: Principal): boolean {
  return ranks.has(principal) && (cuts.get(principal) ?? []).length === 0;
}

/** The name part of an approver. Pure. */
export function nameOf(principal: Principal): string {
  return principal.slice(0, principal.indexOf(' '));
}

/** Brings the revocations of one approver into force: those of earlier approvers, then its own, each in order of id. */
function settle(settling: Settling, principal: Principal, level: readonly Principal[]): void {
  const all = (settling.register.revokesOf.get(nameOf(principal)) ?? []).filter(settling.view);
  const others = all.filter((held) => held.approver !== principal && ranksBefore(settling, held.approver, principal));
  for (const held of others.toSorted(byIdOrder)) if (counts(settling, held)) force(settling, principal, held, level);
  const own = all.filter((held) => held.approver === principal).toSorted(byIdOrder);
  const bounds = settling.cuts.get(principal) ?? [];
  for (const held of own) if (bounds.every((cut) => isAncestor(held, cut))) force(settling, principal, held, level);
}

function ranksBefore({ ranks }: Settling, left: Principal, right: Principal): boolean {
  const [first, second] = [ranks.get(left), ranks.get(right)];
  return first !== undefined && second !== undefined && compareRanks(first, second) < 0;
}

/** One revocation comes into force unless it would leave no charter signer. */
function force(settling: Settling, principal: Principal, cut: Held, level: readonly Principal[]): void {
  const before = settling.cuts.get(principal) ?? [];
  settling.cuts.set(principal, [...before, cut]);
  // Nobody can take a name or a key from the founder, so an active founder is a charter signer.
  if (isActive(settling, settling.founder) || settling.remains(unhindered(settling, level))) return;
  settling.cuts.set(principal, before);
}

/** Who would exist if no more revocation came into force. */
function unhindered(settling: Settling, level: readonly Principal[]): Standing {
  const guess: Settling = { ...settling, ranks: new Map(settling.ranks) };
  for (let next = level; next.length > 0;) next = rankNext(guess, next);
  return guess;
}

/** Ranks whoever the approvers of one level add, and nobody before them did: the next level, in order of rank. */
function rankNext(settling: Settling, level: readonly Principal[]): readonly Principal[] {
  const number = (settling.ranks.get(level[0] ?? '')?.number ?? 0) + 1;
  const next = [...firstAdds(settling, level)].filter(([principal]) => !settling.ranks.has(principal));
  next.sort((left, right) => byText(left[1], right[1]));
  for (const [principal, add] of next) settling.ranks.set(principal, { number, add });
  return next.map(([principal]) => principal);
}

/** Whom these approvers add, each with the lowest id of such an add. */
function firstAdds(settling: Settling, approvers: readonly Principal[]): Map<Principal, string> {
  const adds = new Map<Principal, string>();
  for (const approver of approvers) {
    for (const held of settling.register.grantsBy.get(approver) ?? []) {
      if (held.grants === null || !settling.view(held) || !counts(settling, held)) continue;
      const known = adds.get(held.grants);
      if (known === undefined || held.op.id < known) adds.set(held.grants, held.op.id);
    }
  }
  return adds;
}
