/**
 * R2: quarantine follows what a claim was derived from. Also the walk against `basis`, which finds everything that a
 * change of one event can touch. Chains of basis may be as long as a log: explicit stacks, no recursion.
 * Source: docs/fold.md R2 and "What an input can affect".
 */
import type { EventNode, Lineage } from './node.ts';

/** Works out the lineage of an event and of everything below it that it depends on. */
export function settleLineage(node: EventNode): Lineage {
  if (node.lineage !== undefined) return node.lineage;
  if (node.basis.length === 0) return (node.lineage = lineageOf(node));
  const stack = [node];
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    const below = nextBelow(top);
    if (below !== undefined) {
      stack.push(below);
      continue;
    }
    top.lineage ??= lineageOf(top);
    stack.pop();
  }
  return node.lineage ?? 'clean';
}

/** A cited event that has to be settled before this one; undefined when this one can be. There are no circles. */
function nextBelow(node: EventNode): EventNode | undefined {
  if (node.lineage !== undefined || isBarrier(node)) return undefined;
  return node.basis.find((cited) => cited.lineage === undefined);
}

/** A signer vouched for it as it stands, or its own word is enough: what it cites no longer matters. */
function isBarrier(node: EventNode): boolean {
  return node.level === 'signed' || node.said?.lineage === 'untrusted';
}

function lineageOf(node: EventNode): Lineage {
  if (node.level === 'signed') return 'clean';
  if (node.said?.lineage === 'untrusted') return 'untrusted';
  return node.basis.some((cited) => cited.lineage !== 'clean') ? 'untrusted-basis' : 'clean';
}

/**
 * Calls `visit` on `start` and on every event whose basis closure holds it, each once per `mark`, and forgets what was
 * worked out from their basis.
 */
export function forgetAbove(start: EventNode, mark: number, visit: (node: EventNode) => void): void {
  const stack = [start];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (node.mark === mark) continue;
    node.mark = mark;
    node.lineage = undefined;
    node.stale = undefined;
    visit(node);
    for (const citing of node.citedBy) stack.push(citing);
  }
}
