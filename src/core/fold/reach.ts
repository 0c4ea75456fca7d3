/**
 * *Undisputed*, of R3 pass 2: every rival of a claim T is below T by edges in effect, or above T by edges that hold by
 * authority or are eligible revisions. Source: docs/fold.md R3.7.
 *
 * Counts decide it: rivals in all against rivals below and above, which cannot be the same. Most disputed claims are
 * refused before anything is walked, because a rival is not even connected with T. For the rest, one sweep upwards and
 * one downwards over the graph gather what is reachable as rows of bits. A row is handed on at its last use, so a long
 * chain of revisions is one row that grows; a walk per claim would be quadratic there.
 */
import { addRow, emptyRow, setBit, type BitRow } from './bit-row.ts';
import { contestantsOf, countRivals, countRivalsIn, type Contestants } from './rivals.ts';
import type { EventNode, SubjectEvents } from './node.ts';

/** The verdicts on the targets of one subject, asked for in order. */
export interface Reach {
  /** Everything that has to be swept, each node after all nodes below it. */
  readonly order: readonly EventNode[];
  /** For each node of `order` in turn, once all revisions of the nodes before it are in effect: is it undisputed? */
  readonly sweep: (node: EventNode) => boolean;
}

/** `revisers` and `revises` of the nodes must be set. `nextMark` gives numbers that no node carries yet. */
export function reachOf(subject: SubjectEvents, nextMark: () => number): Reach {
  const contestants = contestantsOf(subject.events);
  const targets = connectedTargets(subject, contestants, nextMark());
  const order = sortFirst(targets, belowOf, nextMark());
  const rivalsAbove = countAbove(targets, contestants, nextMark());
  const rows = rowKeeper(contestants, usesIn(order, belowOf));
  const sweep = (node: EventNode): boolean => {
    const row = rows.rowOf(node, node.reaches, belowOf(node));
    const above = rivalsAbove.get(node);
    if (above === undefined) return false;
    return above + countRivalsIn(row, contestants, node) === countRivals(contestants, node);
  };
  return { order, sweep };
}

type Neighbours = (node: EventNode) => readonly EventNode[];

const belowOf: Neighbours = (node) => joined(node.reaches, node.revises);
const aboveOf: Neighbours = (node) => joined(node.by, node.revisers).filter(({ subject }) => subject === node.subject);

/** Targets whose every rival is at least connected with them, in whatever direction. */
function connectedTargets(subject: SubjectEvents, all: Contestants, mark: number): readonly EventNode[] {
  const connected: EventNode[] = [];
  for (const start of subject.events) {
    if (start.mark === mark || start.revisers.length === 0) continue;
    const component = gather(start, mark);
    const near = contestantsOf(component);
    for (const node of component) {
      if (node.revisers.length > 0 && countRivals(near, node) === countRivals(all, node)) connected.push(node);
    }
  }
  return connected;
}

function gather(start: EventNode, mark: number): readonly EventNode[] {
  const component: EventNode[] = [];
  const stack = [start];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (node.mark === mark) continue;
    node.mark = mark;
    component.push(node);
    for (const next of aboveOf(node)) stack.push(next);
    for (const next of belowOf(node)) stack.push(next);
  }
  return component;
}

function countAbove(
  targets: readonly EventNode[],
  contestants: Contestants,
  mark: number,
): ReadonlyMap<EventNode, number> {
  const counts = new Map<EventNode, number>();
  const isTarget = new Set(targets);
  const order = sortFirst(targets, aboveOf, mark);
  const rows = rowKeeper(contestants, usesIn(order, aboveOf));
  for (const node of order) {
    const above = aboveOf(node);
    const row = rows.rowOf(node, above, above);
    if (isTarget.has(node)) counts.set(node, countRivalsIn(row, contestants, node));
  }
  return counts;
}

interface RowKeeper {
  /** What `node` reaches through `through`. `uses` are the neighbours whose rows this was one of the uses of. */
  readonly rowOf: (node: EventNode, through: readonly EventNode[], uses: readonly EventNode[]) => BitRow;
}

/** Builds rows in order; at the last use of a row it becomes that of its user, or is dropped. */
function rowKeeper({ numberOf }: Contestants, usesLeft: Map<EventNode, number>): RowKeeper {
  const rows = new Map<EventNode, BitRow>();
  const isLastUse = (node: EventNode): boolean => usesLeft.get(node) === 1;
  const rowOf: RowKeeper['rowOf'] = (node, through, uses) => {
    const heirloom = through.find((next) => isLastUse(next) && rows.has(next));
    const row = (heirloom && rows.get(heirloom)) ?? emptyRow(numberOf.size);
    for (const next of through) {
      const reached = next === heirloom ? undefined : rows.get(next);
      if (reached !== undefined) addRow(row, reached);
      const number = numberOf.get(next);
      if (number !== undefined) setBit(row, number);
    }
    for (const next of uses) {
      if (isLastUse(next)) rows.delete(next);
      usesLeft.set(next, (usesLeft.get(next) ?? 0) - 1);
    }
    if ((usesLeft.get(node) ?? 0) > 0) rows.set(node, row);
    return row;
  };
  return { rowOf };
}

/** How often each node is a neighbour of one in `order`. */
function usesIn(order: readonly EventNode[], neighboursOf: Neighbours): Map<EventNode, number> {
  const uses = new Map<EventNode, number>();
  for (const node of order) for (const next of neighboursOf(node)) uses.set(next, (uses.get(next) ?? 0) + 1);
  return uses;
}

/** The nodes reachable from `starts`, each after all its neighbours. Explicit stack: paths may be as long as a log. */
function sortFirst(starts: readonly EventNode[], neighboursOf: Neighbours, mark: number): readonly EventNode[] {
  const order: EventNode[] = [];
  for (const start of starts) {
    if (start.mark === mark) continue;
    start.mark = mark;
    const stack = [{ node: start, left: [...neighboursOf(start)] }];
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const next = top.left.pop();
      if (next === undefined) {
        order.push(top.node);
        stack.pop();
      } else if (next.mark !== mark) {
        next.mark = mark;
        stack.push({ node: next, left: [...neighboursOf(next)] });
      }
    }
  }
  return order;
}

/** Each node once: a revision that was put in effect is in both lists. */
function joined(a: readonly EventNode[], b: readonly EventNode[]): readonly EventNode[] {
  if (b.length === 0) return a;
  return a.length === 0 ? b : [...new Set([...a, ...b])];
}
