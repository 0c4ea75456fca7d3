/**
 * `memctl doctor --repair`: everything that a home can have lost or got wrong, put back as far as it can be told what is right.
 * Damage is moved aside, never deleted; what a host signed is never given up; where something may be lost, nothing is written
 * until a person decides. Every step can be done again: a repair that was interrupted is run once more.
 *
 * The order follows what needs what: modes, the lock, the skeleton of the repository, objects, the trust set (which says whose
 * lines count), logs, journals, files. Then the home is opened as any command does, which fetches and makes what is derived.
 */
import { diskError, isOperatingError } from '../../store/errors.ts';
import { readRef, logRef } from '../../store/git/refs.ts';
import { isWhole } from '../../store/git/branch-commits.ts';
import { openRepository } from '../../store/git/repository.ts';
import { openHome } from '../../store/home/home.ts';
import { readKeys } from '../../store/home/keys.ts';
import {
  readLastHeads,
  unknownCommit,
  unknownLink,
  writeLastHeads,
  type LastHeads,
} from '../../store/notes/last-heads.ts';
import { sweepHome } from '../../store/home/sweep.ts';
import { readSeenHeads, saidOfOwnLog } from '../beliefs/own-word.ts';
import { counted } from '../counted.ts';
import { describeError } from '../describe-error.ts';
import { openEngine, type Engine } from '../engine.ts';
import { verify } from '../queries/verify.ts';
import { readIdentity } from '../identity.ts';
import { openAskedPeers } from './ask-peers.ts';
import { repairHomeFiles, repairModes } from './repair-files.ts';
import { lockForRepair } from './repair-lock.ts';
import { repairLogs, type LostLines } from './repair-logs.ts';
import { repairObjects } from './repair-objects.ts';
import { repairSkeleton } from './repair-skeleton.ts';
import { repairTrust, type Member } from './repair-trust.ts';
import { repairViews } from './repair-views.ts';
import { openRepairRoom, type RepairOptions, type RepairRoom, type RepositoryRoom } from './room.ts';

export type { RepairOptions } from './room.ts';

/** What came of it; `aside`: the folder of what was moved aside. */
export type Repaired = Pick<RepairRoom, 'repaired' | 'left'> & { readonly aside: string | null };

/**
 * Repairs a home, as far as that is safe. Errors: `HOME_LOCKED` while memd runs, `HOME_MISSING`, `HOME_UNSAFE`,
 * `HOME_LOCK_DAMAGED`, `DISK_FAILED`, `DISK_FULL`; then what was done before stays done.
 */
export async function repairHome(options: RepairOptions): Promise<Repaired> {
  try {
    return await repairWith(openRepairRoom(options));
  } catch (error) {
    // A disk that is full, or may not be written: whatever was about to be done.
    throw error instanceof Error && 'syscall' in error ? diskError(error, 'repair', options.home.dir) : error;
  }
}

async function repairWith(room: RepairRoom): Promise<Repaired> {
  repairModes(room);
  openHome(room.home.dir);
  const sound = await underLock(room, () => repairStore(room));
  if (sound && (await bringUp(room)) && room.acceptLoss) {
    await underLock(room, () => acceptLoss(room));
    await bringUp(room);
  }
  const { repaired, left, aside } = room;
  return { repaired, left, aside: aside.dir() };
}

async function underLock<T>(room: RepairRoom, work: () => Promise<T>): Promise<T> {
  const lock = await lockForRepair(room);
  try {
    const removed = sweepHome(lock);
    const [first] = removed;
    if (first !== undefined)
      room.done('what a crash left', `${counted(removed.length, 'file')} removed; the first, ${first}`);
    return await work();
  } finally {
    lock.release();
  }
}

/** @returns whether the home can be opened now. */
async function repairStore(room: RepairRoom): Promise<boolean> {
  repairHomeFiles(room);
  const identity = readOrLeave(room, 'identity', () => readIdentity(room.home));
  if (identity === undefined) return false;
  const keys = readOrLeave(room, 'keys', () => readKeys(room.home));
  const skeleton = await repairSkeleton(room, identity.host);
  if (skeleton === undefined) return false;
  const { repository } = skeleton;
  const inRepository: RepositoryRoom = Object.assign(room, { repository, offline: keys === undefined });
  await repairObjects(inRepository);
  const { mesh } = identity;
  return mesh !== null && (await repairBranches(inRepository, { ...identity, mesh })) && keys !== undefined;
}

function readOrLeave<T>({ leave }: RepairRoom, what: string, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    const { code, message, hint = 'restore it from a backup of this home' } = describeError(error);
    leave(what, `${code}: ${message}`, hint);
    return undefined;
  }
}

async function repairBranches(room: RepositoryRoom, self: Member): Promise<boolean> {
  const trust = await repairTrust(room, self);
  if (trust === undefined) return false;
  const { home, repository } = room;
  const member = trust.charter.hosts.get(self.host);
  const { heads } = await readSeenHeads({ home, repository, member, meshId: self.mesh });
  const peers = openAskedPeers(room, trust.charter, self.host);
  try {
    const lost = await repairLogs({ room, trust, self: self.host, peers, last: heads.logs });
    const own = lost.find(({ host }) => host === self.host);
    if (own !== undefined) await noteLoss(room, heads, own);
    else await forgetLoss(room, self.host);
  } finally {
    peers.close();
  }
  await repairViews(room, trust);
  return true;
}

/**
 * What may be lost of the own log must stop the writes of every later process, as if `last-heads.json` had seen it: a line that
 * takes the number of a lost one would fork the log.
 */
async function noteLoss({ home }: RepairRoom, heads: LastHeads, { host, oid, from }: LostLines): Promise<void> {
  const seen = heads.logs[host];
  const lost = { oid: oid === '' ? unknownCommit : oid, seq: from, link: unknownLink };
  const said = seen !== undefined && seen.seq >= from ? seen : lost;
  await writeLastHeads(home, { ...heads, logs: { ...heads.logs, [host]: said } });
}

/** An earlier repair could not tell, and now every peer has said what it holds. */
async function forgetLoss({ home }: RepairRoom, host: string): Promise<void> {
  const { heads } = readLastHeads(home);
  if (heads.logs[host]?.link !== unknownLink) return;
  const { [host]: _, ...logs } = heads.logs;
  await writeLastHeads(home, { ...heads, logs });
}

/** Opens the home as any command does: peers are asked for what is missing, derived files are made. @returns whether something may be lost. */
async function bringUp(room: RepairRoom): Promise<boolean> {
  let engine: Engine | undefined;
  try {
    const { home, config, progress } = room;
    engine = await openEngine({ home: home.dir, daemon: false, progress, ...(config === undefined ? {} : { config }) });
    // What is here of the journals says where those of peers follow.
    await engine.journal.load();
    const outcomes = await engine.peers.cycle({ views: true });
    const brought = outcomes.flatMap(({ peer, newEvents }) =>
      newEvents > 0 ? `${counted(newEvents, 'line')} from ${peer}` : [],
    );
    if (brought.length > 0) room.done('logs', `fetched ${brought.join(', ')}`);
    const silent = outcomes.filter(({ state }) => state !== 'up').map(({ peer }) => peer);
    const lost = await makeDerived(room, engine);
    if (!room.acceptLoss) for (const fault of lost) room.leave('lines', fault, lossHint(silent));
    return lost.length > 0;
  } catch (error) {
    const { code, message, hint = 'memctl doctor' } = describeError(error);
    room.leave('home', `${code}: ${message}`, hint);
    return false;
  } finally {
    await engine?.close().catch((error: unknown) => room.leave('home', describeError(error).message, 'memctl doctor'));
  }
}

/**
 * Everything is verified as `verify --deep` does; what is derived and differs is made again. @returns what says that lines of
 * the own log, or trust ops, are lost.
 */
async function makeDerived(room: RepairRoom, engine: Engine): Promise<readonly string[]> {
  const { progress, leave } = room;
  const before = await verify(engine, { deep: true, progress });
  if (before.ok) return [];
  await engine.rebuild(progress);
  const after = await verify(engine, { deep: true, progress });
  const mended = before.problems.filter((problem) => !after.problems.includes(problem));
  if (mended.length > 0) room.done('derived files', `made again; the first that was wrong: ${mended[0]}`);
  const lost = lossesOf(engine);
  // What is derived of a log that is not whole is left as it is: it may be all there is.
  if (lost.length === 0)
    for (const problem of after.problems.slice(0, problemsMax))
      leave('verify', problem, 'memctl verify --deep; docs/operations.md, Damage');
  return lost;
}

function lossesOf({ beliefs, identity }: Engine): readonly string[] {
  const faults = beliefs.headsFaults().map(({ message }) => message);
  const cut = beliefs.book.cutOf(identity.host);
  return cut === undefined
    ? faults
    : [...faults, `log ${cut.log} is cut at line ${cut.seq}: ${cut.detail} (${cut.code})`];
}

/** Problems told one by one; `memctl verify --deep` has them all. */
const problemsMax = 8;

function lossHint(silent: readonly string[]): string {
  const ask =
    silent.length === 0
      ? 'no peer that was asked holds it'
      : `start memd on ${silent.join(', ')}, then memctl doctor --repair again`;
  return `${ask}; once nobody can hold it any more: memctl doctor --repair --accept-loss`;
}

/** A person says that nobody holds what is missing: what was last seen is forgotten, and a branch that names nothing goes. */
async function acceptLoss(room: RepairRoom): Promise<void> {
  const { home } = room;
  const { host } = readIdentity(home);
  room.aside.moveAside(home.lastHeads, 'what it saw and nobody holds is given up');
  // The journals of this host would say again what is given up.
  const givenUp = await saidOfOwnLog({ home, repository: openRepository(home.repository) }, host);
  await writeLastHeads(home, { logs: {}, trust: null, givenUp });
  const oid = commitOf(home.repository, host);
  if (oid === undefined || (oid !== null && !(await isWhole(openRepository(home.repository), oid))))
    room.aside.moveAside(`${home.repository}/${logRef(host)}`, 'no line of it was found');
  room.done('last heads', 'what was last seen and is found nowhere is given up, as you said');
}

function commitOf(gitDir: string, host: string): string | null | undefined {
  try {
    return readRef({ gitDir }, logRef(host));
  } catch (error) {
    if (isOperatingError(error, 'REF_DAMAGED')) return undefined;
    throw error;
  }
}
