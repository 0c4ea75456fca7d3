/** Which events a change of the charter can touch. Source: docs/fold.md, "What an input can affect". */
import type { Charter } from '../trust/charter.ts';
import type { Stretch } from './authority.ts';
import type { Fold } from './fold-index.ts';
import { carriersOf, isSeen, type EventNode } from './node.ts';

/** What a change of the charter means for a fold. */
export interface CharterChange {
  /** Signers of whom it says something else: their approvals have to be judged anew. */
  readonly signers: ReadonlySet<string>;
  /** Events whose level, admission or edges may be others. */
  readonly events: ReadonlySet<EventNode>;
}

/** Compares two charters; `before` and `after` are those of the fold, with the stretches that follow from them. Pure. */
export function charterChange(
  fold: Fold,
  before: Pick<Fold, 'charter' | 'authority'>,
  after: Pick<Fold, 'charter' | 'authority'>,
): CharterChange {
  const signers = changedNames(namedSigners(before.charter), namedSigners(after.charter));
  if (before.charter.meshId !== after.charter.meshId || audiencesChanged(before.charter, after.charter)) {
    return { signers, events: new Set([...fold.nodes.values()].filter(isSeen)) };
  }
  const events = new Set<EventNode>();
  for (const name of signers) for (const node of fold.approved.get(name) ?? []) events.add(node);
  const classes = changedNames(namedClasses(before.charter), namedClasses(after.charter));
  if (classes.size > 0) addOfClasses(fold, classes, events);
  const stretches = changedStretches(before.authority.stretches, after.authority.stretches);
  if (stretches.size > 0) addWithin(fold, stretches, events);
  addPurgedByAnother(fold, after.charter, events);
  return { signers, events };
}

type Named = ReadonlyMap<string, string>;

/** Everything that R1 reads of a signer. */
function namedSigners({ signers }: Charter): Named {
  const said = [...signers].map(([name, { key, scopes, revocations }]): [string, string] => {
    const marks = revocations.map((revocation) => [...revocation.marks]);
    return [name, JSON.stringify([key.text, scopes, marks])];
  });
  return new Map(said);
}

function namedClasses({ classes }: Charter): Named {
  return new Map([...classes].map(([name, { claims, revise }]) => [name, JSON.stringify([claims, revise])]));
}

/** Whoever is included by an audience matters wherever one claim revises another: too many places to look for. */
function audiencesChanged(before: Charter, after: Charter): boolean {
  const named = ({ audiences }: Charter): Named =>
    new Map([...audiences].map(([name, { includes }]) => [name, JSON.stringify(includes)]));
  return changedNames(named(before), named(after)).size > 0;
}

function changedNames(before: Named, after: Named): ReadonlySet<string> {
  return new Set([...before.keys(), ...after.keys()].filter((name) => before.get(name) !== after.get(name)));
}

function addOfClasses(fold: Fold, classes: ReadonlySet<string>, events: Set<EventNode>): void {
  for (const family of fold.subjects.values()) {
    if (classes.has(family.className)) for (const node of family.events) events.add(node);
  }
}

/** Of two purges that say the same the lower op has the say: what is told of the event names another op now. */
function addPurgedByAnother(fold: Fold, { purges }: Charter, events: Set<EventNode>): void {
  for (const [id, { op }] of purges) {
    const node = fold.nodes.get(id);
    if (node !== undefined && node.purge !== null && node.purge.op !== op) events.add(node);
  }
}

type Stretches = Fold['authority']['stretches'];

/** By log, every stretch of the logs in which delegation reaches elsewhere now. */
function changedStretches(before: Stretches, after: Stretches): ReadonlyMap<string, readonly Stretch[]> {
  const changed = new Map<string, readonly Stretch[]>();
  for (const log of new Set([...before.keys(), ...after.keys()])) {
    const [old, now] = [before.get(log) ?? [], after.get(log) ?? []];
    if (JSON.stringify(old) !== JSON.stringify(now)) changed.set(log, [...old, ...now]);
  }
  return changed;
}

function addWithin(fold: Fold, stretches: ReadonlyMap<string, readonly Stretch[]>, events: Set<EventNode>): void {
  for (const node of fold.nodes.values()) {
    const isThere = carriersOf(node).some(({ log, seq }) =>
      (stretches.get(log) ?? []).some(({ from, upto }) => seq >= from && seq <= upto),
    );
    if (isThere) events.add(node);
  }
}
