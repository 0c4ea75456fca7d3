/**
 * *Undisputed*, of R3 pass 2: every rival of a claim T is below T by edges in effect, or above T by edges that hold by
 * authority or are eligible revisions. Source: docs/fold.md R3.
 *
 * Counts decide it: rivals in all against rivals met when walking down and up from T, which cannot meet the same one
 * twice. Most disputed claims are refused before any walk, because a rival is not even connected with T.
 */
import { countRivals, isRivalOf, tallyOf, type RivalTally } from './rivals.ts';
import type { EventNode, SubjectEvents } from './node.ts';

/** What pass 2 asks about the targets of the eligible revisions of one subject. */
export interface Reach {
  /** The targets, each after every target below it. */
  readonly targetsFirst: readonly EventNode[];
  /** Valid for a target once the revisions of all targets before it are in effect. */
  readonly isUndisputed: (target: EventNode) => boolean;
}

/** `nextMark` gives numbers that no node carries yet. `revisers` and `revises` of the nodes must be set. */
export function reachOf(subject: SubjectEvents, nextMark: () => number): Reach {
  const targets = subject.events.filter((node) => node.revisers.length > 0);
  const everywhere = tallyOf(subject.events);
  const components = tallyComponents(targets, nextMark());
  const isUndisputed = (target: EventNode): boolean => {
    const rivals = countRivals(everywhere, target);
    const connected = components.get(target);
    if (connected === undefined || countRivals(connected, target) !== rivals) return false;
    const below = countMet(target, [reachesOf], nextMark());
    return below === rivals || below + countMet(target, [byOf, revisersOf], nextMark()) === rivals;
  };
  return { targetsFirst: sortTargetsFirst(targets, nextMark()), isUndisputed };
}

type Neighbours = (node: EventNode) => readonly EventNode[];

const reachesOf: Neighbours = (node) => node.reaches;
const byOf: Neighbours = (node) => node.by;
const revisersOf: Neighbours = (node) => node.revisers;
const revisesOf: Neighbours = (node) => node.revises;

/** Rivals of `target` among what it reaches along the given neighbours, within its subject. */
function countMet(target: EventNode, along: readonly Neighbours[], mark: number): number {
  let count = 0;
  walk(target, along, mark, (node) => {
    if (isRivalOf(target, node)) count += 1;
  });
  return count;
}

/** Visits `start` and everything reachable from it within its subject, each node once. */
function walk(start: EventNode, along: readonly Neighbours[], mark: number, visit: (node: EventNode) => void): void {
  const stack = [start];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (node.mark === mark || node.subject !== start.subject) continue;
    node.mark = mark;
    visit(node);
    for (const neighbours of along) for (const next of neighbours(node)) stack.push(next);
  }
}

/** For each target the tally of everything connected with it in any direction; one tally per component. */
function tallyComponents(targets: readonly EventNode[], mark: number): ReadonlyMap<EventNode, RivalTally> {
  const tallies = new Map<EventNode, RivalTally>();
  for (const target of targets) {
    if (target.mark === mark) continue;
    const component: EventNode[] = [];
    walk(target, [reachesOf, byOf, revisersOf, revisesOf], mark, (node) => component.push(node));
    const tally = tallyOf(component);
    for (const node of component) if (node.revisers.length > 0) tallies.set(node, tally);
  }
  return tallies;
}

/** Post-order along everything that may carry a walk downwards, with an explicit stack. */
function sortTargetsFirst(targets: readonly EventNode[], mark: number): readonly EventNode[] {
  const order: EventNode[] = [];
  for (const target of targets) {
    const stack = [{ node: target, left: belowOf(target) }];
    if (target.mark === mark) continue;
    target.mark = mark;
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const next = top.left.pop();
      if (next === undefined) {
        if (top.node.revisers.length > 0) order.push(top.node);
        stack.pop();
      } else if (next.mark !== mark) {
        next.mark = mark;
        stack.push({ node: next, left: belowOf(next) });
      }
    }
  }
  return order;
}

function belowOf(node: EventNode): EventNode[] {
  return [...node.reaches, ...node.revises];
}
