/** Sync cycles: every peer side by side, then what is known of them. */
import { peersOf } from '../mesh/peers.ts';
import type { PeerOutcome } from '../mesh/node.ts';
import { requireSoundHeads } from './beliefs.ts';
import type { Engine } from './engine.ts';

export interface CycleRequest {
  /** These peers; default all. */
  readonly only?: readonly string[];
  /**
   * A peer whose last cycle is still running: `skip` leaves it out (the schedule comes again), `wait` fetches from it
   * afterwards (somebody asked, and wants what it holds now).
   */
  readonly busy: 'skip' | 'wait';
}

/** The cycles that run, by peer. */
const runningOfEngine = new WeakMap<Engine, Map<string, Promise<unknown>>>();

/** Fetches from peers. Never rejects because of a peer. */
export async function runCycle(engine: Engine, { only, busy }: CycleRequest): Promise<readonly PeerOutcome[]> {
  await engine.beliefs.fold();
  await recheckCuts(engine);
  requireSoundHeads(engine.beliefs);
  const running = runningOfEngine.get(engine) ?? new Map<string, Promise<unknown>>();
  runningOfEngine.set(engine, running);
  const peers = only ?? peersOf(engine.charter(), engine.identity.host);
  const outcomes = await Promise.all(
    peers.map(async (peer) => {
      if (busy === 'skip' && running.has(peer)) return [];
      while (running.has(peer)) await running.get(peer);
      const cycle = cycleWith(engine, peer).finally(() => running.delete(peer));
      running.set(peer, cycle);
      return cycle;
    }),
  );
  return outcomes.flat();
}

async function cycleWith(engine: Engine, peer: string): Promise<readonly PeerOutcome[]> {
  const outcomes = await engine.peers.cycle({ only: [peer] });
  const now = new Date().toISOString();
  for (const outcome of outcomes) {
    const { state, reason } = outcome;
    if (engine.peerBook.note(outcome, now)) engine.log?.info({ peer, state, reason }, 'peer');
  }
  return outcomes;
}

/** Reading a long log anew takes its time: then it is done more seldom. */
const recheckShare = 20;
const recheckFastMs = 500;
const nextRecheck = new WeakMap<Engine, number>();

/** What is damaged here may have been put right since, by a person or a disk that came back. */
async function recheckCuts(engine: Engine): Promise<void> {
  const start = performance.now();
  if (start < (nextRecheck.get(engine) ?? 0)) return;
  for (const { log } of engine.beliefs.book.cuts()) await engine.beliefs.recheck(log);
  const took = performance.now() - start;
  if (took > recheckFastMs) nextRecheck.set(engine, start + recheckShare * took);
}
