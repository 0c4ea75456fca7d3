/**
 * What a peer says of this host's own log. Heads are unsigned, so a claim alone counts for nothing; but a line that this
 * home lacks and that its own key signed is proof that the home was restored or copied. The offered log is fetched into a
 * quarantine and judged without our branch. What merely follows ours is taken over: a restored home goes on where it was.
 * What differs is a fork: our branch stays as it is, and the other side is kept as evidence.
 */
import { fetchCommitsMax, fetchDeadlineMs, fetchLooseObjectsMax } from '../../core/limits.ts';
import type { VerifiedLine } from '../../core/log.ts';
import type { ForkedLines } from '../../core/sync/fork-proof.ts';
import { claimOf } from '../../core/sync/plan.ts';
import { whyNotInPlace } from '../../core/sync/replace-copy.ts';
import type { OwnVerdict } from '../../core/sync/vocabulary.ts';
import { removePackedFiles } from '../../store/git/maintenance.ts';
import { compareAndSwapRef, logRef } from '../../store/git/refs.ts';
import { admitCommit, type Admission } from '../judge/admission.ts';
import { packBounds } from './fetch-bounds.ts';
import { keep, wholeCopy, type LogFetch } from './fetch-log.ts';
import { fetchPack } from './fetch-pack.ts';
import { readBranch, readOurLine } from '../judge/fork-branch.ts';
import { damagedCopy, worldOf } from '../node.ts';
import type { Quarantine } from './quarantine.ts';

/** Looks for proof of a claim about the own log. Throws OperatingError for failures of this machine. */
export async function judgeOwnClaim(fetch: LogFetch): Promise<OwnVerdict> {
  const { node, log, offered, shared, connection } = fetch;
  const spans = node.charter().hosts.get(log)?.spans;
  if (spans === undefined) return { kind: 'settled' };
  const ours = node.tip(log);
  const deadlineMs = Math.min(fetchDeadlineMs, fetch.deadlineMs);
  const fetched = await fetchPack({
    connection,
    repository: node.repository,
    wants: [offered.oid],
    haves: ours === undefined || node.damage?.of(log) === true ? [] : [ours.oid],
    form: 'pack',
    alone: node.damage?.of(log) === true,
    ...packBounds(offered.seq, fetch.doubted),
    deadlineMs,
  });
  if (!fetched.ok) {
    const { code, detail } = fetched;
    const lied = code === 'PACK_REFUSED' || code === 'TOO_LARGE';
    return lied ? { kind: 'wrong', detail } : { kind: 'unknown', code, detail };
  }
  const { quarantine } = fetched.value;
  try {
    const admission = await admitCommit({
      view: quarantine.view,
      keep: 'pack',
      cache: shared.folders,
      log,
      mesh: node.meshId,
      keys: spans,
      purged: node.purged?.(),
      base: null,
      commit: offered.oid,
      commitsMax: Math.min(fetchCommitsMax, offered.seq + fetchLooseObjectsMax),
      deadlineMs,
    });
    return await conclude(fetch, quarantine, admission);
  } finally {
    quarantine.remove();
  }
}

/** With what is held now: it may have grown since the peer was asked. */
async function conclude(fetch: LogFetch, quarantine: Quarantine, admission: Admission): Promise<OwnVerdict> {
  const { node, log, offered } = fetch;
  const lines = admission.kind === 'extended' ? admission.lines : [];
  if (node.damage?.of(log) === true) {
    await adopted(fetch, quarantine, admission);
    return { kind: 'settled' };
  }
  const held = node.tip(log)?.seq ?? 0;
  const other = lines.find(({ seq, link }) => seq <= held && (node.linkAt(log, seq) ?? link) !== link);
  if (other !== undefined) return foundFork(fetch, other, lines);
  const last = lines.at(-1);
  if (last !== undefined && last.seq > held) {
    if (await adopted(fetch, quarantine, admission)) return { kind: 'settled' };
    return { kind: 'proven', line: { seq: last.seq, link: last.link }, ahead: true };
  }
  if (claimOf(worldOf(node), offered) === 'none') return { kind: 'settled' };
  // Not signed by a key that counts there: what a signer cut off, and this peer has not heard of it.
  const cutOff = await readBranch(node, log, { view: quarantine.view, commit: offered.oid });
  if (cutOff.length > 0) {
    await node.keepBranch?.(cutOff);
    return { kind: 'settled', vain: true };
  }
  if (admission.kind === 'refused') return { kind: 'wrong', detail: admission.fault.detail };
  const detail = `what it sends has ${lines.length} lines that this host signed, all of them held here`;
  return { kind: 'wrong', detail: lines.length === 0 ? 'it holds no line' : detail };
}

async function foundFork(
  { node, log }: LogFetch,
  other: VerifiedLine,
  lines: readonly VerifiedLine[],
): Promise<OwnVerdict> {
  await node.keepBranch?.(lines.filter(({ seq }) => seq >= other.seq));
  const ours = await readOurLine(node, log, other.seq);
  const fork: ForkedLines | undefined = ours === undefined ? undefined : [ours, other];
  const line = { seq: other.seq, link: other.link };
  return { kind: 'proven', line, ahead: false, ...(fork === undefined ? {} : { fork }) };
}

/**
 * Takes over what only follows our own branch: it is our own word, signed by our own key. No append is under way meanwhile,
 * and if one came before, its line differs, and nothing is taken. @returns whether the home holds all of it now.
 */
async function adopted(fetch: LogFetch, quarantine: Quarantine, admission: Admission): Promise<boolean> {
  const { node, log, shared, peer } = fetch;
  if (admission.kind !== 'extended' || node.aloneWithOwnLog === undefined) return false;
  const { lines } = admission;
  return node.aloneWithOwnLog(lines.length, async () => {
    const ours = node.tip(log);
    const known = ours?.seq ?? 0;
    const mended = node.damage?.of(log) === true;
    if (mended && whyNotInPlace(damagedCopy(node, log), wholeCopy(admission)) !== undefined) return false;
    if (known > lines.length || (known === lines.length && !mended)) return false;
    if (ours !== undefined && lines[known - 1]?.link !== ours.link) return false;
    const { tip } = (await keep(fetch, { quarantine, admission }, 'pack')).kept;
    // A damaged file of an object hides the good copy in the pack.
    if (mended) await removePackedFiles(node.repository);
    const expected = mended ? undefined : (ours?.oid ?? null);
    await compareAndSwapRef(node.repository, { ref: logRef(log), expected, next: tip.oid });
    shared.bases.delete(log);
    await node.admitLines({ log, lines: lines.slice(known), tip, via: peer, mended });
    return true;
  });
}
