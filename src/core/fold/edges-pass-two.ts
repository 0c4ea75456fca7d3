/**
 * R3, pass 2: revisions, the edges of claims that are not signed to claims of other hosts. One takes effect only when
 * nobody's say is overruled by it: the target is *undisputed* and the source *stands*. Source: docs/fold.md R3.
 *
 * Whether a claim T is undisputed does not depend on who revises it: an eligible reviser reaches T by its own edge. So
 * the verdict is per target, targets first (ids are hashes, so supersession has no cycles).
 */
import { audienceClosure, type Charter } from '../trust/charter.ts';
import { putInEffect, type Edge } from './edges-pass-one.ts';
import { isClaim, takesPart, withNode, type EventNode, type SubjectEvents } from './node.ts';
import { reachOf } from './reach.ts';
import type { Said } from './said.ts';
import type { Withdrawals } from './withdrawals.ts';

/** Puts the revisions of a subject in effect and returns them. Pass 1 must be done. */
export function passTwo(
  context: { readonly charter: Charter; readonly nextMark: () => number },
  subject: SubjectEvents,
  candidates: readonly Edge[],
  withdrawals: Withdrawals,
): readonly Edge[] {
  const { charter, nextMark } = context;
  if (candidates.length === 0 || charter.classes.get(subject.className)?.revise !== 'mesh') return [];
  const eligible = candidates.filter((edge) => isEligible(charter, edge, withdrawals));
  if (eligible.length === 0) return [];
  for (const { from, to } of eligible) {
    to.revisers = withNode(to.revisers, from);
    from.revises = withNode(from.revises, to);
  }
  const standing = settleStanding(eligible.map(({ from }) => from));
  const reach = reachOf(subject, nextMark);
  const inEffect: Edge[] = [];
  for (const to of reach.order) {
    if (!reach.sweep(to)) continue;
    for (const from of to.revisers) if (standing.get(from) === true) inEffect.push(revise(from, to));
  }
  return inEffect;
}

function revise(from: EventNode, to: EventNode): Edge {
  to.revised ||= to.by.length === 0;
  putInEffect(from, to);
  return { from, to };
}

/** Every condition of pass 2 but *stands* and *undisputed*. */
function isEligible(charter: Charter, { from, to }: Edge, withdrawals: Withdrawals): boolean {
  if (from.said === null || to.said === null || !isClaim(from) || !isClaim(to) || !takesPart(to)) return false;
  if (!scopeIncludes(from.scope, to.scope) || !reachesAudience(charter, from.said, to.said)) return false;
  return !withdrawals.parksAlone(from, from.scope);
}

/** Scope `a` is all of `b` or more. Pure. */
export function scopeIncludes(a: string, b: string): boolean {
  return a === '*' || a === b;
}

/** Whoever is shown `to` is shown `from` too: otherwise the revision would leave its readers with nothing. */
function reachesAudience(charter: Charter, from: Said, to: Said): boolean {
  const [wider, narrower] = [from.audience, to.audience];
  return wider === narrower || audienceClosure(charter, narrower).has(wider);
}

/**
 * Whether each of the given claims *stands* after pass 1: not purged, and not withdrawn, or withdrawn by a signed event,
 * or by a claim of covering scope that stands. Superseders first, with an explicit stack: chains may be as long as a log.
 */
function settleStanding(claims: readonly EventNode[]): ReadonlyMap<EventNode, boolean> {
  const standing = new Map<EventNode, boolean>();
  for (const claim of claims) {
    const stack = standing.has(claim) ? [] : [{ node: claim, heirs: heirsOf(claim) }];
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const heir = top.heirs.at(-1);
      const verdict = heir === undefined ? isUntouched(top.node) : standing.get(heir);
      if (heir !== undefined && verdict === undefined) {
        stack.push({ node: heir, heirs: heirsOf(heir) });
      } else if (verdict === true || heir === undefined) {
        standing.set(top.node, verdict === true);
        stack.pop();
      } else {
        top.heirs.pop();
      }
    }
  }
  return standing;
}

/** Claims that carry the word of a withdrawn one on; one of them that stands is enough. */
function heirsOf(node: EventNode): EventNode[] {
  if (node.purge !== null || isUntouched(node)) return [];
  return node.by.filter((from) => isClaim(from) && scopeIncludes(from.scope, node.scope));
}

function isUntouched(node: EventNode): boolean {
  return node.purge === null && (node.by.length === 0 || node.withdrawnBySigned);
}
