/** Branch trust: what can still be read of it, here and at peers, put together again. Ops prove themselves. */
import type { Charter } from '../../core/trust/charter.ts';
import { parseTrustOp, type TrustOp } from '../../core/trust/op.ts';
import { addOps, emptyTrustSet, keptOps } from '../../core/trust/set.ts';
import { isDamage, isOperatingError } from '../../store/errors.ts';
import { isWhole, listCommits, tipsOf } from '../../store/git/branch-commits.ts';
import { compareAndSwapRef, readRef, trustRef } from '../../store/git/refs.ts';
import { checkLastTrust, readLastHeads } from '../../store/notes/last-heads.ts';
import { salvageAllOps, salvageOps } from '../../store/trust-salvage.ts';
import { addTrustOps, readTrustCommit } from '../../store/trust-store.ts';
import { checkOpsAhead } from '../beliefs/approval-checks.ts';
import { counted } from '../counted.ts';
import type { Identity } from '../identity.ts';
import { readTrustState, type TrustState } from '../trust/trust-keeper.ts';
import { askForTrust } from './ask-peers.ts';
import type { RepositoryRoom } from './room.ts';

/** This host, in a mesh. */
export type Member = Identity & { readonly mesh: string };

const branch = 'branch trust';

/** Restores the branch where it is not whole. @returns what it says now; undefined without the genesis of the mesh. */
export async function repairTrust(room: RepositoryRoom, self: Member): Promise<TrustState | undefined> {
  room.progress('reading the trust set');
  const before = await readState(room, self.mesh);
  if (before !== undefined && (await isSound(room, before))) return before;
  await restoreTrust(room, self, before);
  const after = await readState(room, self.mesh);
  if (after === undefined || !after.set.held.has(self.mesh)) {
    const detail = `${branch} does not hold the genesis of mesh ${self.mesh}, and neither do peers that answer`;
    room.leave(
      branch,
      detail,
      'start memd on another host of the mesh, then memctl doctor --repair again; or a backup',
    );
    return undefined;
  }
  return after;
}

async function readState({ repository }: RepositoryRoom, mesh: string): Promise<TrustState | undefined> {
  try {
    return await readTrustState(repository, mesh);
  } catch (error) {
    if (isDamage(error)) return undefined;
    throw error;
  }
}

async function isSound(room: RepositoryRoom, state: TrustState): Promise<boolean> {
  if (!state.set.held.has(state.set.meshId) || state.unreadable.length > 0) return false;
  return lastTrustFault(room, state) === undefined && (await isWhole(room.repository, state.oid));
}

/** What `last-heads.json` has to say. */
function lastTrustFault({ home }: RepositoryRoom, { oid, filesEver }: TrustState): string | undefined {
  try {
    checkLastTrust(readLastHeads(home).heads.trust, { oid: oid === '' ? null : oid, ops: filesEver });
    return undefined;
  } catch (error) {
    if (isOperatingError(error)) return error.message;
    throw error;
  }
}

async function restoreTrust(room: RepositoryRoom, self: Member, before: TrustState | undefined): Promise<void> {
  const { repository } = room;
  const commits = tipsOf(await listCommits(repository), 'trust').map(({ oid }) => oid);
  const current = readOid(room);
  const seen = readLastHeads(room.home).heads.trust?.oid;
  const known = [...new Set([current, seen, ...commits])].flatMap((oid) => oid ?? []);
  const texts = [...(await salvageOps(repository, known))];
  let ops = parseOps(texts);
  if (!ops.some(({ id }) => id === self.mesh)) ops = parseOps([...texts, ...(await salvageAllOps(repository))]);
  const charter: Charter | undefined = before?.charter;
  const asked = await askForTrust(room, self, charter);
  const all = [...ops, ...asked];
  const { set } = addOps(emptyTrustSet(self.mesh), all, '', await checkOpsAhead(all));
  if (!set.held.has(self.mesh)) return;
  const kept = new Map(
    [...keptOps(set), ...Array.from(set.pending.values(), ({ op }) => op)].map((op) => [op.id, op.text]),
  );
  await setBase(room, known, kept);
  const missing = [...kept].map(([id, text]) => ({ id, text }));
  const author = `memd <${self.host}@${self.mesh}>`;
  await addTrustOps(repository, { ops: missing, author, seconds: Math.floor(room.now.getTime() / 1_000) });
  const peers = asked.length === 0 ? '' : `, with what a peer holds`;
  room.done(branch, `it is whole again: ${counted(kept.size, 'op')}${peers}`);
}

function readOid({ repository }: RepositoryRoom): string | undefined {
  try {
    return readRef(repository, trustRef) ?? undefined;
  } catch (error) {
    if (isOperatingError(error, 'REF_DAMAGED')) return undefined;
    throw error;
  }
}

function parseOps(texts: readonly string[]): TrustOp[] {
  const ops = new Map<string, TrustOp>();
  for (const text of texts) {
    const op = parseTrustOp(text);
    if (op.ok) ops.set(op.value.id, op.value);
  }
  return [...ops.values()];
}

/** The branch as it was last whole, where such a commit is left: its history says which set was when. */
async function setBase(
  room: RepositoryRoom,
  known: readonly string[],
  kept: ReadonlyMap<string, string>,
): Promise<void> {
  const { repository, home } = room;
  let best: { readonly oid: string; readonly ops: number } | undefined;
  for (const oid of known) {
    const read = await readTrustCommit(repository, oid);
    // A file that is no op of the set would stay in the branch.
    if (!read.ok || !read.value.ops.every(({ id, text }) => kept.get(id) === text)) continue;
    const ops = read.value.ops.length + read.value.dropped;
    if (ops > (best?.ops ?? -1) && (await isWhole(repository, oid))) best = { oid, ops };
  }
  if (best !== undefined) return compareAndSwapRef(repository, { ref: trustRef, expected: undefined, next: best.oid });
  room.aside.moveAside(
    `${home.repository}/${trustRef}`,
    'no commit of it is whole: the branch begins anew with all ops',
  );
}
