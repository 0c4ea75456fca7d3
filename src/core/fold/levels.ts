/**
 * R0 and R1: what holds an event out, and what authority its lines prove. Level belongs to the id: the highest that any
 * usable line of it proves. Source: docs/fold.md R0, R1.
 */
import type { Charter } from '../trust/charter.ts';
import { scopeCovers } from '../trust/scope.ts';
import { isDelegated, standingSigners, type Authority } from './authority.ts';
import { carriersOf, isClaimKind, type Approval, type Carrier, type EventNode } from './node.ts';
import { byPlace } from './order.ts';
import type { Said } from './said.ts';
import type { HeldReason } from './state.ts';

/** The authority that an event carries, lowest first. */
export type Level = 'unsigned' | 'delegated' | 'signed';

/** Order of the levels. Comparisons go through this table and never through the names. */
export const levelRanks: Readonly<Record<Level, number>> = { unsigned: 0, delegated: 1, signed: 2 };

function compareLevels(a: Level, b: Level): number {
  return levelRanks[a] - levelRanks[b];
}

/** Rank of the level of an event. Pure. */
export function rankOf(node: EventNode): number {
  return levelRanks[node.level];
}

/** Level, admission, place and signers of an event, from the lines that carry it. */
export function settleLevel(authority: Authority, node: EventNode): void {
  if (node.approvals !== null) node.signers = standingSigners(authority, node);
  let place: Carrier | null = null;
  let level: Level | undefined;
  for (const carrier of carriersOf(node)) {
    const proven = provenBy(authority, node, carrier);
    if (proven === undefined || !isBetter(carrier, proven, place, level)) continue;
    place = carrier;
    level = proven;
  }
  node.place = place;
  // A signed skeleton speaks for itself: its log may since have been cut before it, and no host could append it again.
  if (node.purge?.target.level === 'signed') level = 'signed';
  node.level = level ?? 'unsigned';
  node.held = heldReason(authority.charter, node, level !== undefined);
}

/** True iff `node` is signed for its own subject and for `subject`, by one and the same signer. Pure. */
export function isSignedFor(charter: Charter, node: EventNode, subject: string): boolean {
  if (node.level !== 'signed') return false;
  if (node.subject === subject) return true;
  // T5: nobody can check the approval of a body that is gone. Whoever purged it may speak of every subject.
  if (node.purge !== null) return true;
  return node.signers.some((name) => scopeCovers(charter.signers.get(name)?.scopes ?? [], subject));
}

/** What one line proves; undefined when it counts for nothing. A bad approval never falls back to unsigned. Pure. */
function provenBy(authority: Authority, node: EventNode, carrier: Carrier): Level | undefined {
  const { approval, fault, log } = carrier;
  if (node.said === null) return undefined;
  // Of a purged event some hosts hold the body and some a hole: the place of the line alone says the same on all.
  if (fault !== null && node.purge === null) return undefined;
  if (approval !== null) return isStanding(node, approval) ? 'signed' : undefined;
  if (log !== node.said.host) return undefined;
  return isDelegated(authority, node, carrier) ? 'delegated' : 'unsigned';
}

/** True iff an approval of the event counts, and no revocation of its signer ends it. Pure. */
export function isStanding({ signers }: EventNode, { auth, verdict }: Approval): boolean {
  return verdict === 'ok' && signers.includes(auth.signer);
}

/** Highest level, then lowest place. */
function isBetter(carrier: Carrier, proven: Level, place: Carrier | null, level: Level | undefined): boolean {
  if (place === null || level === undefined) return true;
  return compareLevels(proven, level) > 0 || (proven === level && byPlace(carrier, place) < 0);
}

function heldReason(charter: Charter, node: EventNode, proven: boolean): HeldReason | null {
  if (node.said === null) return unreadableReason(carriersOf(node));
  const className = node.family?.className ?? '';
  return foreignReason(charter, className, node.said) ?? (proven ? null : unprovenReason(node));
}

/** Why there is no body. Several faults of one id: the one that says most about the body itself. */
function unreadableReason(carriers: readonly Carrier[]): HeldReason | null {
  if (carriers.length === 0) return null;
  const faults = new Set(carriers.map(({ fault }) => fault));
  if ([...faults].some((fault) => fault !== 'HOLE' && fault !== 'UNKNOWN_VERSION')) return 'INVALID';
  return faults.has('UNKNOWN_VERSION') ? 'UNKNOWN_VERSION' : 'WITHHELD';
}

function foreignReason(charter: Charter, className: string, said: Said): HeldReason | null {
  if (said.mesh !== charter.meshId) return 'FOREIGN_MESH';
  const subjectClass = charter.classes.get(className);
  if (subjectClass === undefined) return 'UNNORMALIZED';
  if (subjectClass.claims === null && isClaimKind(said.kind)) return 'UNNORMALIZED';
  return charter.audiences.has(said.audience) ? null : 'UNDECLARED_AUDIENCE';
}

function unprovenReason(node: EventNode): HeldReason {
  if (node.purge !== null) return 'UNPROVEN';
  const verdicts = new Set(carriersOf(node).map(({ approval }) => approval?.verdict));
  // Of a held event no approval stands: one that is good all the same was revoked with its signer.
  if (verdicts.has('ok')) return 'REVOKED';
  if (verdicts.has('forged')) return 'FORGED';
  if (verdicts.has('unknown')) return 'UNVERIFIABLE';
  return verdicts.has('out-of-scope') ? 'OUT_OF_SCOPE' : 'UNPROVEN';
}
