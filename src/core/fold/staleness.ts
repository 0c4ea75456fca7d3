/**
 * R5: a claim is stale when an observation below it is no longer what its log last saw. Nothing is withdrawn by it, so a
 * digest that comes back makes the claim fresh again. Source: docs/fold.md R5.
 */
import { isStanding } from './levels.ts';
import { carriersOf, type Carrier, type EventNode } from './node.ts';

/** What one host last saw of one home. */
export interface Observation {
  seq: number;
  digest: string;
  /** Known observes of this host and home, admitted or not: what cites them is touched when the digest moves. */
  readonly nodes: Set<EventNode>;
}

/** Identity of an observed thing. A host name holds no space. Pure. */
export function observationKey(host: string, home: string): string {
  return `${host} ${home}`;
}

/**
 * Enters an observe, and adds its home to `moved` when the current digest is another one now. Only lines of the host's
 * own log that count are sightings; the highest seq is the current one, also when it re-appends an old observe.
 */
export function takeObserve(observations: Map<string, Observation>, node: EventNode, moved: Set<Observation>): void {
  const { said } = node;
  if (said?.kind !== 'observe') return;
  const key = observationKey(said.host, said.home ?? '');
  const entry = observations.get(key) ?? { seq: 0, digest: '', nodes: new Set() };
  observations.set(key, entry);
  entry.nodes.add(node);
  const seq = lastSighting(node);
  if (seq <= entry.seq) return;
  if (entry.digest !== said.digest) moved.add(entry);
  entry.seq = seq;
  entry.digest = said.digest ?? '';
}

/** The observations that these events are part of. */
export function observationsOf(
  observations: ReadonlyMap<string, Observation>,
  nodes: Iterable<EventNode>,
): ReadonlySet<Observation> {
  const found = new Set<Observation>();
  for (const { said } of nodes) {
    const entry = said?.kind === 'observe' && observations.get(observationKey(said.host, said.home ?? ''));
    if (entry) found.add(entry);
  }
  return found;
}

/** Works out what was last seen from all sightings, since one of them may count no longer. True: the digest moved. */
export function lookAgain(entry: Observation): boolean {
  const before = entry.digest;
  entry.seq = 0;
  entry.digest = '';
  for (const node of entry.nodes) {
    const seq = lastSighting(node);
    if (seq <= entry.seq) continue;
    entry.seq = seq;
    entry.digest = node.said?.digest ?? '';
  }
  return entry.digest !== before;
}

/** True iff a claim cites, however indirectly, an observation that is not current. */
export function isStale(observations: ReadonlyMap<string, Observation>, node: EventNode): boolean {
  const stack = [node];
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    const below = top.stale === undefined ? top.basis.find((cited) => cited.stale === undefined) : undefined;
    if (below !== undefined) {
      stack.push(below);
      continue;
    }
    top.stale ??= isMoved(observations, top) || top.basis.some((cited) => cited.stale === true);
    stack.pop();
  }
  return node.stale === true;
}

/** Highest seq of a line that counts in the host's own log; 0 if there is none. */
function lastSighting(node: EventNode): number {
  if (node.held !== null) return 0;
  let last = 0;
  for (const carrier of carriersOf(node)) if (carrier.seq > last && isSighting(node, carrier)) last = carrier.seq;
  return last;
}

function isSighting(node: EventNode, { log, fault, approval }: Carrier): boolean {
  if (log !== node.said?.host) return false;
  if (node.purge !== null) return approval === null || node.level === 'signed';
  return fault === null && (approval === null || isStanding(node, approval));
}

function isMoved(observations: ReadonlyMap<string, Observation>, node: EventNode): boolean {
  const { said } = node;
  if (said?.kind !== 'observe') return false;
  return observations.get(observationKey(said.host, said.home ?? ''))?.digest !== said.digest;
}
