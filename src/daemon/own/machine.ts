/**
 * A home belongs to one machine. A copy of it has the same keys and the same log, and an append on both is a fork: so a home
 * that finds itself elsewhere reads, fetches and serves, and writes nothing of its own.
 */
import { isDiskShut } from '../../store/errors.ts';
import { bindMachine, checkMachine, type MachineState } from '../../store/home/machine-marker.ts';
import type { Home } from '../../store/home/home.ts';
import type { LocalFault } from '../engine.ts';
import { Refusal } from '../refusal.ts';

export interface Machine {
  /** Refuses MACHINE_CHANGED where this home was not bound. */
  readonly require: () => void;
  readonly faults: () => readonly LocalFault[];
  /** Binds the home to where it is now: its keys are new, so that no copy has them. */
  readonly bind: () => Promise<void>;
  /** Binds one that was never bound and could not be for want of room; else nothing. Errors: as `bindMachine`. */
  readonly bindLate: () => Promise<void>;
}

/** Looks where this home is. One that was never bound (made by an older version, or put back without its marker) is bound now. */
export async function openMachine(home: Home, host: string): Promise<Machine> {
  let state = checkMachine(home);
  const bind = async (): Promise<void> => {
    await bindMachine(home);
    state = 'same';
  };
  if (state === 'unbound') await bind().catch(passOverFullDisk);
  return {
    bind,
    bindLate: async () => {
      if (state === 'unbound') await bind();
    },
    require() {
      // Not bound for want of room: as a rule nothing can be appended then either.
      if (state === 'same' || state === 'unbound') return;
      throw new Refusal({
        code: 'MACHINE_CHANGED',
        message: machineText(state, host),
        hint: machineHint(host),
        exit: 6,
      });
    },
    faults: () =>
      state === 'same' || state === 'unbound' ? [] : [{ kind: 'MACHINE_CHANGED', detail: machineText(state, host) }],
  };
}

/** A full disk stops what has to be written, and nothing else. */
function passOverFullDisk(error: unknown): void {
  if (!isDiskShut(error)) throw error;
}

/** What is the matter, in one sentence. Pure. */
export function machineText(state: MachineState, host: string): string {
  const what = state === 'moved' ? 'was bound to another machine' : 'is a copy';
  return `this home of host ${host} ${what}: it is read-only, since two homes that write one log fork it`;
}

/** The two ways out. Pure. */
export function machineHint(host: string): string {
  return `to be host ${host} here, and nowhere else: memctl host recover; to be a host of its own: move this home aside, memctl host request --host NAME2`;
}
