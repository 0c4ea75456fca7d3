/**
 * What a peer says of this host's own log. Heads are unsigned, so a claim alone counts for nothing; but a line that this
 * home lacks and that its own key signed is proof that the home was restored or copied. The offered log is fetched into a
 * quarantine, judged without our branch, and thrown away.
 */
import { fetchCommitsMax, fetchDeadlineMs, fetchLooseObjectsMax } from '../core/limits.ts';
import type { VerifiedLine } from '../core/log.ts';
import type { HeadsTip } from '../core/sync/peer.ts';
import { claimOf } from '../core/sync/plan.ts';
import type { OwnVerdict } from '../core/sync/vocabulary.ts';
import { admitCommit } from './admission.ts';
import { packBounds, type LogFetch } from './fetch-log.ts';
import { fetchPack } from './fetch-pack.ts';
import { worldOf, type MeshNode } from './node.ts';

/** Looks for proof of a claim about the own log. Nothing of it is kept. Throws OperatingError for failures of this machine. */
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
    haves: ours === undefined ? [] : [ours.oid],
    form: 'pack',
    ...packBounds(offered.seq),
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
    if (admission.kind === 'extended') return compare(node, log, { offered, lines: admission.lines });
    return { kind: 'wrong', detail: admission.kind === 'refused' ? admission.fault.detail : 'it holds no line' };
  } finally {
    quarantine.remove();
  }
}

/** With what is held now: it may have grown since the peer was asked. */
function compare(
  node: MeshNode,
  log: string,
  { offered, lines }: { readonly offered: HeadsTip; readonly lines: readonly VerifiedLine[] },
): OwnVerdict {
  const held = node.tip(log)?.seq ?? 0;
  const other = lines.find(({ seq, link }) => seq <= held && (node.linkAt(log, seq) ?? link) !== link);
  if (other !== undefined) return { kind: 'proven', line: { seq: other.seq, link: other.link }, ahead: false };
  const last = lines.at(-1);
  if (last !== undefined && last.seq > held)
    return { kind: 'proven', line: { seq: last.seq, link: last.link }, ahead: true };
  if (claimOf(worldOf(node), offered) === 'none') return { kind: 'settled' };
  return {
    kind: 'wrong',
    detail: `what it sends has ${lines.length} lines that this host signed, all of them held here`,
  };
}
