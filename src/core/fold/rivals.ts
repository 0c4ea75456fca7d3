/**
 * The rivals of a claim T: claims that take part, of overlapping scope and another key, that neither a signed event nor a
 * purge withdrew.
 * Kept in groups by scope and key, so that rivals in all, or rivals in a set, are counted without listing them.
 * Source: docs/fold.md R3.7.
 */
import { bitCount, commonCount, emptyRow, hasBit, setBit, type BitRow } from './bit-row.ts';
import { isClaim, takesPart, type EventNode } from './node.ts';

/** Some contestants, by number; `mask` has their bits once somebody asked for it. */
interface Group {
  readonly numbers: number[];
  mask: BitRow | null;
}

interface Bucket {
  readonly all: Group;
  readonly keys: Map<number, Group>;
}

/** The claims of a subject that can be rivals of some other, numbered. */
export interface Contestants {
  readonly numberOf: ReadonlyMap<EventNode, number>;
  readonly every: Bucket;
  readonly scopes: ReadonlyMap<string, Bucket>;
}

/** Contestants among `nodes`. Pure. */
export function contestantsOf(nodes: Iterable<EventNode>): Contestants {
  const numberOf = new Map<EventNode, number>();
  const every = emptyBucket();
  const scopes = new Map<string, Bucket>();
  for (const node of nodes) {
    if (!isClaim(node) || !takesPart(node) || node.withdrawnBySigned || node.purge !== null) continue;
    const bucket = scopes.get(node.scope) ?? emptyBucket();
    scopes.set(node.scope, bucket);
    for (const { all, keys } of [every, bucket]) {
      const group = keys.get(node.key) ?? emptyGroup();
      keys.set(node.key, group);
      all.numbers.push(numberOf.size);
      group.numbers.push(numberOf.size);
    }
    numberOf.set(node, numberOf.size);
  }
  return { numberOf, every, scopes };
}

/** How many of the contestants are rivals of `target`. */
export function countRivals(contestants: Contestants, target: EventNode): number {
  return countBy(contestants, target, ({ numbers }) => numbers.length);
}

/** How many of the contestants in `row` are rivals of `target`. At most a few steps per word of the row. */
export function countRivalsIn(row: BitRow, contestants: Contestants, target: EventNode): number {
  const total = contestants.numberOf.size;
  return countBy(contestants, target, (group) => {
    if (group.numbers.length === total) return bitCount(row);
    if (group.numbers.length <= row.length) return group.numbers.reduce((sum, bit) => sum + hasBit(row, bit), 0);
    // Fewer than 32 groups of one kind are that large, so the masks cost no more than a few rows.
    group.mask ??= maskOf(group, total);
    return commonCount(row, group.mask);
  });
}

function countBy({ every, scopes }: Contestants, { scope, key }: EventNode, size: (group: Group) => number): number {
  const others = (bucket: Bucket | undefined): number => {
    if (bucket === undefined) return 0;
    const same = bucket.keys.get(key);
    return size(bucket.all) - (same === undefined ? 0 : size(same));
  };
  return scope === '*' ? others(every) : others(scopes.get('*')) + others(scopes.get(scope));
}

function maskOf({ numbers }: Group, total: number): BitRow {
  const mask = emptyRow(total);
  for (const bit of numbers) setBit(mask, bit);
  return mask;
}

function emptyBucket(): Bucket {
  return { all: emptyGroup(), keys: new Map() };
}

function emptyGroup(): Group {
  return { numbers: [], mask: null };
}
