/**
 * A disk that loses power: what was written and not synced is there afterwards, or not, each write by itself. Readers of a
 * running host see every write. A write may also fail: nothing happened, or it happened all the same, or there is no space
 * from there on.
 */
import type { Random } from '../../test/lib/random.ts';

/** How a write goes wrong. */
export type DiskFaultKind = 'fails' | 'persists' | 'full';

/** What the program is told. It cannot tell one that failed from one that persisted. */
export class DiskFault extends Error {
  constructor(what: string) {
    super(what);
    this.name = 'DiskFault';
  }
}

export interface Disk {
  read(name: string): unknown;
  names(): readonly string[];
  write(name: string, value: unknown): void;
  /** Never fails: a full disk lets go of what is on it. */
  remove(name: string): void;
  /** Everything written so far is durable. */
  sync(): void;
  /** What would be there after a crash at which every write that was not synced is lost. */
  durable(name: string): unknown;
  /** Power is lost. */
  crash(random: Random): void;
  /** Another disk with what is durable on this one. */
  copy(): Disk;
  /** The write after so many others goes wrong. */
  break(kind: DiskFaultKind, after: number): void;
  /** Writes go well again. */
  mend(): void;
}

const removed = Symbol('removed');

export function openDisk(from: Iterable<readonly [string, unknown]> = []): Disk {
  const stable = new Map(from);
  let pending: (readonly [string, unknown])[] = [];
  let fault: { readonly kind: DiskFaultKind; left: number } | undefined;
  const settle = (name: string, value: unknown): void => {
    if (value === removed) stable.delete(name);
    else stable.set(name, value);
  };
  const read = (name: string): unknown => {
    const written = pending.findLast(([other]) => other === name);
    const value = written === undefined ? stable.get(name) : written[1];
    return value === removed ? undefined : value;
  };
  /** Ends the fault that is due, unless there is no space. */
  const dueFault = (): DiskFaultKind | undefined => {
    if (fault === undefined) return undefined;
    if (fault.left > 0) {
      fault.left -= 1;
      return undefined;
    }
    const { kind } = fault;
    if (kind !== 'full') fault = undefined;
    return kind;
  };
  return {
    read,
    names: () =>
      [...new Set([...stable.keys(), ...pending.map(([name]) => name)])].filter((name) => read(name) !== undefined),
    write(name, value) {
      const kind = dueFault();
      if (kind === undefined || kind === 'persists') pending.push([name, value]);
      if (kind !== undefined) throw new DiskFault(kind === 'full' ? 'no space' : 'input/output error');
    },
    remove: (name) => void pending.push([name, removed]),
    sync() {
      for (const [name, value] of pending) settle(name, value);
      pending = [];
    },
    durable: (name) => stable.get(name),
    crash(random) {
      for (const [name, value] of pending) if (random.next() < 0.5) settle(name, value);
      pending = [];
    },
    copy: () => openDisk(stable),
    break: (kind, after) => void (fault = { kind, left: after }),
    mend: () => void (fault = undefined),
  };
}
