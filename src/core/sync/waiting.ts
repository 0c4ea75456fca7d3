/** Those who wait for peers: writers until the own log is known, and whoever wants a line held elsewhere too. */
import { cycleDeadlineMs, replicationPollMs } from '../limits.ts';
import { isIdle, startCycle } from './cycle.ts';
import type { SignedLine } from './peer.ts';
import type { OwnGate, SyncState, Waiter } from './state.ts';
import { change, emit, peerOf, type Turn } from './turn.ts';
import type { ReplicationWait, World } from './vocabulary.ts';

/** A writer comes. The first one of a process has the peers asked what they hold of our own log. */
export function queueAppend(turn: Turn, writer: OwnGate['queue'][number]): void {
  const { own } = turn.state;
  change(turn, { own: { ...own, queue: [...own.queue, writer] } });
  if (own.phase !== 'closed') return;
  askForOwnLog(turn);
}

function askForOwnLog(turn: Turn): void {
  const { ownAskMs, ownProofMs } = turn.state.options;
  changeGate(turn, { phase: 'asking', until: turn.at + ownAskMs });
  for (const peer of turn.world.peers()) {
    if (peerOf(turn, peer).said !== undefined || !isIdle(turn, peer)) continue;
    startCycle(turn, peer, {
      deadlineMs: ownAskMs + ownProofMs,
      headsOnly: true,
      views: false,
      tokens: [],
      heads: undefined,
    });
  }
}

/** Opens the gate once every peer has said what it holds, or cannot, and no claim is being looked into, or time is over. */
export function progressGate(turn: Turn): void {
  const { own, options } = turn.state;
  if (own.phase === 'asking' && (everyPeerKnown(turn) || turn.at >= own.until)) {
    const heard =
      turn.world.peers().length === 0 || [...turn.state.peers.values()].some(({ said }) => said !== undefined);
    if (heard || options.appendAlone) changeGate(turn, { phase: 'proving', until: turn.at + options.ownProofMs });
    else {
      release(turn, (writer) => writer.alone);
      if (turn.at >= own.until) askForOwnLog(turn);
    }
  }
  const { phase, looking, until } = turn.state.own;
  if (phase === 'proving' && (looking.size === 0 || turn.at >= until)) changeGate(turn, { phase: 'open' });
  if (turn.state.own.phase === 'open') release(turn, () => true);
}

function release(turn: Turn, which: (writer: OwnGate['queue'][number]) => boolean): void {
  const { queue } = turn.state.own;
  const released = queue.filter(which);
  if (released.length === 0) return;
  changeGate(turn, { queue: queue.filter((writer) => !which(writer)) });
  for (const { token } of released) emit(turn, { kind: 'may-append', token });
}

function everyPeerKnown(turn: Turn): boolean {
  return turn.world.peers().every((peer) => {
    const { said, state } = peerOf(turn, peer);
    return said !== undefined || state !== 'unknown';
  });
}

function changeGate(turn: Turn, changes: Partial<OwnGate>): void {
  change(turn, { own: { ...turn.state.own, ...changes } });
}

export function addWaiter(turn: Turn, wait: ReplicationWait): void {
  const waiter: Waiter = { ...wait, deadlineAt: turn.at + wait.deadlineMs };
  const pollAt = turn.state.waiters.length === 0 ? turn.at : turn.state.pollAt;
  change(turn, { waiters: [...turn.state.waiters, waiter], pollAt });
}

/** Releases whoever has what they wait for, or has waited long enough; asks peers again that may hold it by now. */
export function progressWaiters(turn: Turn): void {
  if (turn.state.waiters.length === 0) return;
  const left = turn.state.waiters.filter((waiter) => {
    const peers = holdersOf(turn.state, turn.world, waiter.line);
    const enough = peers.length >= waiter.peers;
    if (!enough && turn.at < waiter.deadlineAt && !turn.state.closed) return true;
    emit(turn, { kind: 'replicated', token: waiter.token, peers, enough });
    return false;
  });
  change(turn, { waiters: left });
  if (left.length === 0 || turn.at < turn.state.pollAt) return;
  change(turn, { pollAt: turn.at + replicationPollMs });
  for (const peer of turn.world.peers()) {
    const waiting = left.some(({ line }) => !holdersOf(turn.state, turn.world, line).includes(peer));
    if (!waiting || !isIdle(turn, peer) || turn.at < peerOf(turn, peer).notBefore) continue;
    startCycle(turn, peer, {
      deadlineMs: cycleDeadlineMs,
      headsOnly: false,
      views: false,
      tokens: [],
      heads: undefined,
    });
  }
}

/**
 * The peers whose last word was that they hold a line of our own log: at least as many lines as that, the last of them
 * one of ours. Sorted. Pure.
 */
export function holdersOf(
  state: SyncState,
  world: Pick<World, 'host' | 'linkAt'>,
  { seq, link }: SignedLine,
): readonly string[] {
  if (world.linkAt(world.host, seq) !== link) return [];
  const holders: string[] = [];
  for (const [peer, { said }] of state.peers) {
    const tip = said?.heads[world.host];
    if (tip !== undefined && tip.seq >= seq && world.linkAt(world.host, tip.seq) === tip.link) holders.push(peer);
  }
  return holders.toSorted((a, b) => (a < b ? -1 : 1));
}
