/** What is asked of a peer once the cycle that runs is over. */
import { cycleDeadlineMs } from '../limits.ts';
import { restsUntil } from './patience.ts';
import type { NextCycle, PeerState } from './state.ts';
import { changePeer, peerOf, type Turn } from './turn.ts';

/** A cycle that nobody asked for. */
export const unasked: NextCycle = {
  deadlineMs: cycleDeadlineMs,
  headsOnly: false,
  views: false,
  tokens: [],
  heads: undefined,
};

/** However many ask meanwhile, there is one cycle afterwards. */
export function askAfterwards(turn: Turn, peer: string, asked: NextCycle): void {
  const { next } = peerOf(turn, peer);
  if (next === undefined) return changePeer(turn, peer, { next: asked });
  changePeer(turn, peer, {
    next: {
      deadlineMs: Math.max(next.deadlineMs, asked.deadlineMs),
      headsOnly: next.headsOnly && asked.headsOnly,
      views: next.views || asked.views,
      tokens: [...next.tokens, ...asked.tokens],
      // Whoever asks wants what the peer holds now; what it said unasked may be older than that.
      heads: asked.tokens.length === 0 && next.tokens.length === 0 ? asked.heads : undefined,
      notBefore: Math.min(next.notBefore ?? 0, asked.notBefore ?? 0),
    },
  });
}

/** Another cycle at that time: lines are held back until then. */
export function askAgainAt(turn: Turn, peer: string, at: number): void {
  askAfterwards(turn, peer, { ...unasked, notBefore: at });
}

/** When what is to come next may start; 0 at once. Pure. */
export function nextFrom({ next, debt }: Pick<PeerState, 'next' | 'debt'>): number {
  if (next === undefined || next.tokens.length > 0 || next.headsOnly) return 0;
  return Math.max(restsUntil(debt), next.notBefore ?? 0);
}
