/**
 * Counting rivals without listing them: the rivals of a claim T are the claims that take part, of overlapping scope and
 * another key, that no signed event withdrew. Source: docs/fold.md R3, undisputed.
 */
import { isClaim, takesPart, type EventNode } from './node.ts';

interface Bucket {
  count: number;
  readonly keys: Map<number, number>;
}

/** Possible rivals of any claim of a subject, counted by scope and key. */
export interface RivalTally {
  readonly every: Bucket;
  readonly scopes: Map<string, Bucket>;
}

/** True iff the event can be a rival of another one. Pure. */
export function canRival(node: EventNode): boolean {
  return isClaim(node) && takesPart(node) && !node.withdrawnBySigned;
}

/** True iff `node` is a rival of `target`. Pure. */
export function isRivalOf(target: EventNode, node: EventNode): boolean {
  return node.key !== target.key && overlaps(node.scope, target.scope) && canRival(node);
}

/** Tally of those of `nodes` that can be rivals. Pure. */
export function tallyOf(nodes: Iterable<EventNode>): RivalTally {
  const tally: RivalTally = { every: emptyBucket(), scopes: new Map() };
  for (const node of nodes) {
    if (!canRival(node)) continue;
    addTo(tally.every, node.key);
    addTo(bucketOf(tally, node.scope), node.key);
  }
  return tally;
}

/** How many of the tally are rivals of `target`. Pure. */
export function countRivals(tally: RivalTally, target: EventNode): number {
  if (target.scope === '*') return others(tally.every, target.key);
  return others(tally.scopes.get('*'), target.key) + others(tally.scopes.get(target.scope), target.key);
}

function overlaps(a: string, b: string): boolean {
  return a === b || a === '*' || b === '*';
}

function bucketOf(tally: RivalTally, scope: string): Bucket {
  const known = tally.scopes.get(scope);
  if (known !== undefined) return known;
  const bucket = emptyBucket();
  tally.scopes.set(scope, bucket);
  return bucket;
}

function emptyBucket(): Bucket {
  return { count: 0, keys: new Map() };
}

function addTo(bucket: Bucket, key: number): void {
  bucket.count += 1;
  bucket.keys.set(key, (bucket.keys.get(key) ?? 0) + 1);
}

function others(bucket: Bucket | undefined, key: number): number {
  return bucket === undefined ? 0 : bucket.count - (bucket.keys.get(key) ?? 0);
}
