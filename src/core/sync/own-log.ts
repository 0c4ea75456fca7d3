/**
 * A peer that holds more of our own log, or another one, has seen what this home has lost: if it can prove it by a line
 * that our key signed. What it merely says counts for nothing.
 */
import { refusalForgetMs } from '../limits.ts';
import { isDown } from './outcome.ts';
import { chargeVain, isDoubted } from './patience.ts';
import type { Heads, HeadsTip, SignedLine } from './peer.ts';
import { claimOf, offerName } from './plan.ts';
import { changePeer, emit, markAsked, noteAlarms, noteFault, peerOf, remainingOf, change, type Turn } from './turn.ts';
import type { OwnVerdict, World } from './vocabulary.ts';

/**
 * Tells what the peer says it holds, and has a claim about our own log looked into. Whoever waits for what peers hold is
 * told first that there is something to wait for. @returns true once nothing is being looked into.
 */
export function lookAtOwnLog(turn: Turn, peer: string, heads: Heads): boolean {
  const { world } = turn;
  const offered = heads.heads[world.host];
  const claims = offered !== undefined && claimOf(world, offered) !== 'none';
  if (claims) setLooking(turn, peer, true);
  emit(turn, { kind: 'heard', peer, heads });
  const { cycle, memory } = peerOf(turn, peer);
  if (!claims) {
    changePeer(turn, peer, { memory: { ...memory, own: undefined } });
    return true;
  }
  const known = memory.own;
  if (known?.about === aboutOf(world, offered) && known.until > turn.at) {
    noteVerdict(turn, peer, known.verdict);
    return true;
  }
  if (cycle === undefined) return true;
  const deadlineMs = remainingOf(turn, cycle);
  markAsked(turn, peer);
  emit(turn, { kind: 'judge-own', peer, cycle: cycle.number, offered, doubted: isDoubted(turn, peer), deadlineMs });
  return false;
}

/** What came of looking. */
export function takeVerdict(turn: Turn, peer: string, verdict: OwnVerdict): void {
  const { cycle, memory } = peerOf(turn, peer);
  const offered = cycle?.heads?.heads[turn.world.host];
  if (offered === undefined) return;
  if (verdict.kind === 'wrong' || verdict.kind === 'unknown' || (verdict.kind === 'settled' && verdict.vain === true))
    chargeVain(turn, peer, { waited: verdict.kind === 'unknown' && isDown(verdict.code) });
  const passing = verdict.kind === 'unknown' && isDown(verdict.code);
  const about = aboutOf(turn.world, offered);
  const own = passing ? undefined : { about, verdict, until: turn.at + refusalForgetMs };
  changePeer(turn, peer, { memory: { ...memory, own } });
  if (verdict.kind === 'proven' && verdict.fork !== undefined)
    emit(turn, { kind: 'prove-fork', log: turn.world.host, lines: verdict.fork });
  noteVerdict(turn, peer, verdict);
}

/** Nothing is looked into any more: the cycle failed or was given up. */
export function stopLooking(turn: Turn, peer: string): void {
  if (turn.state.own.looking.has(peer)) tellClaim(turn, peer, 'unproven');
}

function aboutOf(world: World, offered: HeadsTip): string {
  return `${offerName(offered)} ${world.tip(world.host)?.link ?? ''}`;
}

function setLooking(turn: Turn, peer: string, looks: boolean): void {
  const looking = new Set(turn.state.own.looking);
  if (looks) looking.add(peer);
  else looking.delete(peer);
  change(turn, { own: { ...turn.state.own, looking } });
  if (looks) emit(turn, { kind: 'own-claim', peer, claim: 'looking' });
}

function tellClaim(turn: Turn, peer: string, claim: 'unproven' | SignedLine): void {
  setLooking(turn, peer, false);
  emit(turn, { kind: 'own-claim', peer, claim });
}

function noteVerdict(turn: Turn, peer: string, verdict: OwnVerdict): void {
  tellClaim(turn, peer, verdict.kind === 'proven' ? verdict.line : 'unproven');
  const { world } = turn;
  const log = world.host;
  switch (verdict.kind) {
    case 'settled':
      return;
    case 'proven':
      return noteAlarms(turn, peer, [{ code: 'OWN_LOG_AHEAD', peer, log, ...describeProof(world, peer, verdict) }]);
    case 'unknown':
      if (isDown(verdict.code))
        return noteFault(turn, peer, { code: verdict.code, detail: `log ${log}, our own: ${verdict.detail}` });
      return noteAlarms(turn, peer, [wrongHeads(turn, peer, verdict.detail)]);
    case 'wrong':
      return noteAlarms(turn, peer, [wrongHeads(turn, peer, verdict.detail)]);
  }
}

function describeProof(
  world: World,
  peer: string,
  { line, ahead }: Extract<OwnVerdict, { kind: 'proven' }>,
): { readonly seq: number; readonly detail: string } {
  const { seq } = line;
  const what = ahead
    ? `${seq} lines of our own log, signed by us; we hold ${world.tip(world.host)?.seq ?? 0}`
    : `another line ${seq} of our own log than we do, signed by us`;
  return { seq, detail: `${peer} holds ${what}: this home was restored or copied` };
}

function wrongHeads(
  turn: Turn,
  peer: string,
  detail: string,
): { code: 'HEADS_WRONG'; peer: string; log: string; seq: number; detail: string } {
  const log = turn.world.host;
  const seq = peerOf(turn, peer).cycle?.heads?.heads[log]?.seq ?? 0;
  const said = `it says it holds line ${seq} of our own log, and proves no line that we lack: ${detail}`;
  return { code: 'HEADS_WRONG', peer, log, seq, detail: said };
}

/**
 * The first proof that this home lacks a line of its own log, or holds another one: then it must not append. `ahead`: the
 * peer holds more. Pure.
 */
export function ownLogFault(
  held: Pick<World, 'host' | 'tip' | 'linkAt'>,
  proofs: Iterable<{ readonly peer: string; readonly line: SignedLine }>,
): { readonly peer: string; readonly line: SignedLine; readonly ahead: boolean } | undefined {
  const tip = held.tip(held.host)?.seq ?? 0;
  for (const { peer, line } of proofs) {
    const ahead = line.seq > tip;
    if (ahead || held.linkAt(held.host, line.seq) !== line.link) return { peer, line, ahead };
  }
  return undefined;
}
