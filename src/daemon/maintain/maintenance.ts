/**
 * Maintenance of the repository: what was appended and fetched as single files goes into packs, and many small packs into
 * few. Under the home lock that this process holds, beside appends and fetches; judged by how many objects there are,
 * never by whether an earlier run said that it was done. A purge does not wait for it: it is stopped, and comes again.
 */
import type { Logger } from 'pino';
import {
  maintainFreeBytesMin,
  maintainLooseMin,
  maintainLooseQuietMin,
  maintainForeignMin,
  maintainPacksMax,
  maintainQuietMs,
  maintainRetryMs,
} from '../../core/limits.ts';
import type { ObjectGate } from '../../mesh/object-gate.ts';
import { isDiskShut, isOperatingError, OperatingError, systemCode } from '../../store/errors.ts';
import { countLoose } from '../../store/git/loose-files.ts';
import { listPacks } from '../../store/git/pack-index.ts';
import { packingStopped } from '../../store/git/pack-writer.ts';
import { mergePacks, packLoose } from '../../store/git/repack.ts';
import type { Repository } from '../../store/git/repository.ts';
import { freeBytes, isReadOnly } from '../../store/home/disk-room.ts';
import type { Home } from '../../store/home/home.ts';
import { readMaintenanceNote, writeMaintenanceNote, type MaintenanceNote } from '../../store/notes/maintenance-note.ts';
import type { MaintainedJson, MaintenanceJson } from '../api/api-types.ts';
import type { LocalFault } from '../engine.ts';

export interface Maintenance {
  /**
   * Looks at the repository and does what is due; all of it, due or not, when `full`. One run at a time: who comes
   * meanwhile gets the result of the one at work. Errors: those of `packLoose` and `mergePacks`, `DISK_FULL`.
   */
  readonly run: (full: boolean, progress?: (text: string) => void) => Promise<MaintainedJson>;
  /** The same on a schedule: what fails is logged, shown by `faults`, and tried again next time. Never rejects. */
  readonly scheduled: () => Promise<void>;
  /** Does at once what a full or read-only disk stopped, when that is over; else nothing. Never rejects. */
  readonly retry: () => Promise<void>;
  /** When it was last seen to, for status. */
  readonly last: () => MaintenanceJson;
  readonly faults: () => readonly LocalFault[];
  /** Stops what is at work. */
  readonly close: () => Promise<void>;
}

export interface MaintenanceOptions {
  readonly home: Home;
  readonly repository: Repository;
  readonly gate: Pick<ObjectGate, 'use' | 'onClose'>;
  readonly log: Logger | undefined;
  readonly now?: () => number;
}

export function createMaintenance(options: MaintenanceOptions): Maintenance {
  const { home, gate, log, now = Date.now } = options;
  /** The run that was asked for, and what of it is past the gate. */
  let running: Promise<MaintainedJson> | undefined;
  let atWork: Promise<MaintainedJson> | undefined;
  let abort = new AbortController();
  let fault: OperatingError | undefined;
  let nextTry = 0;
  // One that still waits at the gate would never end for who closes it.
  const stop = async (): Promise<void> => {
    if (atWork === undefined) return;
    abort.abort();
    await atWork.catch(() => undefined);
  };
  const forget = gate.onClose(stop);
  const start = (full: boolean, progress: (text: string) => void): Promise<MaintainedJson> => {
    abort = new AbortController();
    const { signal } = abort;
    running = gate
      .use(() => (atWork = maintain(options, { full, progress, signal })))
      .finally(() => (running = atWork = undefined));
    return running;
  };
  const run: Maintenance['run'] = async (full, progress = () => undefined) => {
    if (full && running !== undefined) {
      // Whoever wants all of it is not served with a look at what is due.
      await running.catch(() => undefined);
      return run(full, progress);
    }
    try {
      const done = await (running ?? start(full, progress));
      fault = undefined;
      return done;
    } catch (error) {
      if (isOperatingError(error) && !abort.signal.aborted) fault = error;
      nextTry = now() + maintainRetryMs;
      throw error;
    }
  };
  const scheduled = async (): Promise<void> => {
    try {
      const done = await run(false);
      if (done.packed || done.merged) log?.info(done, 'maintenance');
    } catch (error) {
      log?.[abort.signal.aborted ? 'info' : 'warn']({ err: error }, 'maintenance did not finish');
    }
  };
  return {
    run,
    scheduled,
    async retry() {
      // A clock that was set back must not put it off for longer.
      const soon = Math.abs(nextTry - now()) <= maintainRetryMs && now() < nextTry;
      if (isDiskShut(fault) && !soon && isOver(options)) await scheduled();
    },
    last() {
      try {
        const { lookedAt, packedAt, mergedAt } = readMaintenanceNote(home);
        return { lookedAt, packedAt, mergedAt };
      } catch (error) {
        // Nobody is kept from the status by it.
        if (!isOperatingError(error)) throw error;
        return { lookedAt: null, packedAt: null, mergedAt: null };
      }
    },
    faults: () => (fault === undefined ? [] : [{ kind: 'MAINTENANCE_FAILED', detail: fault.message }]),
    async close() {
      forget();
      abort.abort();
      await stop();
    },
  };
}

interface Job {
  readonly full: boolean;
  readonly progress: (text: string) => void;
  readonly signal: AbortSignal;
}

async function maintain(options: MaintenanceOptions, { full, progress, signal }: Job): Promise<MaintainedJson> {
  const { home, repository, now = Date.now } = options;
  const start = performance.now();
  requireGoing(signal);
  const loose = await countLoose(repository);
  const packsBefore = listPacks(repository).length;
  let note = readMaintenanceNote(home);
  const at = new Date(now()).toISOString();
  const packs = full || isPackDue(note, loose, now());
  if (packs) {
    progress(`packing ${loose} loose objects`);
    requireRoom(repository, 0);
    const { tips, packs: made } = await packLoose(repository, note.packed, { signal });
    note = {
      ...note,
      packed: tips,
      packedAt: at,
      own: [...note.own, ...made],
      looseLeft: await countLoose(repository),
    };
    await writeMaintenanceNote(home, note);
  }
  requireGoing(signal);
  const merges = full || isMergeDue(note, repository, now());
  if (merges) {
    progress(`merging ${listPacks(repository).length} packs`);
    requireRoom(repository, unsettledBytes(note, repository));
    const { settled, packs: made } = await mergePacks(repository, note.settled, { signal });
    note = { ...note, settled, mergedAt: at, own: [...settled.packs, ...made] };
  }
  const there = new Set(listPacks(repository).map(({ name }) => name));
  note = { ...note, lookedAt: at, own: [...new Set(note.own)].filter((name) => there.has(name)) };
  await writeMaintenanceNote(home, note);
  return {
    packed: packs,
    merged: merges,
    loose: { before: loose, after: packs ? note.looseLeft : loose },
    packs: { before: packsBefore, after: there.size },
    seconds: Math.round((performance.now() - start) / 100) / 10,
  };
}

/** Between two steps; a child that is at work is ended at once. */
function requireGoing(signal: AbortSignal): void {
  if (signal.aborted) throw packingStopped();
}

/** Many new ones, or a few for long. What no branch reaches stays loose, and is no reason to begin again. */
function isPackDue({ looseLeft, packedAt }: MaintenanceNote, loose: number, now: number): boolean {
  const fresh = loose - looseLeft;
  return fresh >= maintainLooseMin || (fresh >= maintainLooseQuietMin && isLongAgo(packedAt, now));
}

/** Many packs, or a large one that somebody else made: its deltas may be as poor as can be. */
function isMergeDue(note: MaintenanceNote, repository: Repository, now: number): boolean {
  const open = listPacks(repository).filter(({ name }) => !note.settled.packs.includes(name));
  const foreign = open.filter(({ name }) => !note.own.includes(name)).reduce((sum, { objects }) => sum + objects, 0);
  return open.length >= maintainPacksMax || (foreign >= maintainForeignMin && isLongAgo(note.mergedAt, now));
}

function isLongAgo(at: string | null, now: number): boolean {
  // A clock that was set back must not put it off.
  return at === null || Math.abs(now - Date.parse(at)) >= maintainQuietMs;
}

function unsettledBytes({ settled }: MaintenanceNote, repository: Repository): number {
  return listPacks(repository)
    .filter(({ name }) => !settled.packs.includes(name))
    .reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Whether the disk has room again, and can be written. */
function isOver({ home, repository }: MaintenanceOptions): boolean {
  try {
    requireRoom(repository, unsettledBytes(readMaintenanceNote(home), repository));
    return !isReadOnly(home.dir);
  } catch (error) {
    if (isOperatingError(error) || systemCode(error) !== '') return false;
    throw error;
  }
}

/** A pack is made beside what it replaces; an append must not find the disk full for that. */
function requireRoom({ objectDir }: Repository, bytes: number): void {
  const free = freeBytes(objectDir);
  if (free >= bytes + maintainFreeBytesMin) return;
  throw new OperatingError('DISK_FULL', `too little room beside ${objectDir} to pack it: ${free} bytes`, {
    hint: 'free some space on that file system; memd tries again by itself',
  });
}
