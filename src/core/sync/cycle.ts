/** One cycle with one peer: heads, what it says of our own log, the trust set, the logs, in this order. */
import { backOffMaxMs, backOffMs, cycleGiveUpMs, headsDeadlineMs, watchAgainMs } from '../limits.ts';
import { continueLogs, endFetch, listLogs } from './logs.ts';
import { isDown, outcomeOf } from './outcome.ts';
import { lookAtOwnLog, stopLooking } from './own-log.ts';
import { nextFrom } from './next.ts';
import type { Heads, MeshAlarm, PeerFault, PeerFaultCode, PeerOutcome } from './peer.ts';
import { emptyDraft, type Cycle, type NextCycle } from './state.ts';
import { lookAtTrust } from './trust.ts';
import {
  change,
  changeCycle,
  changePeer,
  drawRandom,
  emit,
  markAsked,
  noteAlarms,
  noteFault,
  peerOf,
  remainingOf,
  type Turn,
} from './turn.ts';
import { lookAtViews } from './views.ts';
import type { Result } from '../../crypto/result.ts';

/** Nothing runs with the peer, and nothing of a cycle that was given up is awaited. */
export function isIdle(turn: Turn, peer: string): boolean {
  const { cycle, draining } = peerOf(turn, peer);
  return cycle === undefined && draining === undefined;
}

/** Starts a cycle with an idle peer; `heads`: it said already what it holds. */
export function startCycle(turn: Turn, peer: string, asked: NextCycle): void {
  const { deadlineMs, headsOnly, views, tokens, heads } = asked;
  const number = turn.state.lastCycle + 1;
  change(turn, { lastCycle: number });
  const deadlineAt = turn.at + deadlineMs;
  const fresh = {
    heads: undefined,
    outstanding: false,
    askedAt: turn.at,
    todo: undefined,
    waits: new Map(),
    viewsDone: false,
    trust: '',
    draft: emptyDraft,
  };
  const cycle: Cycle = { number, deadlineAt, headsOnly, views, tokens, ...fresh };
  changePeer(turn, peer, { cycle });
  if (heads !== undefined) return takeHeads(turn, peer, { ok: true, value: heads });
  markAsked(turn, peer);
  const wanted = Math.min(headsDeadlineMs, remainingOf(turn, cycle));
  emit(turn, { kind: 'ask-heads', peer, cycle: number, deadlineMs: wanted });
}

/** The first answer: who it is, and what it holds. */
export function takeHeads(turn: Turn, peer: string, answer: Result<Heads, PeerFaultCode>): void {
  const fault = answer.ok ? headsFault(turn, peer, answer.value) : { code: answer.code, detail: answer.detail };
  if (fault !== undefined) noteFault(turn, peer, fault);
  if (fault !== undefined || !answer.ok) return finishCycle(turn, peer);
  const heads = answer.value;
  changePeer(turn, peer, { said: heads });
  changeCycle(turn, peer, { heads });
  noteAlarms(turn, peer, remarksOf(turn, peer));
  if (lookAtOwnLog(turn, peer, heads)) continueAfterOwn(turn, peer);
}

function remarksOf(turn: Turn, peer: string): readonly MeshAlarm[] {
  const remarks = [...peerOf(turn, peer).memory.remarks.values()];
  return remarks.flatMap(({ alarm, until }) => (until > turn.at ? alarm : []));
}

function headsFault({ world }: Turn, peer: string, heads: Heads): PeerFault | undefined {
  if (heads.mesh !== world.meshId)
    return { code: 'FOREIGN_MESH', detail: `it belongs to mesh ${heads.mesh.slice(0, 12)}` };
  return heads.host === peer ? undefined : { code: 'PROTOCOL', detail: `it calls itself ${heads.host}` };
}

export function continueAfterOwn(turn: Turn, peer: string): void {
  const { cycle } = peerOf(turn, peer);
  if (cycle?.heads === undefined) return;
  if (cycle.headsOnly || mustEnd(turn, peer)) return finishCycle(turn, peer);
  if (lookAtTrust(turn, peer, cycle.heads)) continueAfterTrust(turn, peer);
}

export function continueAfterTrust(turn: Turn, peer: string): void {
  const { cycle } = peerOf(turn, peer);
  if (cycle?.heads === undefined) return;
  listLogs(turn, peer, cycle.heads);
  continueWithLogs(turn, peer);
}

export function continueWithLogs(turn: Turn, peer: string): void {
  if (peerOf(turn, peer).cycle?.todo === undefined) return;
  if (mustEnd(turn, peer)) return finishCycle(turn, peer);
  if (continueLogs(turn, peer)) continueWithViews(turn, peer);
}

export function continueWithViews(turn: Turn, peer: string): void {
  if (mustEnd(turn, peer) || lookAtViews(turn, peer)) finishCycle(turn, peer);
}

/** Nothing more is asked of a peer that broke off, and nothing of anybody once this host stops. */
function mustEnd(turn: Turn, peer: string): boolean {
  if (turn.state.closed) noteFault(turn, peer, { code: 'CLOSED', detail: 'this host is stopping' });
  const fault = peerOf(turn, peer).cycle?.draft.fault;
  return fault !== undefined && isDown(fault.code);
}

/** This machine failed: that is told above whatever else there is. */
export function failCycle(turn: Turn, peer: string, detail: string): void {
  overrule(turn, peer, { code: 'LOCAL', detail });
  finishCycle(turn, peer);
}

/** Gives up what has lasted too long; an answer that is still to come will be passed over. */
export function giveUpIfLate(turn: Turn, peer: string): void {
  const { cycle } = peerOf(turn, peer);
  if (cycle === undefined || turn.at < cycle.deadlineAt + cycleGiveUpMs) return;
  emit(turn, { kind: 'give-up', peer, cycle: cycle.number });
  if (cycle.outstanding) changePeer(turn, peer, { draining: cycle.number });
  overrule(turn, peer, { code: 'TIMEOUT', detail: 'it was not done in time' });
  finishCycle(turn, peer);
}

function overrule(turn: Turn, peer: string, fault: PeerFault): void {
  const { cycle } = peerOf(turn, peer);
  if (cycle !== undefined) changeCycle(turn, peer, { draft: { ...cycle.draft, fault } });
}

function finishCycle(turn: Turn, peer: string): void {
  const { cycle, draining } = peerOf(turn, peer);
  if (cycle === undefined) return;
  stopLooking(turn, peer);
  if (draining === undefined) endFetch(turn, peer, cycle.number);
  const outcome = outcomeOf(peer, cycle);
  noteOutcome(turn, peer, outcome);
  changePeer(turn, peer, { cycle: undefined });
  emit(turn, { kind: 'outcome', outcome, tokens: cycle.tokens });
  if (outcome.state !== 'down') watch(turn, peer);
  if (draining === undefined) startNext(turn, peer);
}

/** A peer that was reached is watched from then on. */
function watch(turn: Turn, peer: string): void {
  const { options, closed } = turn.state;
  const known = peerOf(turn, peer);
  if (!options.watches || closed || known.said === undefined || known.watch === 'open' || turn.at < known.watch) return;
  changePeer(turn, peer, { watch: 'open' });
  emit(turn, { kind: 'watch', peer });
}

/** One that would not be watched is not asked at once again; one that went away is, when it is reached again. */
export function endWatch(turn: Turn, peer: string, refused: boolean): void {
  if (peerOf(turn, peer).watch === 'open') changePeer(turn, peer, { watch: refused ? turn.at + watchAgainMs : 0 });
}

/** What was asked for while the last cycle ran. */
export function startNext(turn: Turn, peer: string): void {
  const { next } = peerOf(turn, peer);
  if (next === undefined || nextFrom(peerOf(turn, peer)) > turn.at) return;
  changePeer(turn, peer, { next: undefined });
  startCycle(turn, peer, next);
}

function noteOutcome(turn: Turn, peer: string, outcome: PeerOutcome): void {
  const before = peerOf(turn, peer);
  const { state, reason } = outcome;
  const since = before.state === state ? before.since : turn.at;
  const reached = outcome.heads !== undefined;
  const ours = reason?.code === 'LOCAL' || reason?.code === 'NO_ADDRESS' || reason?.code === 'CLOSED';
  const failures = reached || ours ? 0 : before.failures + 1;
  changePeer(turn, peer, { state, since, reason, failures, notBefore: failures === 0 ? 0 : backOff(turn, failures) });
  const { catchUp } = turn.state;
  if (catchUp?.peers?.has(peer) !== true) return;
  const peers = new Set(catchUp.peers);
  peers.delete(peer);
  change(turn, { catchUp: { ...catchUp, peers } });
}

/** Twice as long after each failure, spread by half, so that hosts that lost each other do not meet in step. */
function backOff(turn: Turn, failures: number): number {
  const delay = Math.min(backOffMaxMs, backOffMs * 2 ** Math.min(failures - 1, 30));
  return turn.at + Math.round(delay * (0.75 + drawRandom(turn) / 2));
}
