/** How a cycle ends: what it found, in the words that status, doctor and the peer book use. */
import { peerAlarmsMax } from '../limits.ts';
import type { PeerFault, PeerFaultCode, PeerOutcome } from './peer.ts';
import { emptyDraft, type Cycle } from './state.ts';

/** Alarms that are only news; the others are about the peer's data being refused. */
const newsCodes: ReadonlySet<string> = new Set([
  'OP_UNSUPPORTED',
  'OWN_LOG_AHEAD',
  'HOST_KEY_MISMATCH',
  'WATCH_FLOOD',
  'VIEW_CUT',
  'VIEW_FORKED',
]);
const refusalCodes: ReadonlySet<PeerFaultCode> = new Set([
  'REFUSED_KEY',
  'HOST_KEY_MISMATCH',
  'HOST_KEY_UNKNOWN',
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

/** Whether a fault says that nothing more will come from the peer for now, rather than that what came is bad. Pure. */
export function isDown(code: PeerFaultCode): boolean {
  return downCodes.has(code);
}

/** Pure. */
export function outcomeOf(peer: string, { draft, heads }: Pick<Cycle, 'draft' | 'heads'>): PeerOutcome {
  const { lines, trustAdded, fault } = draft;
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

/** The outcome of a cycle that did not come to anything. Pure. */
export function faultOutcome(peer: string, fault: PeerFault): PeerOutcome {
  return outcomeOf(peer, { draft: { ...emptyDraft, fault }, heads: undefined });
}

/** A peer that answered and then broke off is down; one whose identity, protocol or data is wrong is refused. */
function isRefusal(code: PeerFaultCode, answered: boolean): boolean {
  return refusalCodes.has(code) || (answered && !downCodes.has(code));
}
