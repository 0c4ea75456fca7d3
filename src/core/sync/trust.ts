/** Trust first: the charter decides whose lines count, so it is as new as the peer's before any of its logs is looked at. */
import { refusalForgetMs } from '../limits.ts';
import type { Result } from '../../crypto/result.ts';
import { isDown } from './outcome.ts';
import { chargeVain } from './patience.ts';
import type { FetchPackFault, Heads, MeshAlarm } from './peer.ts';
import {
  changePeer,
  emit,
  markAsked,
  noteAlarms,
  noteFault,
  noteTrust,
  peerOf,
  remainingOf,
  type Turn,
} from './turn.ts';
import type { TrustFetched } from './vocabulary.ts';

/** @returns true when there is nothing to fetch. */
export function lookAtTrust(turn: Turn, peer: string, { trust }: Heads): boolean {
  const ours = turn.world.trust();
  const { cycle, memory } = peerOf(turn, peer);
  const looked = memory.trust?.oid === trust.oid ? memory.trust : undefined;
  // An op that nobody here can apply is no part of the trust hash, and must reach every host all the same.
  const isEqual = trust.hash === ours.hash && (trust.kept ?? ours.kept) === ours.kept;
  if (isEqual || (looked !== undefined && looked.until > turn.at)) {
    // What does not count is in no hash either: its branch is as bad as it was when everything else was taken from it.
    if (looked !== undefined) noteAlarms(turn, peer, looked.alarms);
    return true;
  }
  if (cycle === undefined) return true;
  const deadlineMs = remainingOf(turn, cycle);
  markAsked(turn, peer);
  emit(turn, { kind: 'fetch-trust', peer, cycle: cycle.number, oid: trust.oid, deadlineMs });
  return false;
}

/** Logs are looked at all the same when the branch was bad: what counts here already decides. */
export function takeTrust(
  turn: Turn,
  peer: string,
  answer: Result<TrustFetched, FetchPackFault | 'TRUST_SHAPE'>,
): void {
  const { cycle, memory } = peerOf(turn, peer);
  const oid = cycle?.heads?.trust.oid;
  if (oid === undefined) return;
  const remember = (alarms: readonly MeshAlarm[]): void => {
    changePeer(turn, peer, { memory: { ...memory, trust: { oid, alarms, until: turn.at + refusalForgetMs } } });
    noteAlarms(turn, peer, alarms);
  };
  if (!answer.ok) chargeVain(turn, peer, { waited: isDown(answer.code) });
  else if (answer.value.added.length === 0 || answer.value.bad.length > 0) chargeVain(turn, peer);
  if (answer.ok) {
    noteTrust(turn, peer, answer.value.added);
    remember(alarmsOf(peer, answer.value));
  } else if (answer.code === 'TRUST_SHAPE' || answer.code === 'PACK_REFUSED') {
    remember([{ code: answer.code, peer, detail: `branch trust: ${answer.detail}` }]);
  } else {
    noteFault(turn, peer, { code: answer.code, detail: answer.detail });
  }
}

function alarmsOf(peer: string, { unsupported, bad }: TrustFetched): readonly MeshAlarm[] {
  return [
    ...unsupported.map(({ id, op }): MeshAlarm => ({
      code: 'OP_UNSUPPORTED',
      peer,
      op: id,
      detail: `not supported yet: ${op}, trust op ${id.slice(0, 12)} carried by ${peer}; upgrade memctl here`,
    })),
    ...bad.map(({ id, detail }): MeshAlarm => ({
      code: 'TRUST_OP',
      peer,
      op: id,
      detail: `trust op ${id.slice(0, 12)}: ${detail}`,
    })),
  ];
}
