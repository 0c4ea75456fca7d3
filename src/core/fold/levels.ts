/**
 * R0 and R1: what holds an event out, and what authority its lines prove. Level belongs to the id: the highest that any
 * usable line of it proves. Levels are an ordered type, so that one between the two of today takes its place by an entry
 * of `levelRanks`. Source: docs/fold.md R0, R1.
 */
import { audienceOf, type Body } from '../event.ts';
import type { Charter } from '../trust/charter.ts';
import { scopeCovers } from '../trust/scope.ts';
import { isClaimKind, type Carrier, type EventNode } from './node.ts';
import { byPlace, sortedUnique } from './order.ts';
import type { HeldReason } from './state.ts';

/** The authority that an event carries, lowest first. */
export type Level = 'unsigned' | 'signed';

/** Order of the levels. Comparisons go through this table and never through the names. */
export const levelRanks: Readonly<Record<Level, number>> = { unsigned: 0, signed: 2 };

function compareLevels(a: Level, b: Level): number {
  return levelRanks[a] - levelRanks[b];
}

/** Rank of the level of an event. Pure. */
export function rankOf(node: EventNode): number {
  return levelRanks[node.level];
}

/** Level, admission, place and signers of an event, from the lines that carry it. */
export function settleLevel(charter: Charter, node: EventNode): void {
  let place: Carrier | null = null;
  let level: Level | undefined;
  for (const carrier of node.carriers) {
    const proven = provenBy(node, carrier);
    if (proven === undefined || !isBetter(carrier, proven, place, level)) continue;
    place = carrier;
    level = proven;
  }
  node.place = place;
  node.level = level ?? 'unsigned';
  if (node.approvals !== null) node.signers = signersOf(node.carriers);
  node.held = heldReason(charter, node, level !== undefined);
}

/** True iff `node` is signed for its own subject and for `subject`, by one and the same signer. Pure. */
export function isSignedFor(charter: Charter, node: EventNode, subject: string): boolean {
  if (node.level !== 'signed') return false;
  if (node.subject === subject) return true;
  return node.signers.some((name) => scopeCovers(charter.signers.get(name)?.scopes ?? [], subject));
}

/** Signers of the approvals that count, sorted. Pure. */
function signersOf(carriers: readonly Carrier[]): readonly string[] {
  const names = new Set<string>();
  for (const { fault, approval } of carriers) {
    if (fault === null && approval?.verdict === 'ok') names.add(approval.auth.signer);
  }
  return sortedUnique(names);
}

/** What one line proves; undefined when it counts for nothing. A bad approval never falls back to unsigned. Pure. */
function provenBy(node: EventNode, carrier: Carrier): Level | undefined {
  if (node.body === null || carrier.fault !== null) return undefined;
  if (carrier.approval !== null) return carrier.approval.verdict === 'ok' ? 'signed' : undefined;
  return carrier.log === node.body.host ? 'unsigned' : undefined;
}

/** Highest level, then lowest place. */
function isBetter(carrier: Carrier, proven: Level, place: Carrier | null, level: Level | undefined): boolean {
  if (place === null || level === undefined) return true;
  return compareLevels(proven, level) > 0 || (proven === level && byPlace(carrier, place) < 0);
}

function heldReason(charter: Charter, node: EventNode, proven: boolean): HeldReason | null {
  if (node.body === null) return unreadableReason(node.carriers);
  const className = node.family?.className ?? '';
  return foreignReason(charter, className, node.body) ?? (proven ? null : unprovenReason(node.carriers));
}

/** Why there is no body. Several faults of one id: the one that says most about the body itself. */
function unreadableReason(carriers: readonly Carrier[]): HeldReason | null {
  if (carriers.length === 0) return null;
  const faults = new Set(carriers.map(({ fault }) => fault));
  if ([...faults].some((fault) => fault !== 'HOLE' && fault !== 'UNKNOWN_VERSION')) return 'INVALID';
  return faults.has('UNKNOWN_VERSION') ? 'UNKNOWN_VERSION' : 'WITHHELD';
}

function foreignReason(charter: Charter, className: string, body: Body): HeldReason | null {
  if (body.mesh !== charter.meshId) return 'FOREIGN_MESH';
  const subjectClass = charter.classes.get(className);
  if (subjectClass === undefined) return 'UNNORMALIZED';
  if (subjectClass.claims === null && isClaimKind(body.kind)) return 'UNNORMALIZED';
  return charter.audiences.has(audienceOf(body)) ? null : 'UNDECLARED_AUDIENCE';
}

function unprovenReason(carriers: readonly Carrier[]): HeldReason {
  const verdicts = new Set(carriers.map(({ approval }) => approval?.verdict));
  if (verdicts.has('forged')) return 'FORGED';
  if (verdicts.has('unknown') || verdicts.has('unsupported')) return 'UNVERIFIABLE';
  return verdicts.has('out-of-scope') ? 'OUT_OF_SCOPE' : 'UNPROVEN';
}
