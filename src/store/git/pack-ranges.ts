/**
 * What is to be packed, in pieces of bounded size: git holds every object of a pack in memory while it makes it, and so a
 * long history is never packed as one.
 */
import { createInterface } from 'node:readline';
import { maintenanceDeadlineMs, packCommitsMax } from '../../core/limits.ts';
import { failedChild, startChild } from '../child.ts';
import { listLogs, listViews, logRef, readRef, trustRef, viewBranch } from './refs.ts';
import { gitRequest, type ObjectView, type Repository } from './repository.ts';

/** Commits by branch. */
export type Tips = Readonly<Record<string, string>>;

/** The commits of one branch behind `from` (undefined: from its beginning) up to `upto`. */
export interface Range {
  readonly ref: string;
  /** Number of the branch, for the hints. */
  readonly branch: number;
  readonly from: string | undefined;
  readonly upto: string;
}

/** Where every branch stands now. Errors: as `readRef`. */
export function readTips(repository: Repository): Tips {
  const trust = readRef(repository, trustRef);
  return {
    ...Object.fromEntries(Array.from(listLogs(repository), ([host, oid]) => [logRef(host), oid])),
    ...Object.fromEntries(Array.from(listViews(repository), ([host, oid]) => [viewBranch(host).ref, oid])),
    ...(trust === null ? {} : { [trustRef]: trust }),
  };
}

/**
 * Everything between two states of the branches, in pieces of at most `packCommitsMax` commits. A commit in `from` that is
 * not there any more (a purge came between) hides nothing. Errors: `CHILD_FAILED`, `CHILD_TIMEOUT`.
 */
export async function planRanges(
  repository: Repository,
  states: { readonly from: Tips; readonly upto: Tips },
  commitsMax: number = packCommitsMax,
): Promise<readonly (readonly Range[])[]> {
  const pieces: Range[][] = [];
  let room = 0;
  for (const [branch, [ref, upto]] of Object.entries(states.upto).entries()) {
    let from = states.from[ref];
    if (from === upto) continue;
    const commits = await listCommits(repository, from, upto);
    for (let at = 0; at < commits.length;) {
      if (room === 0) {
        pieces.push([]);
        room = commitsMax;
      }
      const taken = Math.min(room, commits.length - at);
      const last = commits[at + taken - 1] ?? upto;
      pieces.at(-1)?.push({ ref, branch, from, upto: last });
      from = last;
      at += taken;
      room -= taken;
    }
  }
  return pieces;
}

/** Oldest first. */
async function listCommits(repository: Repository, from: string | undefined, upto: string): Promise<string[]> {
  const commits: string[] = [];
  await eachLine(repository, ['rev-list', '--reverse', ...revisions(from, upto)], (line) => void commits.push(line));
  return commits;
}

function revisions(from: string | undefined, upto: string): readonly string[] {
  return ['--ignore-missing', upto, ...(from === undefined ? [] : [`^${from}`]), '--'];
}

/** Tells every object of a range, with its path. Errors: `CHILD_FAILED` (one is missing or damaged), `CHILD_TIMEOUT`. */
export function eachObject(
  repository: ObjectView,
  { from, upto }: Range,
  tell: (oid: string, path: string) => Promise<void> | undefined | void,
): Promise<void> {
  return eachLine(repository, ['rev-list', '--objects', ...revisions(from, upto)], (line) =>
    tell(line.slice(0, 40), line.slice(41)),
  );
}

/** Runs git at low priority and hands out its lines, as fast as they are taken. */
async function eachLine(
  repository: ObjectView,
  args: readonly string[],
  take: (line: string) => Promise<void> | undefined | void,
): Promise<void> {
  const child = startChild(patientRequest(repository, args));
  child.stdin.end();
  try {
    for await (const line of createInterface({ input: child.stdout, crlfDelay: Infinity })) {
      const wait = take(line);
      if (wait !== undefined) await wait;
    }
    const result = await child.done;
    if (result.code !== 0) throw failedChild({ command: 'git', args }, result);
  } finally {
    child.kill();
  }
}

/** A git call that gives way to everything else: lowest priority, one thread, small caches. */
export function patientRequest(view: ObjectView, args: readonly string[]): ReturnType<typeof gitRequest> {
  const settings = [
    'pack.threads=1',
    'core.packedGitWindowSize=1m',
    'core.packedGitLimit=4m',
    'core.deltaBaseCacheLimit=8m',
    'pack.deltaCacheSize=8m',
    'pack.windowMemory=16m',
    // It is flushed by us, while it grows.
    'core.fsync=none',
  ].flatMap((setting) => ['-c', setting]);
  const request = gitRequest(view, { args: [...settings, ...args], deadlineMs: maintenanceDeadlineMs });
  return { ...request, command: 'nice', args: ['-n', '19', request.command, ...request.args] };
}
