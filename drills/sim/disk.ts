/**
 * A disk that loses power: what was written and not synced is there afterwards, or not, each write by itself. Readers of a
 * running host see every write.
 */
import type { Random } from '../../test/lib/random.ts';

export interface Disk {
  read(name: string): unknown;
  names(): readonly string[];
  write(name: string, value: unknown): void;
  /** Everything written so far is durable. */
  sync(): void;
  /** What would be there after a crash at which every write that was not synced is lost. */
  durable(name: string): unknown;
  /** Power is lost. */
  crash(random: Random): void;
  /** Another disk with what is durable on this one. */
  copy(): Disk;
}

export function openDisk(from: Iterable<readonly [string, unknown]> = []): Disk {
  const stable = new Map(from);
  let pending: (readonly [string, unknown])[] = [];
  return {
    read: (name) => pending.findLast(([written]) => written === name)?.[1] ?? stable.get(name),
    names: () => [...new Set([...stable.keys(), ...pending.map(([name]) => name)])],
    write: (name, value) => void pending.push([name, value]),
    sync() {
      for (const [name, value] of pending) stable.set(name, value);
      pending = [];
    },
    durable: (name) => stable.get(name),
    crash(random) {
      for (const [name, value] of pending) if (random.next() < 0.5) stable.set(name, value);
      pending = [];
    },
    copy: () => openDisk(stable),
  };
}
