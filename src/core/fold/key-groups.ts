/** Claims by key, and handing them out once. */
import type { EventNode } from './node.ts';

/** Claims by key. */
export type KeyGroups = ReadonlyMap<number, readonly EventNode[]>;

/** Groups the claims by key, in their order. Pure. */
export function keyGroups(claims: Iterable<EventNode>): KeyGroups {
  const groups = new Map<number, EventNode[]>();
  for (const node of claims) {
    const group = groups.get(node.key);
    if (group === undefined) groups.set(node.key, [node]);
    else group.push(node);
  }
  return groups;
}

/**
 * Hands out claims that many ask for in turn, each of them once. What stays behind has the key that the last one excepted
 * or was excepted by itself: asking again costs no more than the exceptions of the one before.
 */
export interface Handout {
  /** Those not handed out yet, but for those of the key `except` (null: of every key) and those that `isKept` holds back. */
  readonly take: (except: number | null, isKept?: (node: EventNode) => boolean) => readonly EventNode[];
  /** Those of this key. */
  readonly takeKey: (key: number) => readonly EventNode[];
}

/** A handout of these claims. */
export function handout(groups: KeyGroups): Handout {
  const left = new Map(groups);
  const takeKey = (key: number, isKept?: (node: EventNode) => boolean): readonly EventNode[] => {
    const group = left.get(key) ?? [];
    const kept = isKept === undefined ? [] : group.filter(isKept);
    if (kept.length === 0) left.delete(key);
    else left.set(key, kept);
    return isKept === undefined ? group : group.filter((node) => !isKept(node));
  };
  const take: Handout['take'] = (except, isKept) =>
    [...left.keys()].filter((key) => key !== except).flatMap((key) => takeKey(key, isKept));
  return { take, takeKey: (key) => takeKey(key) };
}
