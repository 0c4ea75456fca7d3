/** T2: what a view says about one item of the charter. Source: docs/fold.md T2. */
import {
  byIdOrder,
  byText,
  isAncestor,
  maximalOf,
  principalOf,
  type Held,
  type Register,
  type View,
} from './register.ts';
import {
  approverRank,
  compareRanks,
  counts,
  isActive,
  nameOf,
  standingOf,
  type Rank,
  type Standing,
} from './standing.ts';
import type { SignerFields } from './op.ts';

/** A view with its approvers settled. */
export interface Evaluation {
  readonly register: Register;
  readonly view: View;
  readonly standing: Standing;
}

/**
 * Disagreement about an item. CHARTER_FORK: its maximal ops do not all say what the item has as its value. KEY_REUSED:
 * a key of it belongs to another item (`detail` names it). `ops` are the ids concerned, sorted.
 */
export interface ItemConflict {
  readonly kind: 'CHARTER_FORK' | 'KEY_REUSED';
  readonly ops: readonly string[];
  readonly detail: string;
}

/**
 * `holder` is the op whose arguments are the value, null when the item has none. `chain`: what the value builds on,
 * oldest first, then the value itself; also while a key of it belongs to another item. `disputed`: ops of which none has
 * a say beside the value, because they disagree. `revokes`: every counted host-revoke.
 */
export interface ItemState {
  readonly holder: Held | null;
  readonly chain: readonly Held[];
  readonly disputed: readonly Held[];
  readonly revokes: readonly Held[];
  readonly conflicts: readonly ItemConflict[];
}

/** Settles the approvers of a view. Pure. */
export function evaluate(register: Register, view: View, founder: Held): Evaluation {
  const remains = (standing: Standing): boolean => charterSigners({ register, view, standing }).next().done === false;
  return { register, view, standing: standingOf(register, view, founder, remains) };
}

/** Names of the active signers with the scope `charter`, in order of rank. Pure. */
export function* charterSigners(evaluation: Evaluation): Generator<string> {
  for (const principal of evaluation.standing.ranks.keys()) {
    if (!isActive(evaluation.standing, principal)) continue;
    const name = nameOf(principal);
    const { holder } = itemState(evaluation, `signer:${name}`);
    if (holder === null || addedBy(holder) !== principal) continue;
    if (signerFields(holder)?.scopes.includes('charter') === true) yield name;
  }
}

/** What an op says about the signer that it adds, if it adds one. Pure. */
export function signerFields(held: Held): SignerFields | undefined {
  const body = held.op.body;
  if (body.op === 'genesis') return body.signer;
  return body.op === 'signer-add' ? body : undefined;
}

/** The approver that an op adds: of the genesis its signer. Pure. */
export function addedBy(held: Held): string | null {
  return held.op.body.op === 'genesis' ? principalOf(held.op.body.by) : held.grants;
}

/** The counted ops of an item in a view. Pure. */
export function countedOps(evaluation: Evaluation, item: string): readonly Held[] {
  return inEffect(evaluation, evaluation.register.byItem.get(item));
}

/** Value and conflicts of an item. Pure. */
export function itemState(evaluation: Evaluation, item: string): ItemState {
  const counted = countedOps(evaluation, item);
  const revokes = counted.filter((held) => held.op.body.op === 'host-revoke');
  const sayers = revokes.length === 0 ? counted : counted.filter((held) => !revokes.includes(held));
  const { chain, disputed } = settle(item, item.startsWith('signer:') ? seniorOps(evaluation, sayers) : sayers);
  const value = chain.at(-1) ?? null;
  const conflicts: ItemConflict[] = [];
  const heads = maximalOf(sayers);
  // Nothing that an op could say would change what a revoked host is: it is no reason to alarm anybody.
  if (revokes.length === 0 && heads.some((head) => value === null || said(head, item) !== said(value, item))) {
    conflicts.push({ kind: 'CHARTER_FORK', ops: idsOf(heads), detail: `${heads.length} ops disagree about ${item}` });
  }
  const owner = value === null ? undefined : foreignOwner(evaluation, item, value);
  if (owner === undefined || value === null) return { holder: value, chain, disputed, revokes, conflicts };
  const detail = `a key of ${item} belongs to ${owner}`;
  if (revokes.length === 0) conflicts.push({ kind: 'KEY_REUSED', ops: [value.op.id], detail });
  return { holder: null, chain, disputed, revokes, conflicts };
}

/**
 * Of the adds of one signer name only those with the most senior approvers have a say. Otherwise a junior could unseat
 * a senior by adding the name again beside it, which it may not do by a revocation.
 */
function seniorOps(evaluation: Evaluation, ops: readonly Held[]): readonly Held[] {
  const numbers = ops.map((held) => approverRank(evaluation.standing, held).number);
  const first = Math.min(...numbers);
  return ops.filter((_, index) => numbers[index] === first);
}

/**
 * The maximal ops have the say; if they differ, what was agreed before all of them stays. The value of a rekey builds on
 * what was agreed before it, down to the op that brought the host: `chain` holds them all, the value last.
 */
function settle(item: string, ops: readonly Held[]): Pick<ItemState, 'chain' | 'disputed'> {
  const chain: Held[] = [];
  const disputed: Held[] = [];
  for (let rest = ops; rest.length > 0;) {
    const heads = maximalOf(rest);
    const [first] = heads.toSorted(byIdOrder);
    const isAgreed = first !== undefined && heads.every((head) => said(head, item) === said(first, item));
    if (isAgreed) chain.unshift(first);
    if (isAgreed && first.op.body.op !== 'host-rekey') return { chain, disputed };
    const agreed = rest.filter((held) => heads.every((head) => isAncestor(held, head)));
    if (chain.length === 0) disputed.push(...rest.filter((held) => !agreed.includes(held)));
    rest = agreed;
  }
  // A rekey whose host nobody in standing brought says nothing.
  return { chain: [], disputed: chain.length === 0 ? disputed : [...ops] };
}

/** Another item that a key of this value belongs to. */
function foreignOwner(evaluation: Evaluation, item: string, value: Held): string | undefined {
  const keys = value.claims.get(item)?.keys ?? [];
  return keys.map((key) => keyOwner(evaluation, key)).find((owner) => owner !== item);
}

/**
 * The item a key belongs to: that of the op whose approver ranks first; of several by one approver, of one that none of
 * the others precedes (a later op cannot take a key away by a lucky id), then of the lowest id.
 */
function keyOwner(evaluation: Evaluation, key: string): string | undefined {
  const users = inEffect(evaluation, evaluation.register.byKey.get(key));
  const ranks = users.map((held) => approverRank(evaluation.standing, held));
  const best = ranks.reduce<Rank | undefined>(
    (low, rank) => (low === undefined || compareRanks(rank, low) < 0 ? rank : low),
    undefined,
  );
  const senior = users.filter((_, index) => best !== undefined && compareRanks(ranks[index] as Rank, best) === 0);
  const [owner] = senior.filter((held) => !senior.some((other) => isAncestor(other, held))).toSorted(byIdOrder);
  if (owner === undefined) return undefined;
  for (const [item, claim] of owner.claims) if (claim.keys.includes(key)) return item;
  return undefined;
}

function inEffect(evaluation: Evaluation, ops: readonly Held[] | undefined): readonly Held[] {
  return (ops ?? []).filter((held) => evaluation.view(held) && counts(evaluation.standing, held));
}

function said(held: Held, item: string): string | undefined {
  return held.claims.get(item)?.equal;
}

function idsOf(ops: readonly Held[]): readonly string[] {
  return ops.map((held) => held.op.id).toSorted(byText);
}
