/** Which log is fetched from whom, one at a time from each peer, and what is remembered of what was refused. */
import { refusalForgetMs, sharedFetchWaitMs } from '../limits.ts';
import { isDown } from './outcome.ts';
import { chargeFold, chargeFork, chargeGood, chargeVain, goodRestsUntil, isDoubted, restsFor } from './patience.ts';
import type { Heads, HeadsTip, MeshAlarm } from './peer.ts';
import { offerName, planLog } from './plan.ts';
import { askAgainAt } from './next.ts';
import {
  change,
  changeCycle,
  changePeer,
  emit,
  markAsked,
  noteAlarms,
  noteFault,
  noteLines,
  peerOf,
  remainingOf,
  type Turn,
} from './turn.ts';
import type { LogFetched } from './vocabulary.ts';

/** The logs of an answer that may be looked at: only of hosts of the charter, never our own. */
export function listLogs(turn: Turn, peer: string, { heads }: Heads): void {
  const { world } = turn;
  if (heads[peer] === undefined && world.tip(peer) !== undefined) noteRollback(turn, peer, 0);
  // A peer cannot make us ask for a branch that it invented.
  const todo = Object.keys(heads).filter((log) => log !== world.host && world.isEnrolled(log));
  changeCycle(turn, peer, { todo });
}

/** Looks at the logs that are left until one is to be fetched. @returns true when none is left. */
export function continueLogs(turn: Turn, peer: string): boolean {
  const { cycle } = peerOf(turn, peer);
  if (cycle?.todo === undefined || cycle.heads === undefined || cycle.outstanding) return false;
  for (const log of cycle.todo) {
    const offered = cycle.heads.heads[log];
    if (offered === undefined || waitsForOther(turn, peer, { log, offered })) continue;
    changeCycle(turn, peer, { todo: (peerOf(turn, peer).cycle?.todo ?? []).filter((other) => other !== log) });
    if (!wants(turn, peer, { log, offered }) || mustRest(turn, peer, log)) continue;
    startFetch(turn, peer, { log, offered });
    return false;
  }
  return peerOf(turn, peer).cycle?.todo?.length === 0;
}

/** It waits, unless somebody asks. What is good is asked for as soon as it may be, since nobody may come to say so again. */
function mustRest(turn: Turn, peer: string, log: string): boolean {
  if (peerOf(turn, peer).cycle?.tokens.length !== 0) return false;
  if (restsFor(turn, peer, log)) return true;
  const until = goodRestsUntil(turn, log);
  if (until <= turn.at) return false;
  askAgainAt(turn, peer, until);
  return true;
}

interface Offer {
  readonly log: string;
  readonly offered: HeadsTip;
}

/** The same lines are on their way from another peer: for a short while they are not asked for twice. */
function waitsForOther(turn: Turn, peer: string, { log, offered }: Offer): boolean {
  const { cycle } = peerOf(turn, peer);
  const other = turn.state.fetching.get(log);
  // The owner's own copy is never waited for: it is the one that everybody's history follows.
  if (cycle === undefined || other === undefined || other.link !== offered.link || peer === log) return false;
  const until = cycle.waits.get(log) ?? turn.at + sharedFetchWaitMs;
  if (!cycle.waits.has(log)) changeCycle(turn, peer, { waits: new Map(cycle.waits).set(log, until) });
  return turn.at < until;
}

function wants(turn: Turn, peer: string, { log, offered }: Offer): boolean {
  const plan = planLog(turn.world, log, offered);
  if (plan === 'behind' && peer === log) noteRollback(turn, peer, offered.seq);
  if (plan !== 'fetch') {
    remember(turn, peer, { log });
    return false;
  }
  const refused = peerOf(turn, peer).memory.refused.get(log);
  if (refused?.offer !== refusalName(offered, turn.world.trust().hash) || refused.until <= turn.at) return true;
  noteAlarms(turn, peer, [refused.alarm]);
  return false;
}

function startFetch(turn: Turn, peer: string, { log, offered }: Offer): void {
  const { cycle } = peerOf(turn, peer);
  if (cycle === undefined) return;
  const { number } = cycle;
  const entry = { peer, cycle: number, link: offered.link };
  change(turn, { fetching: new Map(turn.state.fetching).set(log, entry) });
  markAsked(turn, peer);
  changeCycle(turn, peer, { trust: turn.world.trust().hash });
  emit(turn, {
    kind: 'fetch-log',
    peer,
    cycle: number,
    log,
    offered,
    doubted: isDoubted(turn, peer, log),
    deadlineMs: remainingOf(turn, cycle),
  });
}

/** Notes that a fetch is over, whatever came of it. */
export function endFetch(turn: Turn, peer: string, cycle: number): void {
  const fetching = new Map(turn.state.fetching);
  for (const [log, entry] of turn.state.fetching)
    if (entry.peer === peer && entry.cycle === cycle) fetching.delete(log);
  if (fetching.size < turn.state.fetching.size) change(turn, { fetching });
}

/** What came of the fetch of one log. */
export function takeLog(turn: Turn, peer: string, { log, fetched }: { log: string; fetched: LogFetched }): void {
  const offered = peerOf(turn, peer).cycle?.heads?.heads[log];
  if (offered === undefined) return;
  noteLines(turn, peer, { log, lines: fetched.lines });
  const alarm = alarmOf(peer, log, fetched);
  remember(turn, peer, { log, offered, alarm });
  const { failure, fault, vain = false } = fetched;
  chargeFold(turn, log, fetched);
  if (fetched.lines > 0 && alarm === undefined) chargeGood(turn, log, peerOf(turn, peer).cycle?.askedAt ?? turn.at);
  if (fault?.fork !== undefined && peer !== log) chargeFork(turn, peer, log);
  else if (alarm !== undefined || failure !== undefined || vain)
    chargeVain(turn, peer, { waited: failure !== undefined && isDown(failure.code) });
  if (fault?.fork !== undefined) emit(turn, { kind: 'prove-fork', log, lines: fault.fork });
  if (alarm !== undefined) return noteAlarms(turn, peer, [alarm]);
  if (failure !== undefined) noteFault(turn, peer, { code: failure.code, detail: `log ${log}: ${failure.detail}` });
}

/** A purge, a key or a pin that is heard of later may make the same offer good: it was refused under one trust set. */
function refusalName(offered: HeadsTip, trust: string): string {
  return `${offerName(offered)} ${trust}`;
}

/** With an alarm, the offer is not fetched again for a while; without, what was remembered of the log is forgotten. */
function remember(
  turn: Turn,
  peer: string,
  { log, offered, alarm }: { log: string; offered?: HeadsTip; alarm?: MeshAlarm | undefined },
): void {
  const { cycle, memory } = peerOf(turn, peer);
  if (alarm === undefined && !memory.refused.has(log)) return;
  const refused = new Map(memory.refused);
  if (alarm === undefined || offered === undefined) refused.delete(log);
  else refused.set(log, { offer: refusalName(offered, cycle?.trust ?? ''), alarm, until: turn.at + refusalForgetMs });
  changePeer(turn, peer, { memory: { ...memory, refused } });
}

function noteRollback(turn: Turn, peer: string, seq: number): void {
  const held = turn.world.tip(peer)?.seq ?? 0;
  const detail = `${peer} holds ${seq} lines of its own log, we hold ${held}: it lost some; ours are kept`;
  noteAlarms(turn, peer, [{ code: 'ROLLED_BACK', peer, log: peer, seq, detail }]);
}

function alarmOf(peer: string, log: string, { fault, failure, mismatch }: LogFetched): MeshAlarm | undefined {
  if (fault !== undefined) {
    const { fork: _, ...told } = fault;
    return { peer, log, ...told, detail: `log ${log}: ${fault.detail}` };
  }
  if (mismatch !== undefined) {
    const detail = `log ${log}: what it sends holds no more than we do, though it says so`;
    return { code: 'HEADS_WRONG', peer, log, detail };
  }
  if (failure?.code !== 'PACK_REFUSED' && failure?.code !== 'TOO_LARGE') return undefined;
  return { code: failure.code, peer, log, detail: `log ${log}: ${failure.detail}` };
}
