/** One step being worked out: the state so far and the effects so far. Lives within one call of `step`. */
import type { MeshAlarm, PeerFault } from './peer.ts';
import { unknownPeer, type Cycle, type Draft, type PeerState, type SyncState } from './state.ts';
import type { Effect, SyncInput, World } from './vocabulary.ts';

export interface Turn {
  readonly at: number;
  readonly world: World;
  readonly effects: Effect[];
  state: SyncState;
}

export function openTurn(state: SyncState, { at, world }: Pick<SyncInput, 'at' | 'world'>): Turn {
  return { at, world, effects: [], state };
}

export function emit(turn: Turn, ...effects: readonly Effect[]): void {
  turn.effects.push(...effects);
}

export function change(turn: Turn, changes: Partial<SyncState>): void {
  turn.state = { ...turn.state, ...changes };
}

export function peerOf(turn: Turn, peer: string): PeerState {
  return turn.state.peers.get(peer) ?? unknownPeer;
}

export function changePeer(turn: Turn, peer: string, changes: Partial<PeerState>): void {
  const peers = new Map(turn.state.peers).set(peer, { ...peerOf(turn, peer), ...changes });
  change(turn, { peers });
}

export function changeCycle(turn: Turn, peer: string, changes: Partial<Cycle>): void {
  const { cycle } = peerOf(turn, peer);
  if (cycle !== undefined) changePeer(turn, peer, { cycle: { ...cycle, ...changes } });
}

/** Something is asked of the peer now. */
export function markAsked(turn: Turn, peer: string): void {
  changeCycle(turn, peer, { outstanding: true, askedAt: turn.at });
}

function changeDraft(turn: Turn, peer: string, changes: (draft: Draft) => Partial<Draft>): void {
  const { cycle } = peerOf(turn, peer);
  if (cycle !== undefined) changeCycle(turn, peer, { draft: { ...cycle.draft, ...changes(cycle.draft) } });
}

export function noteAlarms(turn: Turn, peer: string, alarms: readonly MeshAlarm[]): void {
  if (alarms.length > 0) changeDraft(turn, peer, (draft) => ({ alarms: [...draft.alarms, ...alarms] }));
}

/** The first fault stays. */
export function noteFault(turn: Turn, peer: string, fault: PeerFault): void {
  changeDraft(turn, peer, (draft) => ({ fault: draft.fault ?? fault }));
}

export function noteLines(turn: Turn, peer: string, taken: { readonly log: string; readonly lines: number }): void {
  const { log, lines } = taken;
  if (lines > 0)
    changeDraft(turn, peer, (draft) => ({ lines: { ...draft.lines, [log]: (draft.lines[log] ?? 0) + lines } }));
}

export function noteTrust(turn: Turn, peer: string, trustAdded: readonly string[]): void {
  changeDraft(turn, peer, () => ({ trustAdded }));
}

/** Milliseconds that a cycle still has, at least 1. */
export function remainingOf({ at }: Turn, { deadlineAt }: Cycle): number {
  return Math.max(1, deadlineAt - at);
}

/** A number in [0, 1), drawn from the state (mulberry32). */
export function drawRandom(turn: Turn): number {
  const random = (turn.state.random + 0x6d2b79f5) >>> 0;
  change(turn, { random });
  let mixed = Math.imul(random ^ (random >>> 15), random | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
}
