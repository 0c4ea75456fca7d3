/**
 * purge.list: what became of the purges that the charter counts. A host says that it has carried one out by its view journal:
 * it signs no line under a trust set whose purges are not out of its home. Lines pass through relays, so a host that nobody
 * here reaches is crossed off as well.
 */
import { existsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { isClaim } from '../../core/event.ts';
import { claimDigest } from '../../core/fold/skeleton.ts';
import { eventsOf, eventView, type Fold } from '../../core/fold/fold.ts';
import { trustPurgeTargetsMax } from '../../core/limits.ts';
import type { Charter } from '../../core/trust/charter.ts';
import type { PurgeSkeleton } from '../../core/trust/op-types.ts';
import { saysPurged } from '../../core/trust/purge-work.ts';
import { readExportNotes } from '../../store/notes/export-note.ts';
import { foreignNames } from '../../store/home/foreign-names.ts';
import { keptEdits } from '../../store/target-file.ts';
import type { ListedPurgeJson, PurgeExportJson, PurgeLimitsJson, WaitingHostJson } from '../api/api-types.ts';
import type { Engine } from '../engine.ts';
import { indexTrust, type TrustIndex } from '../journal/trust-at.ts';
import { purgedJson } from './purge-plan.ts';

/** What a host is known to have: under which trust sets, as far as they can be told from their hashes. */
interface HostStanding {
  readonly host: string;
  readonly left: boolean;
  readonly heard: string | null;
  /** When its newest line was written, and the purges that it says are carried out. */
  readonly done: { readonly at: string; readonly purges: Charter['purges'] } | undefined;
  /** It says that it holds the trust set of this host. Any other hash is not looked up: a peer may name what it likes. */
  readonly told: boolean;
}

/** Every purge that counts, newest op first. */
export async function listPurges(engine: Engine): Promise<readonly ListedPurgeJson[]> {
  const { charter, set } = engine.trust();
  if (charter.purges.size === 0) return [];
  const fold = await engine.beliefs.fold();
  const hosts = await standings(engine);
  const exports = await exportsOf(engine);
  const sayingTheSame = repeatsIn(fold);
  const due = new Set(engine.purger.due());
  const listed = [...charter.purges].flatMap(([id, { op, target }]) => {
    const purged = purgedJson({ charter, set }, id);
    if (purged === undefined) return [];
    const { subject, kind, host } = target;
    const saidAgain = sayingTheSame(target);
    return [
      {
        ...purged,
        subject,
        kind,
        host,
        done: !due.has(id),
        ...standingOf(hosts, id, op),
        exports: exports(id, op),
        saidAgain,
      },
    ];
  });
  return listed.toSorted((a, b) => (a.at === b.at ? Number(a.id > b.id) - 1 : a.at < b.at ? 1 : -1));
}

/** What no purge of this home looks into. */
export function limitsOf({ home, config }: Engine): PurgeLimitsJson {
  const edits = (config?.targets ?? []).flatMap(({ path }) => keptEdits(path));
  return { foreign: foreignNames(home), edits };
}

/** The exports that were written under a trust set without a purge; of one whose set cannot be told, all. */
async function exportsOf(engine: Engine): Promise<(id: string, op: string) => ListedPurgeJson['exports']> {
  const written: { readonly told: PurgeExportJson; readonly purges: Charter['purges'] | undefined }[] = [];
  const notes = readExportNotes(engine.home);
  await whenTold(
    engine,
    notes.map(({ trust }) => trust),
  );
  for (const { dir, at, trust } of notes) {
    const told = { dir, at, there: existsSync(dir) };
    written.push({ told, purges: purgesAt(engine, trust) });
  }
  return (id, op) => written.flatMap(({ told, purges }) => (purges?.get(id)?.op === op ? [] : [told]));
}

/** A sentence for `status`; none when every host that was ever heard of has said that it carried out every purge. */
export async function purgeWarnings(engine: Engine): Promise<readonly string[]> {
  const { charter } = engine.trust();
  if (charter.purges.size === 0) return [];
  const waitMs = engine.daemon ? statusWaitMs : aloneWaitMs;
  const hosts = (await standings(engine, waitMs)).filter(({ left, heard }) => !left && heard !== null);
  const behind = hosts.filter(({ done }) =>
    [...charter.purges].some(([id, { op }]) => !saysPurged(done?.purges, { id, op })),
  );
  if (behind.length === 0) return [];
  const names = behind.map(({ host }) => host).join(', ');
  return [
    `not known to have carried out every purge: ${names}; memctl purge --list says which, and when they were last heard of`,
  ];
}

type Standing = Pick<ListedPurgeJson, 'confirmed' | 'unconfirmed' | 'waiting' | 'left'>;

function standingOf(hosts: readonly HostStanding[], id: string, op: string): Standing {
  const confirmed = hosts.flatMap(({ host, done }) =>
    done && saysPurged(done.purges, { id, op }) ? [{ host, at: done.at }] : [],
  );
  const others = hosts.filter(({ host }) => !confirmed.some((one) => one.host === host));
  const waiting = others
    .filter(({ left }) => !left)
    .map(({ host, told, heard }): WaitingHostJson => ({ host, told, heard }));
  return {
    confirmed,
    unconfirmed: waiting.map(({ host }) => host),
    waiting,
    left: others.filter(({ left }) => left).map(({ host }) => host),
  };
}

/** How long `status` waits for trust sets to be told from their hashes; what it cannot tell then is not known to it. */
const statusWaitMs = 100;
/** The same without memd: nobody else waits, and nothing was told from a hash before. */
const aloneWaitMs = 3_000;

async function standings(engine: Engine, waitMs?: number): Promise<readonly HostStanding[]> {
  await engine.journal.load();
  const others = [...engine.charter().hosts.values()].filter(({ name }) => name !== engine.identity.host);
  const lines = others.map(({ name }) => engine.journal.newest(name));
  await whenTold(
    engine,
    lines.flatMap((line) => line?.trust ?? []),
    waitMs,
  );
  return others.map(({ name, status }, at): HostStanding => {
    const line = lines[at];
    const health = engine.peerBook.of(name);
    const purges = line && purgesAt(engine, line.trust);
    return {
      host: name,
      left: status === 'revoked',
      heard: health?.lastContact ?? line?.at ?? null,
      done: line && purges && { at: line.at, purges },
      told: health?.heads?.trust.hash === engine.trust().hash,
    };
  });
}

/** What the trust sets purge that this host has the ops of, as of one trust set of its own. */
interface KnownSets {
  readonly ours: string;
  readonly index: TrustIndex;
  readonly purges: Map<string, Charter['purges']>;
}

/** Sets whose purges are remembered. */
const knownMax = 256;
const known = new WeakMap<Engine, KnownSets>();

/** What the trust set of a hash purges; undefined where this host cannot tell (yet) which set it is. */
function purgesAt(engine: Engine, hash: string): Charter['purges'] | undefined {
  const { charter, hash: ours } = engine.trust();
  if (hash === ours) return charter.purges;
  const { index, purges } = knownSets(engine);
  const found = purges.get(hash) ?? index.find(hash)?.charter.purges;
  if (purges.size >= knownMax) purges.clear();
  if (found !== undefined) purges.set(hash, found);
  return found;
}

function knownSets(engine: Engine): KnownSets {
  const { set, hash: ours } = engine.trust();
  const before = known.get(engine);
  if (before?.ours === ours) return before;
  const made: KnownSets = { ours, index: indexTrust(engine.repository, set), purges: new Map() };
  known.set(engine, made);
  // Who waits for it is told; the next one to ask tries again.
  made.index.whole.catch(() => known.delete(engine));
  return made;
}

/** Once all of these hashes can be told, or `waitMs` have passed. */
async function whenTold(engine: Engine, hashes: readonly string[], waitMs?: number): Promise<void> {
  if (hashes.every((hash) => hash === engine.trust().hash)) return;
  const { whole } = knownSets(engine).index;
  if (waitMs === undefined) return whole;
  const over = new AbortController();
  const timeUp = setTimeout(waitMs, undefined, { signal: over.signal }).catch(() => undefined);
  await Promise.race([whole, timeUp]).finally(() => over.abort());
}

/** Finds the claims of a purged one's subject that have its key, as many as one purge can name. A subject is read once. */
function repeatsIn(fold: Fold): (target: PurgeSkeleton) => readonly string[] {
  const subjects = new Map<string, ReadonlyMap<string, readonly string[]>>();
  return ({ id, subject, key }) => {
    if (key === null) return [];
    const byKey = subjects.get(subject) ?? claimsByKey(fold, subject);
    subjects.set(subject, byKey);
    return (byKey.get(key) ?? []).filter((other) => other !== id).slice(0, trustPurgeTargetsMax);
  };
}

function claimsByKey(fold: Fold, subject: string): ReadonlyMap<string, readonly string[]> {
  const claims = eventsOf(fold, subject).flatMap((id) => {
    const view = eventView(fold, id);
    const body = view?.purge === null ? view.body : null;
    return body !== null && isClaim(body.kind) ? [{ id, key: claimDigest(body) }] : [];
  });
  const byKey = new Map<string, string[]>();
  for (const { id, key } of claims) {
    const same = byKey.get(key);
    if (same === undefined) byKey.set(key, [id]);
    else same.push(id);
  }
  return byKey;
}
