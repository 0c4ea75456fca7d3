/** One log from one peer: plan, fetch, judge, take over. */
import { fetchCommitsMax, fetchDeadlineMs, fetchLooseObjectsMax } from '../../core/limits.ts';
import type { VerifiedLine } from '../../core/log.ts';
import type { HeadsTip, LogTip } from '../../core/sync/peer.ts';
import { planLog } from '../../core/sync/plan.ts';
import { whyNotInPlace, type WholeCopy } from '../../core/sync/replace-copy.ts';
import type { AdmissionFault, LogFetched } from '../../core/sync/vocabulary.ts';
import { holdingKeys, usableUpto } from '../../core/trust/usable.ts';
import { isDamage, isOperatingError } from '../../store/errors.ts';
import { removePackedFiles } from '../../store/git/maintenance.ts';
import type { EncodedObject } from '../../store/git/object-id.ts';
import { compareAndSwapRef, logRef } from '../../store/git/refs.ts';
import { writeRewritten } from '../../store/logs/log-rewrite.ts';
import { admitCommit, type Admission } from '../judge/admission.ts';
import { objectsPerLine, packBounds } from './fetch-bounds.ts';
import { fetchPack } from './fetch-pack.ts';
import { readBranch } from '../judge/fork-branch.ts';
import { readLogBase, type LogBase } from './log-base.ts';
import type { ForkPatience } from '../judge/fork-patience.ts';
import type { Locks } from './log-lock.ts';
import { damagedCopy, worldOf, type MeshNode } from '../node.ts';
import type { IntakeForm, Quarantine } from './quarantine.ts';
import type { FolderCache } from '../judge/recording-reader.ts';
import type { PeerConnection } from '../ssh/ssh-client.ts';
import { takeOver } from './take-over.ts';

/** What all peer cycles of one node share. */
export interface SharedState {
  readonly locks: Locks;
  readonly folders: FolderCache;
  readonly bases: Map<string, LogBase>;
  readonly forks: ForkPatience;
}

export interface LogFetch {
  readonly node: MeshNode;
  readonly shared: SharedState;
  readonly connection: PeerConnection;
  readonly peer: string;
  readonly log: string;
  /** What the peer says it holds. */
  readonly offered: HeadsTip;
  /** It cost something in vain lately: see `packBounds`. */
  readonly doubted: boolean;
  readonly deadlineMs: number;
}

/** New lines up to which git unpacks what comes at once, and everything is read in process. */
const looseLinesMax = Math.floor(fetchLooseObjectsMax / objectsPerLine);
/**
 * Fetches what is offered, and takes over as much of it as is good. If our copy turns out to be damaged, it is replaced.
 * Throws OperatingError for failures of this machine.
 */
export async function fetchLog(fetch: LogFetch): Promise<LogFetched> {
  const { log } = fetch;
  const { damage } = fetch.node;
  if (damage === undefined) return fetchMore(fetch);
  if (damage.of(log)) return mendLog(fetch);
  try {
    const fetched = await fetchMore(fetch);
    // Objects of ours that are missing under a thin pack look like a fault of the peer.
    if (fetched.failure?.code !== 'PACK_REFUSED' || !(await damage.recheck(log))) return fetched;
  } catch (error) {
    // REF_CHANGED: somebody moved the branch by hand; what we hold was verified, and the branch comes back with the peer's copy.
    if (!isDamage(error) && !isOperatingError(error, 'REF_CHANGED')) throw error;
    // What failed may as well have been a write of ours.
    if (!(await damage.recheck(log)) && !isOperatingError(error, 'REF_CHANGED')) throw error;
  }
  return mendLog(fetch);
}

/** The whole log, judged without anything of ours, and put in the place of our copy. */
function mendLog(fetch: LogFetch): Promise<LogFetched> {
  const { node, log, offered, shared } = fetch;
  shared.bases.delete(log);
  return fetchAs(fetch, undefined, { form: 'pack', lines: offered.seq, mend: { from: node.tip(log)?.oid } });
}

/** While we waited or fetched another peer may have brought it, or more: then who offers less of the same log told no lie. */
function isStillWanted({ node, log, offered }: LogFetch): boolean {
  return planLog(worldOf(node), log, offered) === 'fetch';
}

async function fetchMore(fetch: LogFetch): Promise<LogFetched> {
  if (!isStillWanted(fetch)) return { lines: 0 };
  const ours = fetch.node.tip(fetch.log);
  // Read before anything is asked for: a thin pack on a damaged copy of ours would look like a fault of the peer.
  if (ours !== undefined) await baseAt(fetch, ours);
  const newLines = Math.max(1, fetch.offered.seq - (ours?.seq ?? 0));
  if (newLines > looseLinesMax) return fetchAs(fetch, ours, { form: 'pack', lines: newLines });
  const result = await fetchAs(fetch, ours, { form: 'loose', lines: newLines });
  // More came than new lines account for: the peer has another history than ours, perhaps with the same lines.
  const again = result === 'unrelated' || result.failure?.code === 'TOO_LARGE';
  return again ? fetchAs(fetch, ours, { form: 'pack', lines: fetch.offered.seq }) : result;
}

interface Size {
  readonly form: IntakeForm;
  readonly lines: number;
  /** In the place of our copy, which is damaged; undefined: on top of it. */
  readonly mend?: Mending | undefined;
}

/** Commit of the damaged copy; undefined when nothing of it can be read. */
interface Mending {
  readonly from: string | undefined;
}

async function fetchAs(fetch: LogFetch, ours: LogTip | undefined, size: Size & { form: 'pack' }): Promise<LogFetched>;
async function fetchAs(fetch: LogFetch, ours: LogTip | undefined, size: Size): Promise<LogFetched | 'unrelated'>;
async function fetchAs(fetch: LogFetch, ours: LogTip | undefined, size: Size): Promise<LogFetched | 'unrelated'> {
  const { form, lines, mend } = size;
  const bounds = packBounds(lines, fetch.doubted);
  const fetched = await fetchPack({
    connection: fetch.connection,
    repository: fetch.node.repository,
    wants: [fetch.offered.oid],
    haves: ours === undefined ? [] : [ours.oid],
    form,
    alone: mend !== undefined,
    bytesMax: bounds.bytesMax,
    objectsMax: form === 'loose' ? fetchLooseObjectsMax : bounds.objectsMax,
    deadlineMs: Math.min(fetchDeadlineMs, fetch.deadlineMs),
  });
  if (!fetched.ok) return { lines: 0, failure: { code: fetched.code, detail: fetched.detail } };
  const { quarantine, objects } = fetched.value;
  const judge = (keep: IntakeForm): Promise<LogFetched | 'unrelated'> =>
    judgeAndTake(fetch, quarantine, { lines, keep, mend });
  try {
    return await fetch.shared.locks.run(fetch.log, async () => {
      if (form === 'loose' || mend !== undefined) return judge(form);
      // A thousand lines in one commit are a few objects: no reason to leave a pack behind.
      const result = objects <= fetchLooseObjectsMax ? await judge('loose') : 'unrelated';
      return result === 'unrelated' ? judge('pack') : result;
    });
  } finally {
    quarantine.remove();
  }
}

interface Keeping {
  readonly lines: number;
  readonly keep: IntakeForm;
  readonly mend: Mending | undefined;
}

/** Under the log's lock: our tip may have moved while we fetched. */
async function judgeAndTake(fetch: LogFetch, quarantine: Quarantine, how: Keeping): Promise<LogFetched | 'unrelated'> {
  const { node, log, offered, shared } = fetch;
  const ours = node.tip(log);
  // What another peer brought or mended meanwhile is not replaced.
  if (how.mend === undefined ? !isStillWanted(fetch) : ours?.oid !== how.mend.from) return { lines: 0 };
  // Revoked meanwhile: its lines are nobody's any more.
  const host = node.charter().hosts.get(log);
  if (host === undefined) return { lines: 0 };
  const admission = await admitCommit({
    view: quarantine.view,
    keep: how.keep,
    cache: shared.folders,
    log,
    mesh: node.meshId,
    keys: holdingKeys(host),
    purged: node.purged?.(),
    base: ours === undefined || how.mend !== undefined ? null : await baseAt(fetch, ours),
    commit: offered.oid,
    commitsMax: Math.min(how.keep === 'loose' ? fetchLooseObjectsMax : fetchCommitsMax, how.lines),
    deadlineMs: Math.min(fetchDeadlineMs, fetch.deadlineMs),
  });
  switch (admission.kind) {
    case 'unrelated':
      return 'unrelated';
    case 'same':
    case 'shorter':
      return { lines: 0, mismatch: admission.kind };
    case 'refused':
      await keepOtherSide(fetch, quarantine, admission.fault);
      return { lines: 0, fault: admission.fault };
    case 'extended':
      return how.mend !== undefined
        ? takeInPlace(fetch, { quarantine, admission })
        : take(fetch, ours, { quarantine, admission, keep: how.keep });
  }
}

/** Ours stays; what the host signed besides is evidence, and some of it may be said nowhere else. */
async function keepOtherSide(
  { node, log, offered }: LogFetch,
  { view }: Quarantine,
  fault: AdmissionFault,
): Promise<void> {
  if (fault.fork === undefined || node.keepBranch === undefined) return;
  await node.keepBranch(await readBranch(node, log, { view, commit: offered.oid }));
}

/**
 * Nothing that was good is given up: what comes must hold every line that is known to have been in ours, unless a signer
 * pinned another branch than ours; and it must be that branch.
 */
async function takeInPlace(
  fetch: LogFetch,
  taken: { quarantine: Quarantine; admission: Extract<Admission, { kind: 'extended' }> },
): Promise<LogFetched> {
  const { node, log, shared, peer } = fetch;
  const { lines, fault } = taken.admission;
  const copy = damagedCopy(node, log);
  const { good } = copy;
  // Of another branch than the one that comes nothing stays.
  const known = good !== undefined && lines[good.seq - 1]?.link === good.link ? good.seq : 0;
  const why = whyNotInPlace(copy, wholeCopy(taken.admission));
  if (why === 'shorter') return { lines: 0, ...(fault === undefined ? { mismatch: 'shorter' } : { fault }) };
  if (why === 'unknown') return { lines: 0, vain: true };
  const other = [good, copy.last].find((line) => line?.link !== undefined && lines[line.seq - 1]?.link !== line.link);
  const seq = other?.seq ?? good?.seq ?? 0;
  const wrong = why === 'other' ? `it has another line ${seq} than we do` : notThePinned(node, log, lines);
  if (wrong !== undefined) return { lines: 0, fault: { code: 'NOT_EXTENSION', seq, detail: wrong } };
  const { kept, clean } = await keep(fetch, taken, 'pack');
  // A damaged file of an object hides the good copy in the pack.
  await removePackedFiles(node.repository);
  await compareAndSwapRef(node.repository, { ref: logRef(log), expected: undefined, next: kept.tip.oid });
  shared.bases.set(log, kept);
  const fresh = lines.slice(known);
  await node.admitLines({ log, lines: fresh, tip: kept.tip, via: peer, mended: true });
  return { lines: fresh.length, ...faultOf(fault, clean) };
}

/** The copy that was judged, as one that is to take the place of ours. */
export function wholeCopy({ lines, commits }: Extract<Admission, { kind: 'extended' }>): WholeCopy {
  const oids = new Set(commits);
  return { lines: lines.length, linkAt: (seq) => lines[seq - 1]?.link, hasCommit: (oid) => oids.has(oid) };
}

function notThePinned(node: MeshNode, log: string, lines: readonly VerifiedLine[]): string | undefined {
  const host = node.charter().hosts.get(log);
  const bounds = host && usableUpto(host, (seq) => lines[seq - 1]?.link, lines.length);
  return bounds?.fault === undefined ? undefined : 'it is not the branch that a signer pinned';
}

interface Kept {
  readonly kept: LogBase;
  /** The pack held nothing else. */
  readonly clean: boolean;
}

/**
 * Makes durable what was admitted. A peer that has not purged yet sends bodies that this host must not hold: of what it
 * sent only the lines are kept, with holes, in a commit of our own.
 */
export async function keep(
  { node, log, shared }: Pick<LogFetch, 'node' | 'log' | 'shared'>,
  { quarantine, admission }: { quarantine: Quarantine; admission: Extract<Admission, { kind: 'extended' }> },
  objects: readonly EncodedObject[] | 'pack',
): Promise<Kept> {
  const { repository, meshId } = node;
  const { base, commits } = admission;
  const purged = node.purged?.();
  const source = { view: quarantine.view, commit: base.tip.oid };
  const rewritten =
    admission.covered && purged && (await writeRewritten({ repository, host: log, meshId, purged }, source));
  if (!rewritten) {
    // A damaged copy of ours holds nothing that can be left out.
    const held = quarantine.view.alternates.length === 0 ? undefined : node.tip(log)?.oid;
    const whole = objects === 'pack' ? { commits, base: held } : objects;
    return { kept: base, clean: await takeOver(repository, quarantine, whole) };
  }
  const tip = { ...base.tip, oid: rewritten.oid };
  return { kept: await readLogBase(repository, log, { tip, mesh: meshId, cache: shared.folders }), clean: true };
}

async function baseAt({ node, log, shared }: LogFetch, tip: LogTip): Promise<LogBase> {
  const known = shared.bases.get(log);
  if (known?.tip.oid === tip.oid) return known;
  const base = await readLogBase(node.repository, log, { tip, mesh: node.meshId, cache: shared.folders });
  shared.bases.set(log, base);
  return base;
}

async function take(
  fetch: LogFetch,
  ours: LogTip | undefined,
  taken: { quarantine: Quarantine; admission: Extract<Admission, { kind: 'extended' }>; keep: IntakeForm },
): Promise<LogFetched> {
  const { node, log, shared, peer } = fetch;
  const { lines, objects, fault } = taken.admission;
  const { kept, clean } = await keep(fetch, taken, taken.keep === 'pack' ? 'pack' : objects);
  await compareAndSwapRef(node.repository, { ref: logRef(log), expected: ours?.oid ?? null, next: kept.tip.oid });
  shared.bases.set(log, kept);
  const since = performance.now();
  await node.admitLines({ log, lines, tip: kept.tip, via: peer });
  const foldMs = performance.now() - since;
  return { lines: lines.length, foldMs, ...faultOf(fault, clean) };
}

/** Good lines in a pack of rubbish are taken, and its sender is charged for it. */
function faultOf(fault: AdmissionFault | undefined, clean: boolean): Pick<LogFetched, 'fault'> {
  if (fault !== undefined) return { fault };
  const detail = 'its pack holds objects that no commit of the log names; they were left out';
  return clean ? {} : { fault: { code: 'TOO_LARGE', detail } };
}
