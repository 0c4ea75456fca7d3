/** How an engine ends. */
import type { HomeLock } from '../store/home/home-lock.ts';
import type { AppendQueue } from './own/append-queue.ts';
import type { PeerKeeper } from './peers/peer-keeper.ts';
import type { Engine } from './engine.ts';

/** What is under way is finished in this order; the lock is given back whatever fails. */
export function closeAll(
  parts: Pick<Engine, 'maintenance' | 'peers' | 'journal' | 'targets' | 'beliefs'> & {
    readonly queue: Pick<AppendQueue<never, never>, 'idle'>;
    readonly keeper: PeerKeeper;
    readonly lock: HomeLock;
  },
): Promise<void> {
  const { maintenance, peers, queue, journal, targets, beliefs, keeper, lock } = parts;
  return inOrder([
    () => maintenance.close(),
    () => peers.close(),
    () => queue.idle(),
    () => journal.close(),
    () => targets.close(),
    () => beliefs.close(),
    keeper.close,
  ]).finally(() => lock.release());
}

async function inOrder(steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  for (const step of steps) await step();
}
