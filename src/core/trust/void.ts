/**
 * Bound on void ops. A revoked signer, or a thief with that key, can make valid ops without end from old ancestors; none of
 * them counts. The lowest ids are kept, so that every host keeps the same ones. Source: docs/fold.md T1.
 */
import { trustOpsMax, trustVoidMax } from '../limits.ts';
import type { Intake } from './intake.ts';
import { evaluate, type Evaluation } from './items.ts';
import type { SupportedOp, UnsupportedOp } from './op.ts';
import {
  admit,
  ancestorsOfAll,
  ancestryOf,
  byIdOrder,
  byText,
  principalOf,
  registerOf,
  viewOf,
  wholeView,
  type Held,
  type Principal,
  type Register,
  type Standpoint,
} from './register.ts';
import type { Dropped } from './set.ts';
import { counts, isActive } from './standing.ts';

/** What is bounded: the valid ops, and those of later versions. */
export type Bounded = Pick<Intake, 'meshId' | 'register' | 'unsupported'>;

export interface Trimmed {
  readonly register: Register;
  readonly unsupported: ReadonlyMap<string, UnsupportedOp>;
  readonly dropped: readonly Dropped[];
  /** Ids of ops of later versions that are void: nobody need hear of them. */
  readonly quiet: ReadonlySet<string>;
}

/**
 * What is kept of an intake: every counted op with all its ancestors, and a bounded number of others per signer. What rests
 * on a void op that is not kept goes with it: a thief could bring both again and again. Pure.
 */
export function boundVoid(all: Bounded): Trimmed {
  const trimmed = trimVoid(all);
  const isHeld = (id: string): boolean => trimmed.register.byId.has(id);
  const unsupported = new Map([...trimmed.unsupported].filter(([, { body }]) => body.prev.every(isHeld)));
  return { ...trimmed, unsupported };
}

function trimVoid({ meshId, register, unsupported }: Bounded): Trimmed {
  const founder = register.byId.get(meshId);
  if (founder === undefined || register.revokesOf.size === 0)
    return { register, unsupported, dropped: [], quiet: new Set() };
  const evaluation = evaluate(register, wholeView, founder);
  const blame = blameOf(evaluation);
  const kept = keptOf(evaluation, blame);
  const quota = new Map<Principal, number>();
  const later = [...unsupported].toSorted(([left], [right]) => byText(left, right));
  const within = later.filter(([, op]) => {
    return mayCount(evaluation, op) || take(quota, blame(principalOf(op.body.by)));
  });
  const lost = [...register.byId.values()].filter((held) => !kept.has(held));
  const dropped = [
    ...lost.map(({ op }) => op.id),
    ...later.filter((entry) => !within.includes(entry)).map(([id]) => id),
  ].map((id): Dropped => ({ id, code: 'VOID_FULL', detail: `more than ${trustVoidMax} void ops of a revoked signer` }));
  return {
    register: lost.length === 0 ? register : without(register, kept),
    unsupported: dropped.length === lost.length ? unsupported : new Map(within),
    dropped,
    quiet: new Set(later.flatMap(([id, op]) => (mayCount(evaluation, op) ? [] : [id]))),
  };
}

/** True iff no op fits beside these, as they are. Pure. */
export function isFull({ register, unsupported }: Pick<Bounded, 'register' | 'unsupported'>): boolean {
  return register.byId.size + unsupported.size >= trustOpsMax;
}

/**
 * What a full set would be with one more op, or undefined if that is more than a set may hold. A revocation makes room for
 * itself when what it voids is more than is kept of a revoked signer; so nothing that is made of them passes the bound. Pure.
 */
export function makeRoom(full: Bounded, op: SupportedOp, place: Standpoint): Trimmed | undefined {
  const register = registerOf(full.register.byId.values());
  admit(register, op, place);
  const trimmed = boundVoid({ ...full, register });
  return trimmed.register.byId.size + trimmed.unsupported.size > trustOpsMax ? undefined : trimmed;
}

/**
 * True unless an op of a later version is void: no revocation that is held here can know it, since what descends from it is
 * pending. Otherwise a revoked signer could raise alarms for ever. Pure.
 */
export function mayCount(evaluation: Evaluation | undefined, { body }: UnsupportedOp): boolean {
  return evaluation !== undefined && isActive(evaluation.standing, principalOf(body.by));
}

/** Whom the ops of an approver are charged to: itself, or of one that does not exist the one that brought it. */
function blameOf({ register, standing }: Evaluation): (principal: Principal) => Principal {
  const adder = new Map<Principal, Held>();
  for (const adds of register.grantsBy.values()) {
    for (const held of adds) {
      const known = held.grants === null ? undefined : adder.get(held.grants);
      if (held.grants !== null && (known === undefined || held.op.id < known.op.id)) adder.set(held.grants, held);
    }
  }
  return (principal) => {
    const seen = new Set<Principal>();
    let next = principal;
    while (!standing.ranks.has(next) && !seen.has(next)) {
      seen.add(next);
      next = adder.get(next)?.approver ?? next;
    }
    return next;
  };
}

/**
 * The counted ops with their ancestors, then void ops: again and again the lowest id whose ancestors are all kept, as long
 * as its signer has room. The order of those of one signer depends on nothing else that is offered, so what is left out
 * once is left out of every larger set.
 */
function keptOf({ register, standing }: Evaluation, blame: (principal: Principal) => Principal): ReadonlySet<Held> {
  const all = [...register.byId.values()];
  const counted = all.filter((held) => counts(standing, held));
  const kept = new Set(counted);
  const isNeeded = viewOf(ancestorsOfAll(counted));
  for (const held of all) if (isNeeded(held)) kept.add(held);
  const others = all.filter((held) => !kept.has(held));
  if (others.length <= trustVoidMax) return new Set(all);
  const quota = new Map<Principal, number>();
  for (const held of lowestFirst(others, register, (next) => take(quota, blame(next.approver)))) kept.add(held);
  return kept;
}

/** Of ops whose other ancestors are all kept: goes through them by id, ancestors first, and below none that is not taken. */
function lowestFirst(ops: readonly Held[], register: Register, isTaken: (held: Held) => boolean): readonly Held[] {
  const among = new Set(ops);
  const missing = new Map<Held, number>();
  const children = new Map<Held, Held[]>();
  for (const held of ops) {
    const parents = held.op.body.prev
      .flatMap((id) => register.byId.get(id) ?? [])
      .filter((parent) => among.has(parent));
    missing.set(held, parents.length);
    for (const parent of parents) children.set(parent, [...(children.get(parent) ?? []), held]);
  }
  const taken: Held[] = [];
  // Highest id first, so that the next one is at the end.
  const ready = ops.filter((held) => missing.get(held) === 0).toSorted((left, right) => byIdOrder(right, left));
  for (let next = ready.pop(); next !== undefined; next = ready.pop()) {
    if (!isTaken(next)) continue;
    taken.push(next);
    for (const child of children.get(next) ?? []) {
      const left = (missing.get(child) ?? 0) - 1;
      missing.set(child, left);
      if (left > 0) continue;
      const place = ready.findLastIndex((other) => byIdOrder(other, child) > 0);
      ready.splice(place + 1, 0, child);
    }
  }
  return taken;
}

function take(quota: Map<Principal, number>, principal: Principal): boolean {
  const count = quota.get(principal) ?? 0;
  quota.set(principal, count + 1);
  return count < trustVoidMax;
}

/** A register of the kept ops alone: places are numbered anew. */
function without(register: Register, kept: ReadonlySet<Held>): Register {
  const fresh = registerOf([]);
  for (const held of register.byId.values()) {
    const ancestors = kept.has(held) ? ancestryOf(fresh, held.op.body.prev) : '';
    if (typeof ancestors !== 'string') admit(fresh, held.op, { ancestors, scopes: held.scopes });
  }
  return fresh;
}
