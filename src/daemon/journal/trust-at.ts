/**
 * The trust set that a hash names. Branch `trust` has every set that this host ever had; another host may have heard of
 * the same ops in another order, so sets that are closed under ancestry are tried too.
 */
import { setImmediate } from 'node:timers/promises';
import { isAncestor, type Held } from '../../core/trust/register.ts';
import { addOps, emptyTrustSet, hashOf, keptOps, trustHash, type TrustSet } from '../../core/trust/set.ts';
import { charterOf, type Charter } from '../../core/trust/charter.ts';
import { parseTrustOp, type ForkProofOp, type TrustOp } from '../../core/trust/op.ts';
import { runGit, type Repository } from '../../store/git/repository.ts';
import { trustRef } from '../../store/git/refs.ts';
import { readTrustCommit } from '../../store/trust-store.ts';
import type { TrustState } from '../trust/trust-keeper.ts';

/** What a trust hash names. */
export interface TrustThen {
  readonly set: TrustSet;
  readonly charter: Charter;
}

/** Sets that are tried beyond those of the branch. */
const triesMax = 4_096;

/** A set that a hash may name. */
interface NamedSet {
  readonly hash: string;
  readonly make: () => TrustSet;
}

/** The set with this hash; undefined when this host holds no ops that make it. */
export async function trustAt(
  repository: Repository,
  now: Pick<TrustState, 'set' | 'hash' | 'charter'>,
  hash: string,
): Promise<TrustThen | undefined> {
  if (hash === now.hash) return { set: now.set, charter: now.charter };
  for await (const named of namedSets(repository, now.set)) {
    const then = named.hash === hash ? thenOf(named) : undefined;
    if (then !== undefined) return then;
  }
  return undefined;
}

/** Every set that can be told from its hash, for a caller that has many hashes to ask for. */
export interface TrustIndex {
  readonly find: (hash: string) => TrustThen | undefined;
  /** Settled once the index is whole; until then it finds what it has so far. */
  readonly whole: Promise<void>;
}

/**
 * The index of the sets that `now` is made of. To look for a hash is to go through all of them, so that a hash which names
 * nothing costs as much as the last: whoever may write hashes could make it cost that each time.
 */
export function indexTrust(repository: Repository, now: TrustSet): TrustIndex {
  const sets = new Map<string, NamedSet>();
  const fill = async (): Promise<void> => {
    for await (const named of namedSets(repository, now)) if (!sets.has(named.hash)) sets.set(named.hash, named);
  };
  const find = (hash: string): TrustThen | undefined => {
    const named = sets.get(hash);
    return named && thenOf(named);
  };
  return { find, whole: fill() };
}

function thenOf({ hash, make }: NamedSet): TrustThen | undefined {
  const set = make();
  return trustHash(set) === hash ? { set, charter: charterOf(set) } : undefined;
}

/** Hashes that are worked out before others get their turn. */
const hashesAtATime = 64;

async function* namedSets(repository: Repository, now: TrustSet): AsyncGenerator<NamedSet> {
  yield* fromBranch(repository, now.meshId);
  let count = 0;
  for (const named of fromAncestry(now)) {
    yield named;
    count += 1;
    if (count % hashesAtATime === 0) await setImmediate();
  }
}

/** The branch commit by commit, oldest first. */
async function* fromBranch(repository: Repository, meshId: string): AsyncGenerator<NamedSet> {
  const listed = await runGit(repository, {
    args: ['rev-list', '--reverse', '--first-parent', trustRef],
    alsoOk: [128],
  });
  const commits = listed.code === 0 ? listed.stdout.toString('latin1').split('\n').slice(0, -1) : [];
  const seen = new Set<string>();
  let [set, ops, dropped]: [TrustSet, TrustOp[], number] = [emptyTrustSet(meshId), [], 0];
  for (const commit of commits) {
    let files = await readTrustCommit(repository, commit, (id) => seen.has(id));
    if (files.ok && files.value.dropped !== dropped) {
      // Files were taken out: what is left is the set.
      files = await readTrustCommit(repository, commit);
      [set, ops] = [emptyTrustSet(meshId), []];
    }
    if (!files.ok) return;
    dropped = files.value.dropped;
    for (const { id } of files.value.ops) seen.add(id);
    const more = files.value.ops.flatMap(({ text }) => readOp(text));
    set = addOps(set, more).set;
    ops.push(...more);
    const [all, count] = [ops, ops.length];
    yield { hash: trustHash(set), make: () => addOps(emptyTrustSet(meshId), all.slice(0, count)).set };
  }
}

function readOp(text: string): readonly TrustOp[] {
  const op = parseTrustOp(text);
  return op.ok ? [op.value] : [];
}

/** What one op knows, what two know, and what was known before an op, each with and without the proofs of forks. */
function* fromAncestry(now: TrustSet): Generator<NamedSet> {
  const forks = [...now.forks.values()];
  const proofs: readonly (readonly ForkProofOp[])[] =
    forks.length === 0 ? [[]] : [[], forks, ...forks.map((fork) => [fork])];
  let tries = 0;
  for (const heldOf of closedSets([...now.held.values()])) {
    tries += 1;
    if (tries > triesMax) return;
    const opsOf = (): readonly TrustOp[] => heldOf().map(({ op }) => op);
    const ids = opsOf().map(({ id }) => id);
    for (const proof of proofs) {
      const make = (): TrustSet => addOps(emptyTrustSet(now.meshId), [...opsOf(), ...proof]).set;
      yield { hash: hashOf(ids, proof.map(placeOf)), make };
    }
  }
}

function placeOf({ body }: ForkProofOp): [string, number] {
  return [body.host, body.lines[0].header.seq];
}

/** Sets that are closed under ancestry, each to be made when it is needed: kept, thousands would take megabytes. */
function* closedSets(held: readonly Held[]): Generator<() => readonly Held[]> {
  const knows = (op: Held, other: Held): boolean => op === other || isAncestor(other, op);
  for (const op of held.toReversed()) yield () => held.filter((other) => knows(op, other));
  for (let upto = held.length; upto > 0; upto -= 1) {
    const count = upto;
    yield () => held.slice(0, count);
  }
  for (const [place, left] of held.entries())
    for (const right of held.slice(0, place))
      yield () => held.filter((other) => knows(left, other) || knows(right, other));
}

/** Ops that a set has and another has not. */
export function opsSince(before: TrustSet, after: TrustSet): readonly TrustOp[] {
  const known = new Set(keptOps(before).map(({ id }) => id));
  return keptOps(after).filter(({ id }) => !known.has(id));
}
