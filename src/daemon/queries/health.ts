/**
 * Down, behind and empty are three different answers; so is a clock that is wrong. Times that events claim are shown and
 * never compared with each other; what is measured is measured on this host's own clock.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { clockSkewMs, quietDaysDefault } from '../../core/limits.ts';
import { viewNames } from '../../core/views/render.ts';
import { peersOf } from '../../mesh/node.ts';
import type { StateDatabase } from '../../store/database/database.ts';
import type { PeerJson } from '../api/api-types.ts';
import { counted } from '../counted.ts';
import type { Engine } from '../engine.ts';
import type { StoredTips } from '../beliefs/fold-rows.ts';
import type { PeerHealth } from '../peers/peer-book.ts';
import { heldElsewhere } from '../peers/replication.ts';
import { heldEvent, newestLines } from './sound-rows.ts';

const dayMs = 86_400_000;

/** Whole days for which a peer that answers has had nothing new, once they are more than config.toml allows. */
export function quietOf(
  { config }: Pick<Engine, 'config'>,
  host: string,
  { lastNewEvent, since }: Pick<PeerHealth, 'lastNewEvent' | 'since'>,
  now: number,
): { readonly quietDays?: number } {
  const limit = config?.quietDays.of.get(host) ?? config?.quietDays.usual ?? quietDaysDefault;
  const start = lastNewEvent ?? since;
  if (limit === 0 || start === null) return {};
  const days = Math.floor((now - Date.parse(start)) / dayMs);
  return days >= limit ? { quietDays: days } : {};
}

/** A sentence for every peer that answers and brings nothing. Pure. */
export function quietWarnings(peers: readonly PeerJson[]): string[] {
  return peers.flatMap(({ host, quietDays }) =>
    quietDays === undefined
      ? []
      : [`${host} answers, and has had nothing new for ${counted(quietDays, 'day')}: is anybody writing there?`],
  );
}

/** How far back a line with a time is looked for, in steps: lines whose bodies were purged have none. */
const timedSteps: readonly number[] = [1, 64, 4_096];

/** Claimed time of the newest line of every log that has one; null where the newest lines are all purged. */
export function newestEvents(database: StateDatabase, heads: StoredTips): ReadonlyMap<string, string | null> {
  const timeOf = (log: string): string | undefined => {
    for (const limit of timedSteps) {
      const lines = newestLines(database, log, limit);
      for (const { id } of lines.toReversed()) {
        const { at } = heldEvent(database, id);
        if (at !== '') return at;
      }
      if (lines.length < limit) return undefined;
    }
    return undefined;
  };
  return new Map(Object.keys(heads).map((log) => [log, timeOf(log) ?? null]));
}

/**
 * When this host said the first thing that no peer is known to hold, by its own clock; undefined when some peer holds all
 * of it, there is nobody else, or the line does not tell.
 */
export function unsyncedSince(engine: Engine, database: StateDatabase, heads: StoredTips): string | undefined {
  const { host } = engine.identity;
  const held = heldElsewhere(engine);
  const alone = peersOf(engine.charter(), host).length === 0 || held >= (heads[host]?.seq ?? 0);
  const [first] = alone ? [] : database.linesOfLog(host, { from: held + 1, limit: 1 });
  const { at } = first === undefined ? { at: '' } : heldEvent(database, first.id);
  return at === '' ? undefined : at;
}

/**
 * The latest of them that is not in the future; else this moment, since that is what a future claim can be at best. Undefined
 * without logs, null where no line has a time. Pure.
 */
export function newestOf(newest: ReadonlyMap<string, string | null>, now: number): string | null | undefined {
  if (newest.size === 0) return undefined;
  const times = [...newest.values()].filter((at) => at !== null);
  if (times.length === 0) return null;
  const past = times.filter((at) => Date.parse(at) <= now);
  return past.toSorted((a, b) => (a < b ? -1 : 1)).at(-1) ?? new Date(now).toISOString();
}

/** Logs whose newest line claims to be of the future. Pure. */
export function futureClocks(newest: ReadonlyMap<string, string | null>, now: number): ReadonlyMap<string, string> {
  const future = [...newest].flatMap(([log, at]): [string, string][] =>
    at !== null && Date.parse(at) - now > clockSkewMs ? [[log, at]] : [],
  );
  return new Map(future);
}

/** A sentence for every clock that is wrong. Nothing else comes of it. Pure. */
export function clockWarnings(future: ReadonlyMap<string, string>): string[] {
  return [...future].map(
    ([log, at]) =>
      `the newest line of ${log} claims ${at}, in the future: its clock or this host's is wrong; times decide nothing`,
  );
}

/** When the index was last in step: when a peer was last met, or in a mesh of one when it was written. Milliseconds. */
export function indexTime(engine: Engine): number | undefined {
  const { identity, peerBook, home } = engine;
  const [markdown] = viewNames;
  const written = statSync(join(home.views, 'operator', markdown), { throwIfNoEntry: false })?.mtimeMs;
  const met = peersOf(engine.charter(), identity.host).flatMap((peer) => {
    const at = peerBook.of(peer)?.lastContact ?? null;
    return at === null ? [] : Date.parse(at);
  });
  return written === undefined || met.length === 0 ? written : Math.max(...met);
}
