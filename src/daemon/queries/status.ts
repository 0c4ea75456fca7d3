/** status: is it running, in step, and what is wrong. */
import type { Alarm } from '../../core/fold/state.ts';
import { peersOf } from '../../mesh/node.ts';
import { rulesVersion } from '../../core/fold/state.ts';
import type { StateDatabase } from '../../store/database/database.ts';
import { readHookLog, type HookLogEntry } from '../../store/notes/hook-log.ts';
import type { AlarmJson, PeerJson, StatusJson } from '../api/api-types.ts';
import { counted } from '../counted.ts';
import { isUnprotectedKey } from '../trust/signer-key.ts';
import { readWindow, type Window } from '../unlock-window.ts';
import type { Engine } from '../engine.ts';
import type { StoredTips } from '../beliefs/fold-rows.ts';
import { notifierFaults } from '../notify/start.ts';
import { editedViews } from './view-edits.ts';
import { cutsIn } from './incomplete.ts';
import { localAlarms, type LocalAlarm } from './local-alarms.ts';
import {
  clockWarnings,
  futureClocks,
  indexTime,
  newestEvents,
  newestOf,
  quietOf,
  quietWarnings,
  unsyncedSince,
} from './health.ts';
import { countsOf, standingAlarms, tipsOf } from './sound-rows.ts';
import { statusLine } from '../status-line.ts';
import { holdersOfOwn } from '../peers/replication.ts';

/** `warnings`: what else a person should know. */
export function status(
  engine: Engine,
  database: StateDatabase,
  { now, warnings }: { readonly now: number; readonly warnings: readonly string[] },
): StatusJson {
  const meta = database.meta();
  const heads = tipsOf(database);
  const counts = countsOf(database);
  const alarms = [
    ...localAlarms(engine, cutsIn(database)).map(shownAlarm),
    ...notifierFaults(engine),
    ...foldAlarms(database),
  ];
  const peers = peersOf(engine.charter(), engine.identity.host).map((name) => peerJson(engine, heads, name, now));
  const newest = newestEvents(database, heads);
  const replicated = replicatedJson(engine, database, heads);
  return {
    mesh: engine.meshId,
    host: engine.identity.host,
    daemon: engine.daemon,
    root: meta['root'] ?? '',
    rules: rulesVersion,
    trust: engine.trust().hash,
    heads,
    counts: {
      events: counts.events ?? 0,
      served: (counts.served ?? 0) + (counts.contested ?? 0),
      parked: counts.parked ?? 0,
      quarantined: counts.quarantined ?? 0,
      held: counts.held ?? 0,
      stale: counts.stale ?? 0,
      undecided: counts.undecided ?? 0,
      alarms: alarms.length,
    },
    peers,
    replicated,
    alarms,
    warnings: [
      ...warningsOf(engine, now),
      ...quietWarnings(peers),
      ...clockWarnings(futureClocks(newest, now)),
      ...warnings,
    ],
    maintenance: engine.maintenance.last(),
    line: statusLine({
      daemon: engine.daemon,
      hosts: peers.length + 1,
      up: peers.filter((peer) => peer.state === 'up').length + 1,
      parked: counts.parked ?? 0,
      alarms: alarms.length,
      behind: peers.reduce((most, { behind }) => Math.max(most, behind), 0),
      quiet: peers.filter(({ quietDays }) => quietDays !== undefined).length,
      replicated,
      newest: newestOf(newest, now),
      index: engine.daemon ? undefined : indexTime(engine),
      now,
    }),
  };
}

function replicatedJson(engine: Engine, database: StateDatabase, heads: StoredTips): StatusJson['replicated'] {
  const { host } = engine.identity;
  const seq = heads[host]?.seq ?? 0;
  if (seq === 0) return null;
  const since = unsyncedSince(engine, database, heads);
  const of = peersOf(engine.charter(), host).length;
  return { seq, peers: holdersOfOwn(engine, seq).length, of, ...(since === undefined ? {} : { since }) };
}

function peerJson(engine: Engine, heads: StoredTips, host: string, now: number): PeerJson {
  const health = engine.peerBook.of(host);
  const theirs = health?.heads?.heads ?? {};
  const gap = (from: StoredTips, to: StoredTips): number =>
    Object.entries(to).reduce((sum, [log, { seq }]) => sum + Math.max(0, seq - (from[log]?.seq ?? 0)), 0);
  return {
    host,
    address: engine.addressesOf(host)[0] ?? '',
    state: health?.state ?? 'unknown',
    lastContact: health?.lastContact ?? null,
    lastNewEvent: health?.lastNewEvent ?? null,
    behind: health?.heads === undefined ? 0 : gap(heads, theirs),
    ahead: health?.heads === undefined ? 0 : gap(theirs, heads),
    ...(health?.state === 'up' ? quietOf(engine, host, health, now) : {}),
    ...(health?.reason === undefined ? {} : { reason: health.reason }),
  };
}

function shownAlarm({ kind, detail, host }: LocalAlarm): AlarmJson {
  return { kind, detail, ...(host === undefined ? {} : { host }) };
}

function foldAlarms(database: StateDatabase): AlarmJson[] {
  return standingAlarms(database).map((row) => {
    const alarm = JSON.parse(row.alarm) as Alarm;
    const where = alarm.subject === null ? '' : ` on ${alarm.subject}`;
    const who = alarm.host === null ? '' : ` by host ${alarm.host}`;
    return {
      kind: alarm.kind,
      detail: `${counted(alarm.count, 'event')}${where}${who}`,
      ...(alarm.subject === null ? {} : { subject: alarm.subject }),
      ...(alarm.host === null ? {} : { host: alarm.host }),
    };
  });
}

function warningsOf(engine: Engine, now: number): string[] {
  const { signer } = engine.identity;
  const unprotected = signer !== null && isUnprotectedKey(signer.key);
  return [
    ...(unprotected
      ? [`${signer.key} has no passphrase: any process of this user can sign with it; memctl signer protect sets one`]
      : []),
    ...openWindows(readWindow(engine.home, now)),
    ...editedViews(engine.home, engine.charter().audiences.keys()),
    ...engine.targets.warnings(),
    ...hookWarnings(readHookLog(engine.home), now),
  ];
}

/** A window that asks is the person's own; one that does not is everybody's. Pure. */
function openWindows(window: Window | undefined): string[] {
  if (window === undefined || window.confirm) return [];
  return [`until ${window.until} an ssh-agent signs events for any process of this user; memctl unlock --end ends it`];
}

const weekMs = 7 * 86_400_000;

/** Sessions that began without what memd knows, or prompts without its notes: nobody else would notice. Pure. */
function hookWarnings(log: readonly HookLogEntry[], now: number): string[] {
  const recent = log.filter(({ at }) => now - Date.parse(at) < weekMs);
  const last = recent.at(-1);
  if (last === undefined) return [];
  const { harness, event, outcome, why } = last;
  return [
    `${counted(recent.length, 'hook run')} of the last 7 days did less than they should; the last, ${last.at}: ${harness} ${event} ${outcome}: ${why}`,
  ];
}
