/**
 * What a repository holds, read and verified without the home lock: objects never change and every branch is read once,
 * so a running memd is no obstacle, and neither is one that does not start.
 */
import { createFold, foldLines, readState, type Fold } from '../../core/fold/fold.ts';
import { rulesVersion } from '../../core/fold/state.ts';
import { extendLog } from '../../core/log.ts';
import type { VerifiedLine } from '../../core/log.ts';
import { charterItems } from '../../core/root.ts';
import type { Charter, CharterHost } from '../../core/trust/charter.ts';
import { canonicalJson, type JsonValue } from '../../crypto/canonical.ts';
import { isDamage, OperatingError } from '../../store/errors.ts';
import { listLogs } from '../../store/git/refs.ts';
import { openRepository, type Repository } from '../../store/git/repository.ts';
import { openHome } from '../../store/home/home.ts';
import { withoutBody } from '../../store/logs/log-rewrite.ts';
import { streamLog } from '../../store/logs/log-store.ts';
import { approvalsOf, createApprovalChecks } from './approval-checks.ts';
import { readIdentity, type Identity } from '../identity.ts';
import { vouchedOnly } from './log-book.ts';
import { Refusal } from '../refusal.ts';
import { holdingKeys, usableUpto } from '../../core/trust/usable.ts';
import { readTrustState, type TrustState } from '../trust/trust-keeper.ts';

export interface SnapshotLog {
  readonly host: string;
  /** Commit of the branch. */
  readonly oid: string;
  /** Every line that could be read, usable or not: text, or bytes where they are not UTF-8. */
  readonly lines: readonly (string | Uint8Array)[];
  /** Links of the usable lines. */
  readonly links: readonly string[];
  /** Claimed time of the last usable line that has a body; '' without one. */
  readonly at: string;
  /** Last usable line. */
  readonly seq: number;
  readonly link: string;
  /** Why it could not be read or used to its end; undefined when it could. */
  readonly problem: string | undefined;
  /** An object of it could not be read. */
  readonly damaged: boolean;
}

export interface Snapshot {
  readonly mesh: string;
  readonly trust: TrustState;
  /** By host name. */
  readonly logs: readonly SnapshotLog[];
  /** The fold of the usable lines. */
  readonly fold: Fold;
}

export interface SnapshotOptions {
  /** Folder of the repository. */
  readonly repository: string;
  /** Pinned mesh id. */
  readonly mesh: string;
  /** Every signature, not the last one of each log alone: lines that a later one vouches for are told, and count. */
  readonly tellVouched: boolean;
  readonly progress: (text: string) => void;
}

/** Reads the mesh of a home that is one. Refuses NO_MESH, NOT_ENROLLED; fails as `readRepository` does. */
export async function readSnapshot(
  home: string,
  progress: (text: string) => void,
): Promise<Snapshot & { readonly identity: Identity }> {
  const paths = openHome(home);
  const identity = readIdentity(paths);
  const { mesh } = identity;
  if (mesh === null) {
    throw new Refusal({
      code: 'NOT_ENROLLED',
      message: `host ${identity.host} has keys but no mesh yet`,
      hint: 'memctl join ssh://HOST:PORT --mesh ID',
    });
  }
  const snapshot = await readRepository({ repository: paths.repository, mesh, tellVouched: true, progress });
  return { ...snapshot, identity };
}

/** Readings of a repository whose branches are moved, and old objects dropped, by a purge that goes on meanwhile. */
const readsMax = 3;

/** Reads and verifies a repository; damage in a log is told beside what could be read. Fails where there is no trust set. */
export async function readRepository(options: SnapshotOptions): Promise<Snapshot> {
  const repository = openRepository(options.repository);
  for (let reads = 1; ; reads += 1) {
    const snapshot = await readOnce(options);
    const now = listLogs(repository);
    const moved = snapshot.logs.some(({ host, oid, damaged }) => damaged && now.get(host) !== oid);
    if (!moved || reads === readsMax) return snapshot;
  }
}

async function readOnce(options: SnapshotOptions): Promise<Snapshot> {
  const { mesh, tellVouched, progress } = options;
  const repository = openRepository(options.repository);
  const trust = await readTrustState(repository, mesh);
  if (!trust.set.held.has(mesh)) {
    throw new OperatingError('BRANCH_DAMAGED', `branch trust does not hold the genesis of mesh ${mesh}`, {
      hint: 'logs/*.jsonl are plain copies of the logs; any other host of the mesh has the same trust branch',
    });
  }
  const checks = createApprovalChecks();
  const fold = createFold(trust.charter, trust.hash, checks.ports);
  const logs: SnapshotLog[] = [];
  for (const [host, oid] of listLogs(repository)) {
    progress(`reading log ${host}`);
    const read = await readOne(repository, {
      host,
      oid,
      mesh,
      tellVouched,
      member: trust.charter.hosts.get(host),
      purged: trust.charter.purges,
    });
    checks.begin(approvalsOf(trust.charter, read.usable));
    await checks.settled();
    foldLines(fold, read.usable);
    checks.forget();
    logs.push(read.log);
  }
  return { mesh, trust, logs, fold };
}

interface Branch {
  readonly host: string;
  readonly oid: string;
  readonly mesh: string;
  readonly tellVouched: boolean;
  /** Undefined: the charter names no such host, so nothing of the log is usable. */
  readonly member: CharterHost | undefined;
  /** Ids whose bodies must not leave this home any more. */
  readonly purged: Charter['purges'];
}

async function readOne(
  repository: Repository,
  { host, oid, mesh, tellVouched, member, purged }: Branch,
): Promise<{ readonly log: SnapshotLog; readonly usable: readonly VerifiedLine[] }> {
  const lines: (string | Uint8Array)[] = [];
  let damage: string | undefined;
  try {
    for await (const part of streamLog(repository, host, oid))
      for (const line of part) lines.push(purged.size === 0 ? line : withoutBody({ meshId: mesh, purged }, line).line);
  } catch (error) {
    if (!isDamage(error)) throw error;
    damage = `log ${host} could be read to line ${lines.length} only: ${error.code}: ${error.message}`;
  }
  if (member === undefined) {
    const problem = damage ?? `log ${host} belongs to no host of the charter`;
    const damaged = damage !== undefined;
    return { log: { host, oid, lines, links: [], at: '', seq: 0, link: mesh, problem, damaged }, usable: [] };
  }
  const from = { seq: 0, link: mesh };
  const extension = extendLog({ host, mesh, from, keys: holdingKeys(member), purged, tellVouched }, lines);
  const { lines: verified, fault, vouched = [] } = extension;
  const { upto } = usableUpto(member, (seq) => verified[seq - 1]?.link, extension.tip.seq);
  const usable = verified.slice(0, upto);
  const tip = usable.at(-1) ?? from;
  const cut = fault && `log ${host} is cut at line ${fault.seq}: ${fault.code}: ${fault.detail}`;
  const at = usable.findLast(({ body }) => body !== null)?.body?.at ?? '';
  return {
    log: {
      host,
      oid,
      lines,
      links: usable.map(({ link }) => link),
      at,
      seq: tip.seq,
      link: tip.link,
      problem: cut ?? damage ?? (vouched.length === 0 ? undefined : vouchedOnly(host, vouched)),
      damaged: damage !== undefined,
    },
    usable,
  };
}

/** The heads vector of a snapshot. */
export function headsOf({ logs }: Snapshot): Record<string, { readonly seq: number; readonly link: string }> {
  return Object.fromEntries(logs.map(({ host, seq, link }) => [host, { seq, link }]));
}

/**
 * The complete state as canonical JSON: charter items, records, alarms and notices, rules, trust hash and root; equal text
 * on every host at equal heads and trust. Pure.
 */
export function stateText(fold: Fold): string {
  const { records, alarms, notices, root, trust } = readState(fold);
  return canonicalJson({
    alarms: sortedByKey(alarms),
    charter: Object.fromEntries(charterItems(fold.charter)),
    notices: sortedByKey(notices),
    records: sortedByKey(records),
    root,
    rules: rulesVersion,
    trust,
  } as unknown as JsonValue);
}

function sortedByKey<T>(map: ReadonlyMap<string, T>): T[] {
  return [...map].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
}
