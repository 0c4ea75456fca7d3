/**
 * Where a peer's objects wait for judgement: an object folder of their own, with ours as alternate. git checks them there
 * under limits of time, allocation and size; nothing of ours points at them, and removing the folder is all it takes.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fetchDeadlineMs } from '../../core/limits.ts';
import { ok, refuse, type Result } from '../../crypto/result.ts';
import { isOutOfRoom, lastLine, startChild, type RunningChild } from '../../store/child.ts';
import {
  diskError,
  diskFullHint,
  isOperatingError,
  OperatingError,
  printable,
  restoreHint,
} from '../../store/errors.ts';
import { childHeapBytesMax } from './fetch-bounds.ts';
import { gitRequest, throughQuarantine, type ObjectView, type Repository } from '../../store/git/repository.ts';

/** A folder of objects that are not trusted yet. */
export interface Quarantine {
  /** Their objects first, then ours. */
  readonly view: ObjectView;
  /** Removes it with all that it holds. Safe to call twice. */
  remove(): void;
}

/**
 * How git takes a pack in. `loose`: unpacked, for a few objects that are read at once and in process. `pack`: kept as a
 * pack with its index.
 */
export type IntakeForm = 'loose' | 'pack';

export interface IntakeBounds {
  readonly bytesMax: number;
  readonly objectsMax: number;
}

/** A pack on its way into a quarantine. */
export interface PackIntake {
  readonly stdin: RunningChild['stdin'];
  /**
   * This commit comes without its parent: to be told before the first byte is written. Errors: `DISK_FAILED`, `DISK_FULL`.
   */
  cutAt(commit: string): void;
  /** Settles when git is done; refused when git found the pack bad or too costly. Throws for failures of this machine. */
  readonly done: Promise<Result<true, 'PACK_REFUSED'>>;
  kill(): void;
}

let counter = 0;

/**
 * Makes an empty quarantine in the folder that the start-up sweep empties. `alone`: our own objects are not seen from it.
 * Errors: `DISK_FAILED`, `DISK_FULL`.
 */
export function openQuarantine(
  repository: Repository,
  { alone = false }: { readonly alone?: boolean | undefined } = {},
): Quarantine {
  counter += 1;
  const objectDir = join(repository.gitDir, 'quarantine', `${process.pid}-${counter}`);
  try {
    mkdirSync(join(objectDir, 'pack'), { recursive: true, mode: 0o700 });
  } catch (error) {
    rmSync(objectDir, { recursive: true, force: true });
    throw diskError(error, 'make quarantine', objectDir);
  }
  const seen = throughQuarantine(repository, objectDir);
  return {
    view: { ...seen, ...(alone ? { alternates: [] } : {}), heapBytesMax: childHeapBytesMax },
    remove: () => rmSync(objectDir, { recursive: true, force: true }),
  };
}

/** CPU seconds of one child; a 1.5 kB pack once took 37. */
const cpuSecondsMax = 30;
/** One allocation: the largest lawful object is 48 KiB. index-pack also allocates about 100 bytes per announced object. */
const allocationBytes = 16 * 1_024 * 1_024;
const allocationBytesPerObject = 128;

/** Starts git on a pack that will be written to `stdin`. */
export function startIntake(quarantine: Quarantine, form: IntakeForm, bounds: IntakeBounds): PackIntake {
  const verb =
    form === 'loose'
      ? ['unpack-objects', '-q', '--strict', `--max-input-size=${bounds.bytesMax}`]
      : ['index-pack', '--stdin', '--strict', '--fix-thin', `--max-input-size=${bounds.bytesMax}`];
  // A blob above the threshold would be streamed past the allocation limit; durability comes when it is taken over.
  const settings = ['core.bigFileThreshold=2g', 'pack.threads=1', 'core.fsync=none'].flatMap((setting) => [
    '-c',
    setting,
  ]);
  const { command, args, env } = gitRequest(quarantine.view, { args: [...settings, ...verb] });
  const cuts = join(quarantine.view.objectDir, 'cuts');
  const child = startChild({
    command: 'sh',
    args: ['-c', `ulimit -t ${cpuSecondsMax}; exec "$@"`, 'sh', command, ...args],
    env: {
      ...env,
      // Commits whose parents git does not ask for. It looks when it reads its first commit; where there is no file, there are none.
      GIT_SHALLOW_FILE: cuts,
      GIT_ALLOC_LIMIT: String(allocationBytes + allocationBytesPerObject * (form === 'pack' ? bounds.objectsMax : 0)),
    },
    deadlineMs: fetchDeadlineMs,
  });
  child.stdout.resume();
  return {
    stdin: child.stdin,
    cutAt: (commit) => writeCut(cuts, commit),
    done: judge(child, quarantine.view).finally(() => rmSync(cuts, { force: true })),
    kill: () => child.kill(),
  };
}

function writeCut(file: string, commit: string): void {
  try {
    writeFileSync(file, `${commit}\n`, { mode: 0o600 });
  } catch (error) {
    throw diskError(error, 'write', file);
  }
}

async function judge(child: RunningChild, { alternates }: ObjectView): Promise<Result<true, 'PACK_REFUSED'>> {
  try {
    const { code, stderr } = await child.done;
    if (code === 0) return ok(true);
    if (isOutOfRoom(stderr)) {
      throw new OperatingError('DISK_FULL', `cannot take a pack in: ${lastLine(stderr)}`, { hint: diskFullHint });
    }
    if (/Input\/output error|Permission denied|Read-only file system/.test(stderr)) {
      throw new OperatingError('DISK_FAILED', `cannot take a pack in: ${lastLine(stderr)}`, {
        hint: 'look at the disk of the home folder',
      });
    }
    // git names the object and where it is stored: what stands in our own folder did not come from the peer.
    const ours = alternates.find((folder) => stderr.includes(`(stored in ${folder}/`));
    if (ours !== undefined) {
      throw new OperatingError('OBJECT_DAMAGED', `an object of this home is damaged: ${printable(lastLine(stderr))}`, {
        hint: restoreHint,
      });
    }
    return refuse(
      'PACK_REFUSED',
      code > 128 && stderr === ''
        ? 'git needed too much time for the pack'
        : `git refused the pack: ${lastLine(stderr)}`,
    );
  } catch (error) {
    if (isOperatingError(error, 'CHILD_TIMEOUT'))
      return refuse('PACK_REFUSED', 'git needed too much time for the pack');
    throw error;
  }
}
