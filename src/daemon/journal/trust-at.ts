/**
 * The trust set that a hash names. Branch `trust` has every set that this host ever had; another host may have heard of
 * the same ops in another order, so sets that are closed under ancestry are tried too.
 */
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

/** The set with this hash; undefined when this host holds no ops that make it. */
export async function trustAt(
  repository: Repository,
  now: Pick<TrustState, 'set' | 'hash' | 'charter'>,
  hash: string,
): Promise<TrustThen | undefined> {
  if (hash === now.hash) return { set: now.set, charter: now.charter };
  const set = (await fromBranch(repository, now.set, hash)) ?? fromAncestry(now.set, hash);
  return set === undefined ? undefined : { set, charter: charterOf(set) };
}

/** The branch commit by commit, oldest first. */
async function fromBranch(repository: Repository, now: TrustSet, hash: string): Promise<TrustSet | undefined> {
  const listed = await runGit(repository, {
    args: ['rev-list', '--reverse', '--first-parent', trustRef],
    alsoOk: [128],
  });
  const commits = listed.code === 0 ? listed.stdout.toString('latin1').split('\n').slice(0, -1) : [];
  const seen = new Set<string>();
  let [set, dropped] = [emptyTrustSet(now.meshId), 0];
  for (const commit of commits) {
    let files = await readTrustCommit(repository, commit, (id) => seen.has(id));
    if (files.ok && files.value.dropped !== dropped) {
      // Files were taken out: what is left is the set.
      files = await readTrustCommit(repository, commit);
      set = emptyTrustSet(now.meshId);
    }
    if (!files.ok) return undefined;
    const { ops } = files.value;
    dropped = files.value.dropped;
    for (const { id } of ops) seen.add(id);
    set = addOps(
      set,
      ops.flatMap(({ text }) => readOp(text)),
    ).set;
    if (trustHash(set) === hash) return set;
  }
  return undefined;
}

function readOp(text: string): readonly TrustOp[] {
  const op = parseTrustOp(text);
  return op.ok ? [op.value] : [];
}

/** What one op knows, what two know, and what was known before an op, each with and without the proofs of forks. */
function fromAncestry(now: TrustSet, hash: string): TrustSet | undefined {
  const forks = [...now.forks.values()];
  const proofs: readonly (readonly ForkProofOp[])[] =
    forks.length === 0 ? [[]] : [[], forks, ...forks.map((fork) => [fork])];
  let tries = 0;
  for (const held of closedSets([...now.held.values()])) {
    tries += 1;
    if (tries > triesMax) return undefined;
    const ops = held.map(({ op }) => op);
    const ids = ops.map(({ id }) => id);
    const some = proofs.find((proof) => hashOf(ids, proof.map(placeOf)) === hash);
    if (some === undefined) continue;
    const { set } = addOps(emptyTrustSet(now.meshId), [...ops, ...some]);
    if (trustHash(set) === hash) return set;
  }
  return undefined;
}

function placeOf({ body }: ForkProofOp): [string, number] {
  return [body.host, body.lines[0].header.seq];
}

function* closedSets(held: readonly Held[]): Generator<readonly Held[]> {
  const knows = (op: Held, other: Held): boolean => op === other || isAncestor(other, op);
  for (const op of held.toReversed()) yield held.filter((other) => knows(op, other));
  for (let upto = held.length; upto > 0; upto -= 1) yield held.slice(0, upto);
  for (const [place, left] of held.entries())
    for (const right of held.slice(0, place)) yield held.filter((other) => knows(left, other) || knows(right, other));
}

/** Ops that a set has and another has not. */
export function opsSince(before: TrustSet, after: TrustSet): readonly TrustOp[] {
  const known = new Set(keptOps(before).map(({ id }) => id));
  return keptOps(after).filter(({ id }) => !known.has(id));
}
