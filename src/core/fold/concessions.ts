/**
 * CONCEDED: what is served would be contradicted by another host, had that host not withdrawn its own claim.
 * Source: docs/fold.md R3.
 */
import type { Judgement } from './claims.ts';
import { isClaim, takesPart, type EventNode, type NodeList } from './node.ts';
import { sortedUnique } from './order.ts';

/** A concession: the host that made it and the claims that it withdrew. */
export interface Concession {
  readonly host: string;
  readonly claims: readonly EventNode[];
}

/** The concessions behind a served record, by host name. Empty unless the status is served. */
export function concessionsOf(
  members: readonly EventNode[],
  { status, served, agreeing }: Judgement,
  nextMark: () => number,
): readonly Concession[] {
  if (status !== 'served' || served === null) return [];
  const given = members.filter((node) => isGivenUp(node) && node.key !== served.key);
  if (given.length === 0) return [];
  const servedSide = [served, ...agreeing];
  return sortedUnique(given.map(hostOf)).flatMap((host) => {
    const others = servedSide.filter((node) => hostOf(node) !== host);
    if (others.length === 0) return [];
    const [below, above] = [nextMark(), nextMark()];
    markFrom(others, [({ reaches }) => reaches], below);
    const apart = given.filter((node) => hostOf(node) === host && node.mark !== below);
    markFrom(others, [({ by }) => by, ({ revisers }) => revisers], above);
    const claims = apart.filter((node) => node.mark !== above);
    return claims.length === 0 ? [] : [{ host, claims }];
  });
}

/** Withdrawn by its own host and by nobody else. */
function isGivenUp(node: EventNode): boolean {
  if (node.by.length === 0 || node.withdrawnBySigned || node.purge !== null || !isClaim(node) || !takesPart(node))
    return false;
  return node.by.every((from) => hostOf(from) === hostOf(node));
}

/** Marks the claims and everything of their subject that is reachable from them. */
function markFrom(start: readonly EventNode[], along: readonly ((node: EventNode) => NodeList)[], mark: number): void {
  const stack = [...start];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (node.mark === mark || node.subject !== start[0]?.subject) continue;
    node.mark = mark;
    for (const neighbours of along) for (const next of neighbours(node)) stack.push(next);
  }
}

function hostOf(node: EventNode): string {
  return node.body?.host ?? '';
}
