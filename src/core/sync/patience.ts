/**
 * What a peer costs in vain. Everything that is fetched and then refused, or brings nothing, is charged to the peer that
 * offered it, by the time it took; the debt is forgiven at a fiftieth of the time that passes. A peer in debt beyond what
 * mishaps cost is heard again when it has rested: whatever it offers, and however often, it takes a fiftieth of this
 * host's time and no more. Who asks for a cycle by hand is never kept waiting.
 */

import {
  foldFreeLineMs,
  foldFreeMs,
  goodBurstMs,
  goodRestMaxMs,
  goodShare,
  vainBurstMs,
  vainRestMaxMs,
  vainShare,
  vainSilenceMs,
} from '../limits.ts';
import type { Debt } from './state.ts';
import type { LogFetched } from './vocabulary.ts';
import { changePeer, peerOf, type Turn } from './turn.ts';

const noDebt: Debt = { ms: 0, at: 0 };

/**
 * A fork is the fault of the host that signed both lines, not of the relay that holds the other side: it could not know. It is
 * charged to neither of them alone, since a relay could say it again and again to silence a host whose fork is settled:
 * of this log nothing is asked of this peer for as long as that debt lasts, and everything else goes on.
 */
export function chargeFork(turn: Turn, peer: string, log: string): void {
  const { cycle, forks } = peerOf(turn, peer);
  if (cycle === undefined) return;
  const debt = addDebt(forks.get(log) ?? noDebt, turn.at, Math.max(0, turn.at - cycle.askedAt));
  changePeer(turn, peer, { forks: new Map(forks).set(log, debt) });
}

/**
 * Good lines are no debt. But each fetch costs the same whether it brings one line or a thousand, so a host that goes on
 * writing faster than that is heard less often, and then of more at once; whoever brings it.
 */
export function chargeGood(turn: Turn, log: string, askedAt: number): void {
  const { good } = peerOf(turn, log);
  const left = Math.max(0, good.ms - Math.max(0, turn.at - good.at) * goodShare);
  const ms = Math.min(left + Math.max(0, turn.at - askedAt), goodBurstMs + goodRestMaxMs * goodShare);
  changePeer(turn, log, { good: { ms, at: turn.at } });
}

/** Until when good lines of a log are not asked for unasked; 0: they are. */
export function goodRestsUntil(turn: Turn, log: string): number {
  const { ms, at } = peerOf(turn, log).good;
  return ms <= goodBurstMs ? 0 : at + (ms - goodBurstMs) / goodShare;
}

/** Whether a log is not asked of a peer unasked: what its owner wrote costs too much, or what forks of it cost here. */
export function restsFor(turn: Turn, peer: string, log: string): boolean {
  return rests(turn, log) || restsUntil(peerOf(turn, peer).forks.get(log) ?? noDebt) > turn.at;
}

/** What is left of a debt. Pure. */
export function debtAt(debt: Debt, at: number): number {
  return Math.max(0, debt.ms - Math.max(0, at - debt.at) * vainShare);
}

/** Until when a peer with this debt is not heard unasked; 0: it is heard. Pure. */
export function restsUntil({ ms, at }: Debt): number {
  return ms <= vainBurstMs ? 0 : at + (ms - vainBurstMs) / vainShare;
}

/** Whether the peer has to rest now. */
export function rests(turn: Turn, peer: string): boolean {
  return restsUntil(peerOf(turn, peer).debt) > turn.at;
}

/** A peer that cost something lately is asked for as much as a careful host would take, not for as much as it announces. */
export function isDoubted(turn: Turn, peer: string, log?: string): boolean {
  const { debt, forks } = peerOf(turn, peer);
  const fork = log === undefined ? undefined : forks.get(log);
  return [debt, fork ?? noDebt].some((owed) => debtAt(owed, turn.at) > 0);
}

/**
 * Charges the host that wrote lines which are far more work to fold than lines are, whoever brought them: its log rests.
 */
export function chargeFold(turn: Turn, log: string, { foldMs = 0, lines }: LogFetched): void {
  const beyond = foldMs - foldFreeMs - foldFreeLineMs * lines;
  if (beyond > 0) charge(turn, log, beyond);
}

/**
 * Charges what was asked for last. `waited`: nothing came, so that the time was spent waiting and cost hardly anything.
 */
export function chargeVain(turn: Turn, peer: string, { waited = false }: { readonly waited?: boolean } = {}): void {
  const { cycle } = peerOf(turn, peer);
  if (cycle === undefined) return;
  const took = Math.max(0, turn.at - cycle.askedAt);
  charge(turn, peer, waited ? Math.min(took, vainSilenceMs) : took);
}

/** The debt with another cost: never more than the longest rest pays. Pure. */
export function addDebt(debt: Debt, at: number, ms: number): Debt {
  return { ms: Math.min(debtAt(debt, at) + ms, vainBurstMs + vainRestMaxMs * vainShare), at };
}

function charge(turn: Turn, peer: string, cost: number): void {
  changePeer(turn, peer, { debt: addDebt(peerOf(turn, peer).debt, turn.at, cost) });
}
