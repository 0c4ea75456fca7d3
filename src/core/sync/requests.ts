/** What starts cycles: the schedule, somebody who asks, a peer that says what it holds, a peer that dials us. */
import { catchUpMs, refusalForgetMs } from '../limits.ts';
import { isIdle, startCycle } from './cycle.ts';
import { askAfterwards, unasked } from './next.ts';
import { faultOutcome } from './outcome.ts';
import { rests } from './patience.ts';
import type { Heads, PeerFault } from './peer.ts';
import type { NextCycle } from './state.ts';
import { change, changePeer, emit, peerOf, type Turn } from './turn.ts';
import type { CycleRequest, SyncEvent } from './vocabulary.ts';

/** Every peer whose back-off is over and that is not at work already. After a sleep, every one. */
export function runSchedule(turn: Turn, slept: boolean): void {
  const { catchUp } = turn.state;
  const peers = forgetOthers(turn);
  if (slept || (catchUp !== null && catchUp.peers === undefined))
    change(turn, { catchUp: { peers: new Set(peers), until: turn.at + catchUpMs } });
  for (const peer of peers) {
    if (slept && isIdle(turn, peer)) {
      changePeer(turn, peer, { failures: 0, notBefore: 0 });
      emit(turn, { kind: 'hang-up', peer });
    }
    if (peerOf(turn, peer).cycle?.headsOnly === true) askAfterwards(turn, peer, unasked);
    else if (isIdle(turn, peer) && mayBeAsked(turn, peer)) startCycle(turn, peer, unasked);
  }
}

function mayBeAsked(turn: Turn, peer: string): boolean {
  return turn.at >= peerOf(turn, peer).notBefore && !rests(turn, peer);
}

/** Back-off is for the schedule: whoever asks is answered by a real attempt. */
export function requestCycle(turn: Turn, request: CycleRequest): void {
  const peers = forgetOthers(turn);
  for (const peer of request.only ?? peers) requestOne(turn, peer, request);
}

function requestOne(
  turn: Turn,
  peer: string,
  { token, deadlineMs, headsOnly, views = false, busy }: CycleRequest,
): void {
  const refuse = (reason: PeerFault): void =>
    emit(turn, { kind: 'outcome', outcome: faultOutcome(peer, reason), tokens: [token] });
  if (turn.state.closed) return refuse({ code: 'CLOSED', detail: 'this host is stopping' });
  const why = turn.world.whyNoPeer(peer);
  if (why !== undefined) return refuse({ code: 'NOT_ENROLLED', detail: why });
  const asked: NextCycle = { deadlineMs, headsOnly, views, tokens: [token], heads: undefined };
  if (isIdle(turn, peer)) return startCycle(turn, peer, asked);
  // A quick question of our own is no reason to turn anybody away.
  if (busy === 'wait' || peerOf(turn, peer).cycle?.headsOnly === true) return askAfterwards(turn, peer, asked);
  if (busy === 'skip') return emit(turn, { kind: 'skipped', peer, token });
  refuse({ code: 'TIMEOUT', detail: 'its last cycle is still running' });
}

/** It says what it holds. The same as last time, after a cycle that went well, is nothing at all. */
export function takeNudge(turn: Turn, peer: string, heads: Heads): void {
  if (turn.state.closed || !turn.world.peers().includes(peer)) return;
  const { said, state, cycle, next } = peerOf(turn, peer);
  const repeated = said !== undefined && JSON.stringify(said) === JSON.stringify(heads);
  if (repeated && state === 'up' && cycle === undefined && next === undefined) return;
  changePeer(turn, peer, { failures: 0, notBefore: 0 });
  const asked: NextCycle = { ...unasked, heads };
  if (isIdle(turn, peer) && !rests(turn, peer)) startCycle(turn, peer, asked);
  else askAfterwards(turn, peer, asked);
}

/** It is there again: no reason to wait for the end of its back-off. */
export function meetPeer(turn: Turn, peer: string): void {
  if (turn.state.closed || !turn.world.peers().includes(peer)) return;
  const { failures } = peerOf(turn, peer);
  if (failures === 0) return;
  changePeer(turn, peer, { failures: 0, notBefore: 0 });
  if (isIdle(turn, peer) && !rests(turn, peer)) startCycle(turn, peer, unasked);
}

/** Once, at once; if it is not there, the schedule and its back-off decide as ever. */
export function reconnectPeer(turn: Turn, peer: string): void {
  if (turn.state.closed || !turn.world.peers().includes(peer) || !isIdle(turn, peer)) return;
  changePeer(turn, peer, { failures: 0, notBefore: 0 });
  if (!rests(turn, peer)) startCycle(turn, peer, unasked);
}

/** Told with the next cycles, for as long as what was refused is remembered. */
export function noteRemark(turn: Turn, { peer, code, alarm }: Extract<SyncEvent, { kind: 'remark' }>): void {
  if (!turn.world.peers().includes(peer)) return;
  const { memory } = peerOf(turn, peer);
  if (alarm === undefined && !memory.remarks.has(code)) return;
  const remarks = new Map(memory.remarks);
  if (alarm === undefined) remarks.delete(code);
  else remarks.set(code, { alarm, until: turn.at + refusalForgetMs });
  changePeer(turn, peer, { memory: { ...memory, remarks } });
}

/** Nothing is known of a host that left the charter. @returns the peers. */
function forgetOthers(turn: Turn): readonly string[] {
  const peers = turn.world.peers();
  const gone = [...turn.state.peers.keys()].filter((peer) => !peers.includes(peer) && isIdle(turn, peer));
  if (gone.length > 0) {
    const known = new Map(turn.state.peers);
    for (const peer of gone) known.delete(peer);
    change(turn, { peers: known });
  }
  return peers;
}
