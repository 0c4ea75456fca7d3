/** What a simulated home knows of its purges, and who waits for one. */
import { hasPurgeWork, type PurgeWork } from '../../src/core/trust/purge-work.ts';
import type { Memory, Sim, SimHost } from './types.ts';

/** What is noted on the disk, and what was found there. */
export function workOf({ disk }: SimHost, { covered }: Memory): PurgeWork {
  return { noted: (disk.read('purged') ?? []) as readonly string[], covered: [...covered] };
}

/** Whether everything that is purged is out of this home: what its view lines say. */
export function isPurged(sim: Sim, host: SimHost, memory: Memory): boolean {
  if (sim.bug.saysPurgedEarly === true) return true;
  return !hasPurgeWork(memory.trust.charter.purges, workOf(host, memory));
}

/** Does `work` now, or once the purge that is at work is over. */
export function whenFree(memory: Memory | undefined, work: () => void): void {
  if (memory?.purge.working === true) memory.purge.held.push(work);
  else work();
}
