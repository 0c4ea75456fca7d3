/**
 * The sync machine: `step(state, input) → { state, effects }`. Pure: no clock, no I/O, no randomness but what the state
 * was opened with. memd and the simulator run the same one. Source: docs/mesh.md, The machine.
 */
import {
  continueAfterOwn,
  continueAfterTrust,
  continueWithLogs,
  continueWithViews,
  endWatch,
  failCycle,
  giveUpIfLate,
  isIdle,
  startNext,
  takeHeads,
} from './cycle.ts';
import { endFetch, takeLog } from './logs.ts';
import { takeVerdict } from './own-log.ts';
import { meetPeer, noteRemark, reconnectPeer, requestCycle, runSchedule, takeNudge } from './requests.ts';
import { nextFrom } from './next.ts';
import type { Cycle, PeerState, SyncState } from './state.ts';
import { takeTrust } from './trust.ts';
import { change, changeCycle, changePeer, emit, openTurn, peerOf, type Turn } from './turn.ts';
import { takeViews } from './views.ts';
import { cycleGiveUpMs } from '../limits.ts';
import type { Effect, SyncEvent, SyncInput } from './vocabulary.ts';
import { addWaiter, progressGate, progressWaiters, queueAppend } from './waiting.ts';

export interface Step {
  readonly state: SyncState;
  readonly effects: readonly Effect[];
}

/** One step. The same state and input give the same step, always. Pure. */
export function step(state: SyncState, input: SyncInput): Step {
  const turn = openTurn(state, input);
  take(turn, input.event);
  progressGate(turn);
  progressWaiters(turn);
  progressCatchUp(turn);
  return { state: turn.state, effects: turn.effects };
}

/** When a `time` event is wanted next; undefined: nothing here waits for time. Pure. */
export function nextTime(state: SyncState): number | undefined {
  const times = [...state.peers.values()].flatMap((peer) => [
    ...(peer.cycle === undefined ? [] : timesOf(peer.cycle)),
    ...restOf(peer),
  ]);
  const { phase, until, queue } = state.own;
  if (queue.length > 0 && (phase === 'asking' || phase === 'proving')) times.push(until);
  if (state.waiters.length > 0) times.push(state.pollAt, ...state.waiters.map(({ deadlineAt }) => deadlineAt));
  if (state.catchUp?.peers !== undefined) times.push(state.catchUp.until);
  const next = Math.min(...times);
  return next === Infinity ? undefined : next;
}

/** Whether what is raised now is worth telling: after a start or a sleep, peers are asked first. Pure. */
export function isCaughtUp(state: SyncState): boolean {
  return state.catchUp === null;
}

/** When a peer that rests is heard, if it has said something meanwhile. */
function restOf(peer: PeerState): readonly number[] {
  const { cycle, draining, next } = peer;
  return next === undefined || cycle !== undefined || draining !== undefined ? [] : [nextFrom(peer)];
}

function timesOf({ deadlineAt, waits, todo, outstanding }: Cycle): readonly number[] {
  const waiting = outstanding
    ? []
    : [...waits].filter(([log]) => todo?.includes(log) === true).map(([, until]) => until);
  return [deadlineAt + cycleGiveUpMs, ...waiting];
}

function take(turn: Turn, event: SyncEvent): void {
  switch (event.kind) {
    case 'schedule':
      return turn.state.closed ? undefined : runSchedule(turn, event.slept);
    case 'cycle':
      return requestCycle(turn, event.request);
    case 'nudge':
      return takeNudge(turn, event.peer, event.heads);
    case 'unwatched':
      return endWatch(turn, event.peer, event.refused);
    case 'met':
      return meetPeer(turn, event.peer);
    case 'reconnect':
      return reconnectPeer(turn, event.peer);
    case 'remark':
      return noteRemark(turn, event);
    case 'append':
      return queueAppend(turn, { token: event.token, alone: event.alone === true });
    case 'replicate':
      return addWaiter(turn, event.wait);
    case 'time':
      return passTime(turn);
    case 'close':
      return close(turn);
    default:
      return takeAnswer(turn, event);
  }
}

type Answer = Extract<SyncEvent, { readonly cycle: number }>;

function takeAnswer(turn: Turn, answer: Answer): void {
  const { peer } = answer;
  const { cycle, draining } = peerOf(turn, peer);
  endFetch(turn, peer, answer.cycle);
  if (cycle?.number === answer.cycle) {
    changeCycle(turn, peer, { outstanding: false });
    goOn(turn, answer);
  } else if (draining === answer.cycle) {
    changePeer(turn, peer, { draining: undefined });
    startNext(turn, peer);
  }
  if (answer.kind === 'log' || answer.kind === 'failed') wakeOthers(turn);
}

function goOn(turn: Turn, answer: Answer): void {
  const { peer } = answer;
  switch (answer.kind) {
    case 'heads':
      return takeHeads(turn, peer, answer.answer);
    case 'own':
      takeVerdict(turn, peer, answer.verdict);
      return continueAfterOwn(turn, peer);
    case 'trust':
      takeTrust(turn, peer, answer.answer);
      return continueAfterTrust(turn, peer);
    case 'log':
      takeLog(turn, peer, answer);
      return continueWithLogs(turn, peer);
    case 'views':
      takeViews(turn, peer, answer.fetched);
      return continueWithViews(turn, peer);
    case 'failed':
      return failCycle(turn, peer, answer.detail);
  }
}

/** Cycles that wait for a fetch of another peer. */
function wakeOthers(turn: Turn): void {
  for (const [peer, { cycle }] of turn.state.peers) {
    if (cycle !== undefined && !cycle.outstanding && cycle.waits.size > 0) continueWithLogs(turn, peer);
  }
}

function passTime(turn: Turn): void {
  for (const peer of turn.state.peers.keys()) {
    giveUpIfLate(turn, peer);
    if (isIdle(turn, peer)) startNext(turn, peer);
  }
  wakeOthers(turn);
}

/** What runs is ended; what it answers ends its cycle, and nothing is started any more. */
function close(turn: Turn): void {
  change(turn, { closed: true });
  for (const [peer, { cycle }] of turn.state.peers) {
    changePeer(turn, peer, { next: undefined });
    if (cycle !== undefined) emit(turn, { kind: 'give-up', peer, cycle: cycle.number });
  }
  wakeOthers(turn);
}

function progressCatchUp(turn: Turn): void {
  const { catchUp } = turn.state;
  if (catchUp?.peers === undefined || (catchUp.peers.size > 0 && turn.at < catchUp.until)) return;
  change(turn, { catchUp: null });
  emit(turn, { kind: 'caught-up' });
}
