/** Seeded random numbers for tests and drills (mulberry32): the same seed gives the same run everywhere. */

export interface Random {
  readonly seed: number;
  /** In [0, 1). */
  next(): number;
  /** Integer in [0, below). */
  below(below: number): number;
  pick<T>(items: readonly T[]): T;
}

/** The numbers alone. */
export function randomFrom(seed: number): () => number {
  return createRandom(seed).next;
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (count: number): number => Math.floor(next() * count);
  return {
    seed,
    next,
    below,
    pick: (items) => {
      const item = items[below(items.length)];
      if (item === undefined) throw new Error('pick from an empty list');
      return item;
    },
  };
}
