/** What became of each event, judged in its own (subject, scope). Source: docs/fold.md, Event status. */
import { isLive, type Judgement } from './claims.ts';
import type { EventNode } from './node.ts';
import type { EventReason, EventStatus } from './state.ts';

/** Status of the live claims of one scope, from the judgement on it. Those of `*` are judged in their own record. */
export function settleClaims({ served, agreeing, parked }: Judgement, scope: string): void {
  for (const { reason, claims } of parked) for (const node of claims) settle(node, 'parked', reason);
  for (const node of agreeing) settle(node, 'corroborates', null);
  if (served !== null && served.scope === scope) settle(served, 'served', null);
}

/** Status of an event that is not a live claim. Edges must be settled. */
export function settleStatus(node: EventNode): void {
  if (node.purge !== null) settle(node, 'purged', null);
  else if (node.held !== null) settle(node, 'held', node.held);
  else if (node.by.length > 0) settle(node, withdrawnStatus(node), node.revised ? 'REVISED' : null);
  else if (node.lineage === 'untrusted') settle(node, 'quarantined', 'UNTRUSTED');
  else if (node.lineage === 'untrusted-basis') settle(node, 'quarantined', 'UNTRUSTED_BASIS');
  else if (isLive(node)) return;
  else if (node.overSigned) settle(node, 'parked', 'UNSIGNED_OVER_SIGNED');
  else settle(node, node.said?.kind === 'question' ? 'open' : 'recorded', null);
}

function withdrawnStatus(node: EventNode): EventStatus {
  if (node.said?.kind === 'question') return 'closed';
  return node.by.some((from) => from.said?.kind !== 'retract') ? 'superseded' : 'retracted';
}

function settle(node: EventNode, status: EventStatus, reason: EventReason | null): void {
  node.status = status;
  node.reason = reason;
}
