/**
 * One cycle with one peer: heads, then the trust set (it decides whose lines count), then the logs. What a peer was
 * refused for is remembered by commit, so that it is not fetched again in every cycle, and reported while it lasts.
 */
import { headsBytesMax, headsDeadlineMs, peerAlarmsMax, refusalForgetMs, sharedFetchWaitMs } from '../core/limits.ts';
import { ok, refuse, type Result } from '../crypto/result.ts';
import { isOperatingError, printable, type OperatingError } from '../store/errors.ts';
import { fetchLog, type LogFetched, type SharedState } from './fetch-log.ts';
import { fetchTrust } from './fetch-trust.ts';
import { parseHeads, type Heads, type HeadsTip } from './heads.ts';
import type { MeshAlarm, MeshNode, PeerFault, PeerFaultCode, PeerOutcome } from './node.ts';
import { claimOf, judgeOwnClaim, type OwnVerdict } from './own-claim.ts';
import type { PeerConnection } from './ssh-client.ts';

/** What is remembered of a peer between cycles. */
export interface PeerMemory {
  /** Trust branch that was read last, and what was wrong with it. */
  trust: { readonly oid: string; readonly alarms: readonly MeshAlarm[]; readonly until: number } | undefined;
  /** What it said of our own log, beyond what we held then, and what came of it. */
  own?: { readonly about: string; readonly verdict: OwnVerdict; readonly until: number } | undefined;
  /** By log: the offer that was refused, wholly or in part. */
  readonly refused: Map<string, { readonly offer: string; readonly alarm: MeshAlarm; readonly until: number }>;
}

export function emptyMemory(): PeerMemory {
  return { trust: undefined, refused: new Map() };
}

/** Fetches under way, by log: two peers that offer the same lines are not both asked for them. */
export type RunningFetches = Map<string, { readonly link: string; readonly done: Promise<unknown> }>;

export interface CycleContext {
  readonly node: MeshNode;
  readonly shared: SharedState;
  readonly running: RunningFetches;
  readonly connection: PeerConnection;
  readonly peer: string;
  readonly memory: PeerMemory;
  /** On the monotonic clock of `performance.now()`. */
  readonly deadlineAt: number;
  /** Asks for the heads, and fetches nothing but proof of what is said of our own log. */
  readonly headsOnly: boolean;
}

interface Draft {
  readonly lines: Record<string, number>;
  readonly alarms: MeshAlarm[];
  trustAdded: readonly string[];
  heads?: Heads;
  /** The first fault that is not an alarm. */
  fault?: PeerFault;
}

/** Alarms that are about the peer's data being refused; the others are only news. */
const newsCodes: ReadonlySet<string> = new Set(['OP_UNSUPPORTED', 'OWN_LOG_AHEAD']);

/** Runs one cycle. Never rejects: failures of this machine become `LOCAL`. */
export async function runPeerCycle(context: CycleContext): Promise<PeerOutcome> {
  const draft: Draft = { lines: {}, alarms: [], trustAdded: [] };
  try {
    const heads = await askHeads(context);
    if (!heads.ok) draft.fault = { code: heads.code, detail: heads.detail };
    else {
      draft.heads = heads.value;
      await exchangeOwnLog(context, heads.value, draft);
      if (!context.headsOnly && draft.fault === undefined) await exchange(context, heads.value, draft);
    }
  } catch (error) {
    draft.fault = {
      code: 'LOCAL',
      detail: isOperatingError(error) ? describeFailure(error) : printable(String(error)),
    };
  }
  return finish(context.peer, draft);
}

/** The next step belongs to it: a failure of this machine is for whoever reads it to put right. */
function describeFailure({ message, code, hint }: OperatingError): string {
  return printable(`${printable(message)} (${code})${hint === '' ? '' : `; ${hint}`}`, 600);
}

function finish(peer: string, draft: Draft): PeerOutcome {
  const { lines, trustAdded, heads, fault } = draft;
  const alarms = draft.alarms.slice(0, peerAlarmsMax);
  const refusal = alarms.find(({ code }) => !newsCodes.has(code));
  const reason = fault ?? (refusal === undefined ? undefined : { code: refusal.code, detail: refusal.detail });
  const state = reason === undefined ? 'up' : isRefusal(reason.code, heads !== undefined) ? 'refused' : 'down';
  const newEvents = Object.values(lines).reduce((sum, count) => sum + count, 0);
  return {
    peer,
    state,
    newEvents,
    lines,
    trustAdded,
    alarms,
    ...(reason === undefined ? {} : { reason }),
    ...(heads === undefined ? {} : { heads }),
  };
}

const refusalCodes: ReadonlySet<PeerFaultCode> = new Set([
  'REFUSED_KEY',
  'HOST_KEY_MISMATCH',
  'PROTOCOL',
  'FOREIGN_MESH',
  'REFUSED_COMMAND',
  'TOO_LARGE',
]);
const downCodes: ReadonlySet<PeerFaultCode> = new Set([
  'UNREACHABLE',
  'TIMEOUT',
  'CLOSED',
  'BUSY',
  'LOCAL',
  'NO_ADDRESS',
  'NOT_ENROLLED',
]);

/** A peer that answered and then broke off is down; one whose identity, protocol or data is wrong is refused. */
function isRefusal(code: PeerFaultCode, answered: boolean): boolean {
  return refusalCodes.has(code) || (answered && !downCodes.has(code));
}

function remaining({ deadlineAt }: CycleContext): number {
  return Math.max(1, deadlineAt - performance.now());
}

async function askHeads(context: CycleContext): Promise<Result<Heads, PeerFaultCode>> {
  const { node, peer, connection } = context;
  const answer = await connection.run('memd heads', {
    bytesMax: headsBytesMax,
    deadlineMs: Math.min(headsDeadlineMs, remaining(context)),
  });
  if (!answer.ok) return answer;
  const heads = parseHeads(answer.value.toString('utf8').replace(/\n$/, ''));
  if (!heads.ok) return refuse('PROTOCOL', `its heads cannot be read: ${heads.detail}`);
  if (heads.value.mesh !== node.meshId)
    return refuse('FOREIGN_MESH', `it belongs to mesh ${heads.value.mesh.slice(0, 12)}`);
  if (heads.value.host !== peer) return refuse('PROTOCOL', `it calls itself ${heads.value.host}`);
  return ok(heads.value);
}

async function exchange(context: CycleContext, heads: Heads, draft: Draft): Promise<void> {
  await exchangeTrust(context, heads, draft);
  const { node, peer } = context;
  if (heads.heads[peer] === undefined && node.tip(peer) !== undefined) noteRollback(context, 0, draft);
  for (const [log, offered] of Object.entries(heads.heads)) {
    if (draft.fault !== undefined && downCodes.has(draft.fault.code)) return;
    // Only hosts of the charter: a peer cannot make us ask for a branch that it invented.
    if (log !== node.host && node.charter().hosts.has(log)) await exchangeLog(context, log, { offered, draft });
  }
}

/** Trust first: afterwards the charter names every host whose lines are about to come. */
async function exchangeTrust(context: CycleContext, heads: Heads, draft: Draft): Promise<void> {
  const { node, connection, peer, memory } = context;
  const { oid, hash, kept } = heads.trust;
  const ours = node.trust();
  // An op that nobody here can apply is no part of the trust hash, and must reach every host all the same.
  if (hash === ours.hash && (kept ?? ours.kept) === ours.kept) return;
  const known = memory.trust;
  if (known?.oid === oid && known.until > performance.now()) return void draft.alarms.push(...known.alarms);
  const fetched = await fetchTrust({
    connection,
    repository: node.repository,
    commit: oid,
    holds: (id) => node.holdsTrustOp(id),
    deadlineMs: remaining(context),
  });
  const until = performance.now() + refusalForgetMs;
  if (!fetched.ok) {
    if (fetched.code !== 'TRUST_SHAPE' && fetched.code !== 'PACK_REFUSED')
      return void (draft.fault = { code: fetched.code, detail: fetched.detail });
    memory.trust = { oid, until, alarms: [{ code: fetched.code, peer, detail: `branch trust: ${fetched.detail}` }] };
  } else {
    const admitted = fetched.value.ops.length === 0 ? undefined : await node.admitTrust(fetched.value.ops, peer);
    draft.trustAdded = admitted?.added ?? [];
    const bad = [...fetched.value.bad, ...(admitted?.dropped ?? [])];
    memory.trust = {
      oid,
      until,
      alarms: [
        ...(admitted?.unsupported ?? []).map(
          ({ id, op }) =>
            ({
              code: 'OP_UNSUPPORTED',
              peer,
              op: id,
              detail: `not supported yet: ${op}, trust op ${id.slice(0, 12)} carried by ${peer}; upgrade memctl here`,
            }) as const,
        ),
        ...bad.map(
          ({ id, detail }) =>
            ({ code: 'TRUST_OP', peer, op: id, detail: printable(`trust op ${id.slice(0, 12)}: ${detail}`) }) as const,
        ),
      ],
    };
  }
  draft.alarms.push(...memory.trust.alarms);
}

/**
 * A peer that holds more of our own log, or another one, has seen what this home has lost: if it can prove it. Whoever
 * waits for what peers hold of it is told first that there is something to wait for.
 */
async function exchangeOwnLog(context: CycleContext, heads: Heads, draft: Draft): Promise<void> {
  const { node, peer, memory } = context;
  const offered = heads.heads[node.host];
  const claims = offered !== undefined && claimOf(node, offered) !== 'none';
  if (claims) node.onOwnLog?.(peer, 'looking');
  node.onHeads?.(peer, heads);
  if (!claims) return void (memory.own = undefined);
  let verdict: OwnVerdict | undefined;
  try {
    verdict = await verdictOf(context, offered);
  } finally {
    node.onOwnLog?.(peer, verdict?.kind === 'proven' ? verdict.line : 'unproven');
  }
  noteOwnLog(context, { offered, verdict }, draft);
}

async function verdictOf(context: CycleContext, offered: HeadsTip): Promise<OwnVerdict> {
  const { node, shared, connection, peer, memory } = context;
  const about = `${offerName(offered)} ${node.tip(node.host)?.link ?? ''}`;
  if (memory.own?.about === about && memory.own.until > performance.now()) return memory.own.verdict;
  const deadlineMs = remaining(context);
  const verdict = await using(node, () =>
    judgeOwnClaim({ node, shared, connection, peer, log: node.host, offered, deadlineMs }),
  );
  const passing = verdict.kind === 'unknown' && downCodes.has(verdict.code);
  memory.own = passing ? undefined : { about, verdict, until: performance.now() + refusalForgetMs };
  return verdict;
}

function noteOwnLog(
  { node, peer }: CycleContext,
  { offered, verdict }: { readonly offered: HeadsTip; readonly verdict: OwnVerdict },
  draft: Draft,
): void {
  const log = node.host;
  if (verdict.kind === 'settled') return;
  if (verdict.kind === 'proven') {
    const { seq } = verdict.line;
    const what = verdict.ahead
      ? `${seq} lines of our own log, signed by us; we hold ${node.tip(log)?.seq ?? 0}`
      : `another line ${seq} of our own log than we do, signed by us`;
    const detail = `${peer} holds ${what}: this home was restored or copied`;
    return void draft.alarms.push({ code: 'OWN_LOG_AHEAD', peer, log, seq, detail });
  }
  if (verdict.kind === 'unknown' && downCodes.has(verdict.code))
    return void (draft.fault = { code: verdict.code, detail: `log ${log}, our own: ${verdict.detail}` });
  draft.alarms.push({
    code: 'HEADS_WRONG',
    peer,
    log,
    seq: offered.seq,
    detail: printable(
      `it says it holds line ${offered.seq} of our own log, and proves no line that we lack: ${verdict.detail}`,
    ),
  });
}

function noteRollback({ node, peer }: CycleContext, seq: number, draft: Draft): void {
  const held = node.tip(peer)?.seq ?? 0;
  draft.alarms.push({
    code: 'ROLLED_BACK',
    peer,
    log: peer,
    seq,
    detail: `${peer} holds ${seq} lines of its own log, we hold ${held}: it lost some; ours are kept`,
  });
}

/** `fetch`: ask for it. `behind`: it holds less of the same log. */
function planLog({ node }: CycleContext, log: string, offered: HeadsTip): 'none' | 'behind' | 'fetch' {
  const ours = node.tip(log);
  // A copy of ours that is damaged is taken anew from whoever holds at least what is good of it.
  if (node.damage?.of(log) === true) return offered.seq >= (ours?.seq ?? 0) ? 'fetch' : 'none';
  if (ours?.link === offered.link) return 'none';
  if (ours === undefined || offered.seq >= ours.seq) return 'fetch';
  const link = node.linkAt(log, offered.seq);
  return link === undefined || link === offered.link ? 'behind' : 'fetch';
}

async function exchangeLog(context: CycleContext, log: string, at: { offered: HeadsTip; draft: Draft }): Promise<void> {
  const { offered, draft } = at;
  const { peer, memory, running } = context;
  const shared = running.get(log);
  // The owner's own copy is never waited for: it is the one that everybody's history follows.
  if (shared?.link === offered.link && peer !== log)
    await Promise.race([shared.done, pause(Math.min(sharedFetchWaitMs, remaining(context)))]);
  const plan = planLog(context, log, offered);
  if (plan === 'behind' && peer === log) noteRollback(context, offered.seq, draft);
  if (plan !== 'fetch') return void memory.refused.delete(log);
  const refused = memory.refused.get(log);
  if (refused?.offer === offerName(offered) && refused.until > performance.now())
    return void draft.alarms.push(refused.alarm);
  const { node, connection } = context;
  const deadlineMs = remaining(context);
  const done = using(node, () =>
    fetchLog({ node, shared: context.shared, connection, peer, log, offered, deadlineMs }),
  );
  const entry = { link: offered.link, done: done.catch(() => undefined) };
  running.set(log, entry);
  try {
    noteLog(context, log, { ...at, fetched: await done });
  } finally {
    if (running.get(log) === entry) running.delete(log);
  }
}

/** A fetch is planned on objects that are held: none may be dropped until it is done. */
function using<T>({ gate }: MeshNode, work: () => Promise<T>): Promise<T> {
  return gate === undefined ? work() : gate.use(work);
}

function offerName({ oid, seq, link }: HeadsTip): string {
  return `${oid} ${seq} ${link}`;
}

function noteLog(
  { peer, memory }: CycleContext,
  log: string,
  at: { offered: HeadsTip; draft: Draft; fetched: LogFetched },
): void {
  const { offered, draft, fetched } = at;
  if (fetched.lines > 0) draft.lines[log] = (draft.lines[log] ?? 0) + fetched.lines;
  const alarm = alarmOf(peer, log, fetched);
  if (alarm !== undefined) {
    memory.refused.set(log, { offer: offerName(offered), alarm, until: performance.now() + refusalForgetMs });
    draft.alarms.push(alarm);
    return;
  }
  memory.refused.delete(log);
  if (fetched.failure !== undefined)
    draft.fault ??= { code: fetched.failure.code, detail: `log ${log}: ${fetched.failure.detail}` };
}

function alarmOf(peer: string, log: string, fetched: LogFetched): MeshAlarm | undefined {
  const { fault, failure, mismatch } = fetched;
  if (fault !== undefined) return { peer, log, ...fault, detail: printable(`log ${log}: ${fault.detail}`) };
  if (mismatch !== undefined)
    return {
      code: 'HEADS_WRONG',
      peer,
      log,
      detail: `log ${log}: what it sends holds no more than we do, though it says so`,
    };
  if (failure?.code !== 'PACK_REFUSED' && failure?.code !== 'TOO_LARGE') return undefined;
  return { code: failure.code, peer, log, detail: printable(`log ${log}: ${failure.detail}`) };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref());
}
