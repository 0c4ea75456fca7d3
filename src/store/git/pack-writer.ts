/**
 * One new pack beside the others. git makes it in a folder of its own, which the sweep at start empties; it is flushed, and
 * moved in with the index last, since git sees a pack by its index. Nothing old goes here.
 */
import fs from 'node:fs';
import path from 'node:path';
import { packFlushMs } from '../../core/limits.ts';
import { failedChild, startChild, type RunningChild } from '../child.ts';
import { syncDirectories } from '../disk.ts';
import { diskError, OperatingError } from '../errors.ts';
import { patientRequest } from './pack-ranges.ts';
import { throughQuarantine, type Repository } from './repository.ts';

export interface PackJob {
  /** Hands over the objects, each with a hint, and waits when it is told to. */
  readonly feed: (take: (oid: string, hint: string) => Promise<void> | undefined) => Promise<void>;
  /** `new`: what another pack holds is left out. `again`: packed anew wherever it is, without what git once found. */
  readonly how: 'new' | 'again';
  /** Stops it; without one it is not stopped. */
  readonly signal?: AbortSignal;
}

/** Neighbours that are tried for a delta; with our hints the best one is the next one. */
const window = 4;
const depth = 50;
let counter = 0;

/**
 * Makes the pack, durable on return. @returns its name `pack-<hash>`; undefined when there was nothing to pack.
 * Errors: `CHILD_FAILED`, `CHILD_TIMEOUT`, `DISK_FAILED`, `DISK_FULL`; also when the signal came.
 */
export async function writePack(repository: Repository, job: PackJob): Promise<string | undefined> {
  counter += 1;
  const folder = path.join(repository.gitDir, 'quarantine', `packing-${process.pid}-${counter}`);
  try {
    fs.mkdirSync(path.join(folder, 'pack'), { recursive: true, mode: 0o700 });
    const name = await runPackObjects(repository, job, folder);
    if (name !== undefined) await moveIn(repository, folder, name);
    return name;
  } catch (error) {
    throw diskError(error, 'make a pack in', folder);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** What whoever had it stopped is told. */
export function packingStopped(): OperatingError {
  return new OperatingError('CHILD_FAILED', 'packing was stopped', {
    retry: 'later',
    hint: 'a purge goes first, or memd was ending; nothing is lost: run it again',
  });
}

async function runPackObjects(repository: Repository, job: PackJob, folder: string): Promise<string | undefined> {
  const how = job.how === 'new' ? ['--incremental'] : ['--no-reuse-delta', '--no-reuse-object'];
  const options = ['-q', '--non-empty', '--delta-base-offset', `--window=${window}`, `--depth=${depth}`];
  const args = ['-c', 'pack.compression=6', 'pack-objects', ...options, ...how, path.join(folder, 'pack', 'pack')];
  const child = startChild(patientRequest(throughQuarantine(repository, folder), args));
  const stop = (): void => child.kill();
  const flusher = flushWhileItGrows(repository, path.join(folder, 'pack'));
  job.signal?.addEventListener('abort', stop);
  if (job.signal?.aborted === true) stop();
  const said = collect(child);
  try {
    await job
      .feed((oid, hint) => give(child, `${oid} ${hint}\n`))
      .catch((error: unknown) => {
        if (error !== endedEarly) throw error;
      });
    child.stdin.end();
    const result = await child.done;
    if (job.signal?.aborted === true) throw packingStopped();
    if (/No space left|Disk quota/.test(result.stderr))
      throw new OperatingError('DISK_FULL', `cannot make a pack in ${folder}: the disk is full`);
    if (result.code !== 0) throw failedChild({ command: 'git', args: ['pack-objects'] }, result);
    return /^[0-9a-f]{40}$/.test(said()) ? `pack-${said()}` : undefined;
  } finally {
    job.signal?.removeEventListener('abort', stop);
    child.kill();
    await child.done.catch(() => undefined);
    await flusher.stop();
  }
}

function collect({ stdout }: RunningChild): () => string {
  let text = '';
  stdout.setEncoding('latin1').on('data', (chunk: string) => (text += chunk.slice(0, 100)));
  return () => text.trim();
}

/** Undefined: there is room for more. Rejects when the child ended: its exit code says why. */
function give(child: RunningChild, line: string): Promise<void> | undefined {
  if (child.stdin.write(line)) return undefined;
  const drained = new Promise<void>((resolve) => child.stdin.once('drain', resolve));
  const ended = child.done.then(() => Promise.reject(endedEarly));
  return Promise.race([drained, ended]);
}

const endedEarly = new Error('git pack-objects ended before it was told everything');

/**
 * A large file that is flushed at its end stops every other flush on that disk meanwhile, and so every append: on ext4 one
 * waits for the other. So it is flushed as it grows.
 */
function flushWhileItGrows(repository: Repository, folder: string): { readonly stop: () => Promise<void> } {
  let flushing: Promise<void> | undefined;
  const flush = async (): Promise<void> => {
    for (const file of fs.readdirSync(folder)) await syncFile(repository, path.join(folder, file));
  };
  const timer = setInterval(() => {
    flushing ??= flush()
      // It was renamed meanwhile, or the disk fails: what counts is the flush before it is moved in.
      .catch(() => undefined)
      .finally(() => (flushing = undefined));
  }, packFlushMs);
  return {
    async stop() {
      clearInterval(timer);
      await flushing;
    },
  };
}

async function syncFile({ disk }: Repository, file: string): Promise<void> {
  const descriptor = fs.openSync(file, fs.constants.O_RDONLY);
  try {
    await disk.syncFile(descriptor, file);
  } finally {
    fs.closeSync(descriptor);
  }
}

async function moveIn(repository: Repository, folder: string, name: string): Promise<void> {
  const { disk, objectDir } = repository;
  const [from, to] = [path.join(folder, 'pack'), path.join(objectDir, 'pack')];
  const files = fs.readdirSync(from).filter((file) => file.startsWith(`${name}.`));
  for (const file of files) await syncFile(repository, path.join(from, file));
  const indexLast = files.toSorted((left, right) => Number(left.endsWith('.idx')) - Number(right.endsWith('.idx')));
  for (const file of indexLast) disk.rename(path.join(from, file), path.join(to, file));
  await syncDirectories(disk, [to, objectDir]);
}
