/** Lists that stay. */

/**
 * The same items in a list that takes no more room than they do: what `push`, `flatMap` and `filter` make has 17 places
 * at least, and of empty lists one serves all. Pure.
 */
export function kept<T>(list: readonly T[]): readonly T[] {
  return list.length === 0 ? nothing : list.slice();
}

const nothing: readonly never[] = [];
