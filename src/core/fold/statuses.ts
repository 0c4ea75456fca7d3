/** What became of one event, judged in its own (subject, scope). Source: docs/fold.md, Event status. */
import type { Judgement } from './claims.ts';
import { isClaim, type EventNode } from './node.ts';
import type { EventReason, EventStatus } from './state.ts';

/** Sets status and reason of an event. Edges and the judgement on its own scope must be settled. */
export function settleStatus(node: EventNode, own: Judgement | undefined): void {
  const [status, reason] = statusOf(node, own);
  node.status = status;
  node.reason = reason;
}

type Outcome = readonly [EventStatus, EventReason | null];

function statusOf(node: EventNode, own: Judgement | undefined): Outcome {
  if (node.held !== null) return ['held', node.held];
  if (node.by.length > 0) return withdrawnStatus(node);
  if (node.lineage === 'untrusted') return ['quarantined', 'UNTRUSTED'];
  if (node.lineage === 'untrusted-basis') return ['quarantined', 'UNTRUSTED_BASIS'];
  if (isClaim(node)) return claimStatus(node, own);
  if (node.overSigned) return ['parked', 'UNSIGNED_OVER_SIGNED'];
  return [node.body?.kind === 'question' ? 'open' : 'recorded', null];
}

function withdrawnStatus(node: EventNode): Outcome {
  if (node.body?.kind === 'question') return ['closed', null];
  const replaced = node.by.some((from) => from.body?.kind !== 'retract');
  return [replaced ? 'superseded' : 'retracted', node.revised ? 'REVISED' : null];
}

function claimStatus(node: EventNode, own: Judgement | undefined): Outcome {
  const reason = own?.parked.get(node);
  if (reason !== undefined) return ['parked', reason];
  return [own?.served === node ? 'served' : 'corroborates', null];
}
