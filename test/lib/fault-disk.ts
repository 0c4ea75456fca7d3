/** A disk that fails or "crashes the process" at the n-th operation: the fault table of every write. */
import type { Disk } from '../../src/store/disk.ts';

/**
 * `failed`: the operation does not happen and is reported. `persisted`: it happens and is reported as failed.
 * `crash before`, `crash after`: nothing at all happens from there on, as after SIGKILL.
 */
export type FaultMode = 'failed' | 'persisted' | 'crash before' | 'crash after';
export const faultModes: readonly FaultMode[] = ['failed', 'persisted', 'crash before', 'crash after'];

export interface FaultDisk extends Disk {
  /** Arms one fault at the n-th operation from now (0 = the next), or at the first whose text (`rename FROM TO`) matches. */
  arm(at: number | RegExp, mode: FaultMode): void;
  disarm(): void;
  /** Operations and their paths since `arm` or `disarm`. */
  readonly operations: readonly string[];
}

export class SimulatedFault extends Error {
  readonly code: string;
  constructor(code: string) {
    super(`simulated ${code}`);
    this.code = code;
  }
}

function describe(name: string, args: readonly unknown[]): string {
  return [name, ...args.filter((arg) => typeof arg === 'string')].join(' ');
}

export function faultDisk(inner: Disk): FaultDisk {
  let operations: string[] = [];
  let plan: { at: number | RegExp; mode: FaultMode } | undefined;
  let fired = false;
  let dead = false;

  /** Before an operation: true when it must fail after having happened. */
  const enter = (name: string): boolean => {
    if (dead) throw new SimulatedFault('EIO');
    const here =
      plan !== undefined &&
      !fired &&
      (typeof plan.at === 'number' ? plan.at === operations.length : plan.at.test(name));
    operations.push(name);
    if (!here || plan === undefined) return false;
    fired = true;
    if (plan.mode === 'failed') throw new SimulatedFault('EIO');
    if (plan.mode === 'crash before') {
      dead = true;
      throw new SimulatedFault('EIO');
    }
    return true;
  };
  const leave = (after: boolean): void => {
    if (!after) return;
    if (plan?.mode === 'crash after') dead = true;
    throw new SimulatedFault('EIO');
  };
  const sync =
    <A extends readonly unknown[], R>(name: string, work: (...args: A) => R): ((...args: A) => R) =>
    (...args) => {
      const after = enter(describe(name, args));
      const result = work(...args);
      leave(after);
      return result;
    };
  const later =
    <A extends readonly unknown[]>(
      name: string,
      work: (...args: A) => Promise<void>,
    ): ((...args: A) => Promise<void>) =>
    async (...args) => {
      const after = enter(describe(name, args));
      await work(...args);
      leave(after);
    };
  return {
    createFile: sync('createFile', inner.createFile),
    syncFile: later('syncFile', inner.syncFile),
    // Closing is no step of durability, and a leaked descriptor would outlive the test.
    closeFile: inner.closeFile,
    rename: sync('rename', inner.rename),
    makeDirectory: sync('makeDirectory', inner.makeDirectory),
    syncDirectory: later('syncDirectory', inner.syncDirectory),
    removeFile: sync('removeFile', inner.removeFile),
    arm: (at, mode) => {
      [operations, plan, dead, fired] = [[], { at, mode }, false, false];
    },
    disarm: () => {
      [operations, plan, dead, fired] = [[], undefined, false, false];
    },
    get operations() {
      return operations;
    },
  };
}
