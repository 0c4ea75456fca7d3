/** The key of a machine: a copy has that of its original, an old backup an old one. */
import { firstKeyOf, signWith } from './charter.ts';
import type { SimHost } from './types.ts';

export function keyOf({ disk, name }: SimHost): number {
  const key = disk.read('key');
  return typeof key === 'number' ? key : firstKeyOf(name);
}

/** Signs with the key of a machine. */
export function signOf(host: SimHost): (message: string) => Uint8Array {
  return signWith(keyOf(host));
}
