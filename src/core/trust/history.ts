/** What became of every op: for people. Nothing here is an input of the fold. */
import type { Evaluation } from './items.ts';
import { byText, isAncestor, type Held, type Principal } from './register.ts';
import { counts, nameOf } from './standing.ts';
import { evaluationOf, type TrustSet } from './set.ts';

/**
 * One valid op. `counts`: it is not void; `voidedBy`: ids of the revocations that void it, sorted. `inForce`: of a
 * signer-revoke, whether it ends somebody; null for other ops.
 */
export interface OpNote {
  readonly id: string;
  readonly op: string;
  readonly counts: boolean;
  readonly voidedBy: readonly string[];
  readonly inForce: boolean | null;
}

/** Every valid op, ancestors first. Pure. */
export function opNotes(set: TrustSet): readonly OpNote[] {
  const evaluation = evaluationOf(set);
  if (evaluation === undefined) return [];
  const forces = new Set([...evaluation.standing.cuts.values()].flat());
  return Array.from(set.held.values(), (held) => {
    const { id, body } = held.op;
    return {
      id,
      op: body.op,
      counts: counts(evaluation.standing, held),
      voidedBy: voidersOf(evaluation, held.approver, held),
      inForce: body.op === 'signer-revoke' ? forces.has(held) : null,
    };
  });
}

/** The revocations in force that do not know the op; of an approver who does not exist those that voided its adds. */
function voidersOf({ register, standing }: Evaluation, approver: Principal, held: Held): readonly string[] {
  const found = new Set<string>();
  const seen = new Set<Principal>();
  for (let [who, ops] = [approver, [held]]; !seen.has(who);) {
    seen.add(who);
    const cuts = standing.cuts.get(who) ?? [];
    const unaware = cuts.filter((cut) => ops.some((op) => !isAncestor(op, cut) && !cuts.includes(op)));
    for (const { op } of unaware) found.add(op.id);
    if (standing.ranks.has(who)) break;
    ops = (register.byItem.get(`signer:${nameOf(who)}`) ?? []).filter(({ grants }) => grants === who);
    who = ops[0]?.approver ?? who;
  }
  return [...found].toSorted(byText);
}
