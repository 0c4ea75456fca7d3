/**
 * Carrying out purges: what the charter says is purged is taken out of everything in this home. Every step can be done
 * again, and `purged.json` is written last: what a crash interrupted is finished when the home is opened next.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { duePurges, hasPurgeWork, stillNoted, type PurgeWork } from '../../core/trust/purge-work.ts';
import type { ObjectGate } from '../../mesh/object-gate.ts';
import { realDisk, syncDirectories } from '../../store/disk.ts';
import { diskError, isOperatingError, type OperatingError } from '../../store/errors.ts';
import { dropUnreachable } from '../../store/git/drop-unreachable.ts';
import { listLogs } from '../../store/git/refs.ts';
import type { Repository } from '../../store/git/repository.ts';
import type { HomeLock } from '../../store/home/home-lock.ts';
import { rewriteLog } from '../../store/logs/log-rewrite.ts';
import { purgeBranches } from '../../store/logs/fork-branches.ts';
import { removeLeftFolders } from '../../store/private-folder.ts';
import { purgePlainCopies, removeKeptFiles } from '../../store/purge-copies.ts';
import { readPurgeNote, writePurgeNote } from '../../store/notes/purge-note.ts';
import { sweepHome } from '../../store/home/sweep.ts';
import type { AppendQueue } from '../own/append-queue.ts';
import type { Beliefs } from '../beliefs/beliefs.ts';
import { counted } from '../counted.ts';
import type { LocalFault } from '../engine.ts';
import type { TrustState } from '../trust/trust-keeper.ts';

type Progress = (text: string) => void;

export interface Purger {
  /** Events that the charter purges and that are not out of this home yet, sorted. */
  readonly due: () => readonly string[];
  /**
   * Carries out what is due, with appends, fetches, readers and served peers held, and puts the fold under the charter as it
   * is. Never throws for what fails in it: then it stays due, and `faults` says why. @returns false: nothing was due.
   */
  readonly carryOut: (progress: Progress) => Promise<boolean>;
  /** True once nothing that the charter purges is in this home: what a view line of this host says under that trust set. */
  readonly isDone: () => boolean;
  /** Tries again what failed, now and then: the disk may have space again, or what was damaged is mended. */
  readonly retry: () => Promise<void>;
  /** Bodies that the mesh purged are still on this disk, and why. */
  readonly faults: () => readonly LocalFault[];
}

export interface PurgerOptions {
  readonly lock: HomeLock;
  /** Slug of this host. */
  readonly host: string;
  readonly repository: Repository;
  readonly meshId: string;
  readonly trust: () => TrustState;
  readonly beliefs: Beliefs;
  readonly gate: ObjectGate;
  /** Appends wait in it while a purge is at work. */
  readonly queue: Pick<AppendQueue<unknown, unknown>, 'alone'>;
  readonly log: Logger | undefined;
}

/** What failed is tried again after this time at the earliest, and takes this part of the time at most: all wait for it. */
const retryMs = 20_000;
const retryShare = 20;

export function createPurger(options: PurgerOptions): Purger {
  const { lock, trust, gate, queue, beliefs, log } = options;
  let fault: OperatingError | undefined;
  const workOf = (): PurgeWork => ({ noted: readPurgeNote(lock.home), covered: beliefs.book.covered() });
  const due = (): readonly string[] => duePurges(trust().charter.purges, workOf());
  const hasWork = (): boolean => hasPurgeWork(trust().charter.purges, workOf());
  let nextTry = 0;
  const work = async (progress: Progress): Promise<void> => {
    const start = performance.now();
    try {
      await purgeHome(options, progress);
      fault = undefined;
      // Nothing was signed of the views while bodies were in this home.
      beliefs.touchManifests(options.host);
    } catch (error) {
      if (!isOperatingError(error)) throw error;
      if (fault?.message !== error.message) log?.error({ err: error }, 'a purge is not finished');
      fault = error;
      // What is purged counts for nothing from now on, wherever its bytes still are.
      await beliefs.recharter();
    }
    const end = performance.now();
    nextTry = end + Math.max(retryMs, retryShare * (end - start));
  };
  const carryOut = async (progress: Progress): Promise<boolean> => {
    await forgetVoided(lock.home, trust());
    const some = hasWork();
    if (some) await gate.alone(() => queue.alone(() => work(progress)));
    return some;
  };
  return {
    due,
    isDone: () => !hasWork(),
    carryOut,
    async retry() {
      if (fault !== undefined && performance.now() >= nextTry) await carryOut(() => undefined);
    },
    faults: () =>
      [
        ...(fault === undefined ? [] : [sentence(due().length, fault)]),
        ...beliefs.book.covered().map((host) => `${comeBack(host)}; next: memctl rebuild`),
      ].map((detail) => ({ kind: 'PURGE_DUE', detail })),
  };
}

/** Somebody put an old branch back, with git or from a backup. */
function comeBack(host: string): string {
  return `log ${host} holds bodies again that are purged`;
}

function sentence(due: number, { message }: OperatingError): string {
  return `the bodies of ${counted(due, 'purged event')} are not out of this home: ${message}`;
}

/** What was carried out for a purge that counts no more is forgotten: should it count again, there may be bodies again. */
async function forgetVoided(home: HomeLock['home'], { charter }: TrustState): Promise<void> {
  const noted = readPurgeNote(home);
  const counting = stillNoted(charter.purges, { noted });
  if (counting.length < noted.length) await writePurgeNote(home, counting);
}

/**
 * Everywhere at once, as far as it goes: a log that cannot be read keeps no body of another one. Throws the first failure;
 * what is believed is made anew all the same.
 */
async function purgeHome(options: PurgerOptions, progress: Progress): Promise<void> {
  const { lock, trust, beliefs, meshId } = options;
  const { charter } = trust();
  const { purges: purged } = charter;
  const { home } = lock;
  const failures: OperatingError[] = [];
  const attempt = async (step: () => unknown): Promise<void> => {
    try {
      await step();
    } catch (error) {
      if (!isOperatingError(error)) throw error;
      failures.push(error);
    }
  };
  await beliefs.purge(progress, async () => {
    await purgeLogs(options, progress, attempt);
    await attempt(() => purgePlainCopies(home, { meshId, purged }));
    await attempt(() => purgeBranches(home, { meshId, purged }));
  });
  const unwritten = beliefs.fileFault();
  if (unwritten !== undefined) failures.push(unwritten);
  await attempt(async () => {
    // Last, since writing a view keeps a hand edit of it beside.
    const removed = [...removeKeptFiles(home, charter.audiences), ...removeLeftFolders()];
    if (removed.length > 0) options.log?.warn({ removed }, 'a purge removed kept copies');
    await syncDirectories(realDisk, foldersOf(home));
  });
  const [failure] = failures;
  if (failure !== undefined) throw failure;
  await writePurgeNote(home, [...purged.keys()]);
}

/** Every log that the repository has, whosoever it is, and then its objects. */
async function purgeLogs(
  { lock, repository, trust, meshId, log }: PurgerOptions,
  progress: Progress,
  attempt: (step: () => unknown) => Promise<void>,
): Promise<void> {
  const { purges: purged } = trust().charter;
  await attempt(async () => {
    for (const host of listLogs(repository).keys()) {
      progress(`purging log ${host}`);
      await attempt(async () => {
        const rewritten = await rewriteLog({ repository, host, meshId, purged });
        if (rewritten !== undefined) progress(`log ${host}: ${counted(rewritten.holes, 'new hole')}`);
      });
    }
    progress('dropping old objects');
    sweepHome(lock);
    const removed = await dropUnreachable(repository);
    if (removed.length > 0) log?.warn({ removed }, "a purge removed what was not memd's from its repository");
  });
}

/** What was removed must not be there again after a power cut. */
function foldersOf({ dir, logs, views }: HomeLock['home']): readonly string[] {
  try {
    const audiences = readdirSync(views, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return [dir, logs, views, ...audiences.map(({ name }) => join(views, name))];
  } catch (error) {
    throw diskError(error, 'read', views);
  }
}
