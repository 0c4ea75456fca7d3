/** Sync cycles: every peer side by side, then what is known of them. */
import type { PeerOutcome } from '../../mesh/node.ts';
import { requireSoundTrust } from '../beliefs/beliefs.ts';
import type { Engine } from '../engine.ts';

/** Fetches from peers because somebody asked, view journals too: also from one that is at work already, afterwards. Never rejects because of a peer. */
export async function runCycle(engine: Engine, only?: readonly string[]): Promise<readonly PeerOutcome[]> {
  await prepare(engine);
  return engine.peers.cycle({ busy: 'wait', views: true, ...(only === undefined ? {} : { only }) });
}

/** The schedule is due. `slept`: this machine was suspended since the last time. */
export async function runSchedule(engine: Engine, slept: boolean): Promise<void> {
  await engine.writeAgain();
  await prepare(engine);
  engine.peers.schedule(slept);
}

/** A peer dialled us: one that could not be reached is there again. Never throws; the schedule comes anyway. */
export function meetPeer(engine: Engine, peer: string): void {
  prepare(engine).then(
    () => engine.peers.met(peer),
    (error: unknown) => engine.log?.debug({ err: error, peer }, 'not asked back'),
  );
}

/** A peer offers to be asked over the connection that it opened. Never throws. */
export function askBack(engine: Engine, peer: string): void {
  prepare(engine).then(
    () => engine.peers.askBack(peer),
    (error: unknown) => engine.log?.debug({ err: error, peer }, 'not asked back'),
  );
}

/** What is held here is known before anybody is asked. Throws BRANCH_REWOUND: such a host fetches nothing. */
async function prepare(engine: Engine): Promise<void> {
  await engine.beliefs.fold();
  await engine.journal.load();
  await recheckCuts(engine);
  await engine.purger.retry();
  // It may take long, and nothing waits for it.
  void engine.maintenance.retry();
  // The own log may have been lost: then it comes back from a peer. Without the trust set nobody can be asked.
  requireSoundTrust(engine.beliefs);
  await engine.recovery.settle(() => undefined);
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
