/**
 * R3, pass 1: edges that hold by authority alone. Signed edges, edges of a host to its own events, and the refusal of
 * every other edge that aims above its level. Depends on levels and lineage only. Source: docs/fold.md R3.
 */
import type { Kind } from '../event.ts';
import type { Charter } from '../trust/charter.ts';
import { isSignedFor, rankOf } from './levels.ts';
import { settleLineage } from './lineage.ts';
import { noNodes, takesPart, withNode, type EventNode, type SubjectEvents } from './node.ts';

/** An edge; as a result of pass 1, one to another host's event that pass 2 has to judge. */
export interface Edge {
  readonly from: EventNode;
  readonly to: EventNode;
}

/**
 * Sets `by`, `reaches`, `withdrawnBySigned` and `overSigned` of every event of the subject from its pass-1 edges, and
 * returns the edges that pass 2 has to judge. `lineage` of all events must be settled. An unsigned event bears edges
 * within its subject only, so everything that matters here is in the subject or names one of its events.
 */
export function passOne(charter: Charter, subject: SubjectEvents): readonly Edge[] {
  for (const node of subject.events) resetEdges(node);
  for (const node of subject.events) if (node.namedBy !== noNodes) withdrawBySigned(charter, node);
  const unsigned = subject.events.filter((node) => node.targets.length > 0 && node.level !== 'signed');
  for (const node of unsigned) node.overSigned = aimsAboveItself(node);
  const candidates: Edge[] = [];
  for (const node of unsigned) if (!node.overSigned) bearUnsigned(node, candidates);
  return candidates;
}

/** Puts an edge in effect. */
export function putInEffect(from: EventNode, to: EventNode): void {
  to.by = withNode(to.by, from);
  if (from.subject === to.subject) from.reaches = withNode(from.reaches, to);
}

function resetEdges(node: EventNode): void {
  node.by = noNodes;
  node.reaches = noNodes;
  node.revisers = noNodes;
  node.revises = noNodes;
  node.withdrawnBySigned = false;
  node.overSigned = false;
  node.revised = false;
}

function withdrawBySigned(charter: Charter, to: EventNode): void {
  for (const from of to.namedBy) {
    settleLineage(from);
    if (!mayBear(from, to) || !isSignedFor(charter, from, to.subject)) continue;
    to.withdrawnBySigned = true;
    putInEffect(from, to);
  }
}

function aimsAboveItself(from: EventNode): boolean {
  return from.targets.some((to) => isAttempt(from, to) && mayBear(from, to));
}

function isAttempt(from: EventNode, to: EventNode): boolean {
  return to.level === 'signed' && to.subject === from.subject && !to.withdrawnBySigned;
}

function bearUnsigned(from: EventNode, candidates: Edge[]): void {
  for (const to of from.targets) {
    if (to.subject !== from.subject || rankOf(to) > rankOf(from) || !mayBear(from, to)) continue;
    if (to.said?.host === from.said?.host) putInEffect(from, to);
    else candidates.push({ from, to });
  }
}

/** True iff the kinds allow the edge and its source takes part. The target need only be known. */
function mayBear(from: EventNode, to: EventNode): boolean {
  if (from.said === null || to.said === null || !takesPart(from)) return false;
  return kindsAllow(from.said.kind, to.said.kind);
}

function kindsAllow(from: Kind, to: Kind): boolean {
  switch (from) {
    case 'assert':
    case 'lesson':
    case 'retract':
      return true;
    case 'question':
      return to === 'question';
    case 'decision':
      return to === 'decision' || to === 'question';
    default:
      return false;
  }
}
