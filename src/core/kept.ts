/** Lists that stay. */

/**
 * The same items in a list that takes no more room than they do: what `push`, `flatMap` and `filter` make has 17 places
 * at least, and of empty lists one serves all. Pure.
 */
export function kept<T>(list: readonly T[]): readonly T[] {
  return list.length === 0 ? nothing : list.slice();
}

const nothing: readonly never[] = [];

/**
 * The list with one more item: a new list while it is short, else the same list, grown. A push onto a short list reserves
 * 17 places, and most lists of a fold are short for ever.
 */
export function grown<T>(list: readonly T[], item: T): readonly T[] {
  // A literal that spreads a list and adds to it reserves as much as a push.
  if (list.length < shortListMax) return list.length === 0 ? [item] : list.concat([item]);
  (list as T[]).push(item);
  return list;
}

/** Items up to which a list is copied to grow: what is copied in all stays less than what a push would reserve. */
const shortListMax = 8;
