/** One sync cycle: every peer side by side, then what is known of them. */
import type { PeerOutcome } from '../mesh/node.ts';
import { requireSoundHeads } from './beliefs.ts';
import type { Engine } from './engine.ts';

/** Fetches from every peer, or from those named. Never rejects because of a peer. */
export async function runCycle(engine: Engine, only?: readonly string[]): Promise<readonly PeerOutcome[]> {
  await engine.beliefs.fold();
  requireSoundHeads(engine.beliefs);
  const outcomes = await engine.peers.cycle(only === undefined ? {} : { only });
  const now = new Date().toISOString();
  for (const outcome of outcomes) {
    const { peer, state, reason } = outcome;
    if (engine.peerBook.note(outcome, now)) engine.log?.info({ peer, state, reason }, 'peer');
  }
  return outcomes;
}
