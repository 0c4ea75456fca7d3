/**
 * CONCEDED: what is served would be contradicted by another host, had that host not withdrawn its own claim.
 * Source: docs/fold.md R3.
 */
import type { Judgement } from './claims.ts';
import { isClaim, takesPart, type EventNode } from './node.ts';
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
    const mark = nextMark();
    markBelow(others, mark);
    const claims = given.filter((node) => hostOf(node) === host && node.mark !== mark);
    return claims.length === 0 ? [] : [{ host, claims }];
  });
}

/** Withdrawn by its own host and by nobody else. */
function isGivenUp(node: EventNode): boolean {
  if (node.by.length === 0 || node.withdrawnBySigned || !isClaim(node) || !takesPart(node)) return false;
  return node.by.every((from) => hostOf(from) === hostOf(node));
}

function markBelow(start: readonly EventNode[], mark: number): void {
  const stack = [...start];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (node.mark === mark) continue;
    node.mark = mark;
    for (const next of node.reaches) stack.push(next);
  }
}

function hostOf(node: EventNode): string {
  return node.body?.host ?? '';
}
