/**
 * Circles. Ids are hashes of bodies, so no body can name an event that leads back to it, and every walk of the fold relies
 * on that. A skeleton is the word of whoever purged and hashes to nothing: it can. One op would then keep every host of
 * the mesh busy for ever, so what closes a circle is passed over. Source: docs/fold.md R0.5.
 */
import type { Fold } from './fold-index.ts';
import type { EventNode } from './node.ts';

/**
 * Takes out of purged events every reference to an event that leads back to them. `entered`: the events that lines have
 * just put into the index; a new circle holds one of them. @returns the events at both ends of what was taken out.
 */
export function cutCircles(fold: Fold, entered: readonly EventNode[]): readonly EventNode[] {
  const { nodes, charter } = fold;
  if (charter.purges.size === 0 || !entered.some(isNamed)) return [];
  const purged = [...charter.purges.keys()].flatMap((id) => nodes.get(id) ?? []).filter(({ purge }) => purge !== null);
  const components = componentsFrom(purged, (node) => referencesOf(fold, node));
  return purged.flatMap((from) => {
    const isBack = (to: EventNode): boolean => components.get(to) === components.get(from);
    const back = [...from.targets, ...from.basis].filter(isBack);
    if (back.length === 0) return [];
    from.targets = from.targets.filter((to) => !isBack(to));
    from.basis = from.basis.filter((to) => !isBack(to));
    for (const to of back) {
      to.namedBy = to.namedBy.filter((node) => node !== from);
      to.citedBy = to.citedBy.filter((node) => node !== from);
    }
    return [from, ...back];
  });
}

/** Nothing leads to an event that nobody names. */
function isNamed({ namedBy, citedBy }: EventNode): boolean {
  return namedBy.length > 0 || citedBy.length > 0;
}

/** What the body or skeleton names, what was taken out of it included: otherwise the order of arrival would matter. */
function referencesOf({ nodes }: Fold, { said, purge, targets, basis }: EventNode): readonly EventNode[] {
  if (said === null) return [];
  if (purge === null) return [...targets, ...basis];
  return [...purge.target.supersedes, ...purge.target.basis].flatMap((id) => nodes.get(id) ?? []);
}

interface Visit {
  readonly node: EventNode;
  readonly left: EventNode[];
  readonly order: number;
  /** Lowest order that is reached from here and still open. */
  low: number;
}

/**
 * Number of the strongly connected component of every event that is reached (Tarjan). Two events have the same iff each
 * leads to the other. Explicit stack: references may go as deep as a log is long.
 */
function componentsFrom(
  starts: readonly EventNode[],
  referencesOf: (node: EventNode) => readonly EventNode[],
): ReadonlyMap<EventNode, number> {
  const orders = new Map<EventNode, number>();
  const components = new Map<EventNode, number>();
  const open: EventNode[] = [];
  const enter = (node: EventNode): Visit => {
    const order = orders.size;
    orders.set(node, order);
    open.push(node);
    return { node, left: [...referencesOf(node)], order, low: order };
  };
  for (const start of starts) {
    const stack = orders.has(start) ? [] : [enter(start)];
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const next = top.left.pop();
      if (next === undefined) {
        stack.pop();
        const below = stack.at(-1);
        if (below !== undefined) below.low = Math.min(below.low, top.low);
        if (top.low < top.order) continue;
        for (const node of open.splice(open.lastIndexOf(top.node))) components.set(node, top.order);
      } else if (!orders.has(next)) stack.push(enter(next));
      else if (!components.has(next)) top.low = Math.min(top.low, orders.get(next) as number);
    }
  }
  return components;
}
