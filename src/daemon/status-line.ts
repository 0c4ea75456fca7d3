/** The one line that every agent-facing surface carries, also when it is bad. */
import { counted } from './counted.ts';

export interface StatusLineParts {
  readonly daemon: boolean;
  /** Hosts of the mesh, and those that answer, this one among them. */
  readonly hosts: number;
  readonly up: number;
  readonly parked: number;
  readonly alarms: number;
  /** Lines that a peer holds and this host lacks. */
  readonly behind: number;
  /** Peers that answer and have had nothing new for days. */
  readonly quiet: number;
  /** The newest own line; null when there is none. `since`: ISO time of the first own line that no peer is known to hold. */
  readonly replicated: { readonly peers: number; readonly of: number; readonly since?: string | undefined } | null;
  /** ISO time that the newest event claims; undefined when there is none, null when it cannot be said now. */
  readonly newest: string | null | undefined;
  /** When the index was last in step, where no memd runs; undefined: there is none. Milliseconds. */
  readonly index: number | undefined;
  readonly now: number;
}

/** `memd: 3/3 hosts, newest 2 min ago, 1 parked`, and what is bad behind it. Pure. */
export function statusLine(line: StatusLineParts): string {
  const { daemon, hosts, up, parked, alarms, behind, quiet, replicated, now } = line;
  const alone = replicated !== null && replicated.of > 0 && replicated.peers === 0;
  const parts = [
    ...(daemon ? [`${up}/${hosts} hosts`, newestPart(line.newest, now)] : ['NOT RUNNING', indexPart(line.index, now)]),
    `${parked} parked`,
    ...(alarms > 0 ? [counted(alarms, 'alarm')] : []),
    ...(behind > 0 ? [`${behind} behind`] : []),
    ...(quiet > 0 ? [`${quiet} quiet`] : []),
    ...(alone ? [`replicated to 0 of ${counted(replicated.of, 'peer')}${unsyncedPart(replicated.since, now)}`] : []),
  ];
  return `memd: ${parts.join(', ')}`;
}

/** What was said a moment ago is on its way: that is no news. */
const onItsWayMs = 600_000;

function unsyncedPart(since: string | undefined, now: number): string {
  const age = since === undefined ? 0 : now - Date.parse(since);
  return age < onItsWayMs ? '' : `, unsynced for ${ageOf(age)}`;
}

function newestPart(newest: StatusLineParts['newest'], now: number): string {
  if (newest === undefined) return 'no events yet';
  return newest === null ? 'newest unknown' : `newest ${ageOf(now - Date.parse(newest))} ago`;
}

function indexPart(index: number | undefined, now: number): string {
  return index === undefined ? 'no index yet' : `index is ${ageOf(now - index)} old`;
}

function ageOf(milliseconds: number): string {
  const minutes = Math.max(0, Math.round(milliseconds / 60_000));
  if (minutes < 120) return `${minutes} min`;
  return minutes < 2_880 ? `${Math.round(minutes / 60)} h` : `${Math.round(minutes / 1_440)} d`;
}
