/** The home folder: where it is, whether it is safe to use, and what lies where in it. */

import fs from 'node:fs';
import path from 'node:path';
import { diskError, OperatingError, systemCode } from '../errors.ts';
import { sharedFileSystemOf } from './file-system.ts';
import { foreignText, ownerHint, userName } from './ownership.ts';

/** Absolute paths of everything in a home folder. */
export interface Home {
  readonly dir: string;
  readonly repository: string;
  /** Folder of object quarantines, beside `objects/` so that a rename never crosses a file system. */
  readonly quarantine: string;
  readonly keys: string;
  readonly hostKey: string;
  readonly sshKey: string;
  readonly database: string;
  readonly views: string;
  readonly logs: string;
  readonly socket: string;
  readonly lock: string;
  readonly lockNote: string;
  readonly lastHeads: string;
  readonly peerMemory: string;
  readonly marker: string;
  /** Lines of logs that no branch holds. */
  readonly forks: string;
  /** What `doctor --repair` moved aside, a folder for each run. May hold anything that this home held. */
  readonly damaged: string;
  /** Skips and failures of harness hooks. */
  readonly hooksLog: string;
  /** What sessions were given at their start. */
  readonly injected: string;
  /** What of the repository is packed. */
  readonly maintenance: string;
  /** Which purges were carried out here. */
  readonly purged: string;
  /** Where this home was exported to. */
  readonly exports: string;
  /** What manifests were accepted here: nothing older is accepted later. */
  readonly manifestFloor: string;
  /** What this host believed, finer than what it publishes on branch view/<host>. */
  readonly fineJournal: string;
  /** Which agent may sign events, with which key, and until when. Not there: none. */
  readonly unlock: string;
}

/** Bytes of a unix socket path that every system takes (Linux 107, macOS 103). */
export const socketPathBytesMax = 103;

/** Bytes of the path of a home: SQLite takes 512 for the longest of its files, and these have up to 22 more. */
export const homePathBytesMax = 480;

/** Lays out the paths. Pure but for path joining; touches no disk. */
export function homePaths(dir: string): Home {
  const at = (...parts: string[]): string => path.join(dir, ...parts);
  return {
    dir,
    repository: at('repo.git'),
    quarantine: at('repo.git', 'quarantine'),
    keys: at('keys'),
    hostKey: at('keys', 'host_ed25519'),
    sshKey: at('keys', 'ssh_ed25519'),
    database: at('state.sqlite'),
    views: at('views'),
    logs: at('logs'),
    socket: at('memd.sock'),
    lock: at('memd.lock'),
    lockNote: at('memd.lock.owner'),
    lastHeads: at('last-heads.json'),
    peerMemory: at('peers.json'),
    marker: at('machine.marker'),
    forks: at('forks'),
    damaged: at('damaged'),
    hooksLog: at('hooks.log'),
    injected: at('injected.jsonl'),
    maintenance: at('maintenance.json'),
    purged: at('purged.json'),
    exports: at('exports.json'),
    manifestFloor: at('manifest-floor.json'),
    fineJournal: at('journal.jsonl'),
    unlock: at('unlock.json'),
  };
}

/**
 * Which folder is the home: the flag, else `MEMD_HOME`, else `$XDG_DATA_HOME/memd`, else `$HOME/.local/share/memd`.
 * There is no further fallback, and never the current folder: memory written to the wrong place is worse than an error.
 * Errors: `HOME_UNKNOWN`, `HOME_NOT_ABSOLUTE`.
 */
export function resolveHome(options: {
  flag?: string | undefined;
  env: Readonly<Record<string, string | undefined>>;
}): string {
  const { flag, env } = options;
  const named = flag ?? (env['MEMD_HOME'] || undefined);
  if (named !== undefined) return requireAbsolute(named, flag === undefined ? 'MEMD_HOME' : '--home');
  const data = env['XDG_DATA_HOME'];
  // The XDG specification: a relative path there is to be ignored.
  if (data !== undefined && path.isAbsolute(data)) return path.join(path.normalize(data), 'memd');
  const user = env['HOME'];
  if (user !== undefined && path.isAbsolute(user)) return path.join(path.normalize(user), '.local', 'share', 'memd');
  throw new OperatingError(
    'HOME_UNKNOWN',
    'no home folder: neither --home, MEMD_HOME, XDG_DATA_HOME nor HOME names one',
    {
      hint: 'give --home DIR with an absolute path',
    },
  );
}

function requireAbsolute(dir: string, source: string): string {
  if (path.isAbsolute(dir)) return requireShort(path.resolve(dir));
  throw new OperatingError('HOME_NOT_ABSOLUTE', `${source} is not an absolute path: ${JSON.stringify(dir)}`, {
    hint: 'give an absolute path; the current folder is never used',
  });
}

function requireShort(dir: string): string {
  if (Buffer.byteLength(dir) <= homePathBytesMax) return dir;
  throw new OperatingError(
    'HOME_PATH_TOO_LONG',
    `the path of the home is longer than ${homePathBytesMax} bytes: ${dir}`,
    {
      hint: 'name a shorter one: --home DIR',
    },
  );
}

/**
 * Opens an existing home: a real folder, ours, closed to others, on a file system with working locks.
 * Errors: `HOME_MISSING`, `HOME_UNSAFE`, `HOME_NOT_ABSOLUTE`, `HOME_PATH_TOO_LONG`.
 */
export function openHome(dir: string): Home {
  const absolute = requireAbsolute(dir, 'home');
  let status: fs.Stats;
  try {
    status = fs.lstatSync(absolute);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw diskError(error, 'open home', absolute);
    throw new OperatingError('HOME_MISSING', `there is no memd home at ${absolute}`, {
      hint: 'run: memctl init (a new mesh) or memctl host request (to join one)',
    });
  }
  checkFolder(absolute, status);
  return homePaths(absolute);
}

/**
 * Makes a new home (or accepts an empty or half-made one of ours) with mode 0700 and its folders; durable on return.
 * Errors: `HOME_UNSAFE`, `HOME_NOT_ABSOLUTE`, `DISK_FAILED`, `DISK_FULL`.
 */
export function createHome(dir: string): Home {
  const home = homePaths(requireAbsolute(dir, 'home'));
  try {
    const first = fs.mkdirSync(home.dir, { recursive: true, mode: 0o700 });
    openHome(home.dir);
    for (const folder of [home.keys, home.views, home.logs]) fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
    syncUpwards(home.dir, path.dirname(first ?? home.dir));
  } catch (error) {
    throw diskError(error, 'make home', home.dir);
  }
  return home;
}

/** Makes the names of new folders durable, from `dir` up to and with `top`. */
function syncUpwards(dir: string, top: string): void {
  for (let folder = dir; ; folder = path.dirname(folder)) {
    const descriptor = fs.openSync(folder, fs.constants.O_RDONLY);
    fs.fsyncSync(descriptor);
    fs.closeSync(descriptor);
    if (folder === top || folder === path.dirname(folder)) return;
  }
}

function checkFolder(dir: string, status: fs.Stats): void {
  const unsafe = (reason: string, hint: string): never => {
    throw new OperatingError('HOME_UNSAFE', `home ${dir} ${reason}`, { hint });
  };
  if (!status.isDirectory()) unsafe('is not a folder (a symbolic link is not followed)', 'name the real folder');
  const uid = process.getuid?.();
  if (uid !== undefined && status.uid !== uid) {
    unsafe(`belongs to ${userName(status.uid)}, this process runs as ${userName(uid)}`, ownerHint({ dir }));
  }
  if ((status.mode & 0o077) !== 0) {
    unsafe(`is open to others (mode ${(status.mode & 0o777).toString(8).padStart(4, '0')})`, `chmod 700 ${dir}`);
  }
  const shared = sharedFileSystemOf(dir);
  if (shared !== undefined)
    unsafe(
      `is on a shared disk (${shared}), where locks cannot be trusted`,
      'use a folder on a disk of this machine: --home DIR',
    );
}

/**
 * Path by which to reach the socket: the absolute one; when that is too long for the system, on Linux one through a
 * descriptor of the home, so that a home may lie as deep as its files may; elsewhere one relative to the working folder. A
 * socket of another user is not used: whoever answers there is not our memd. Errors: `HOME_PATH_TOO_LONG`, `HOME_UNSAFE`.
 */
export function socketAddress(home: Home, platform: NodeJS.Platform = process.platform): string {
  requireOwnSocket(home);
  if (Buffer.byteLength(home.socket) <= socketPathBytesMax) return home.socket;
  if (platform === 'linux') return path.join(descriptorPath(home.dir), path.basename(home.socket));
  const relative = path.relative(workingFolder() ?? home.dir, home.socket);
  if (workingFolder() !== undefined && Buffer.byteLength(relative) <= socketPathBytesMax) return relative;
  throw new OperatingError(
    'HOME_PATH_TOO_LONG',
    `socket path is longer than ${socketPathBytesMax} bytes: ${home.socket}`,
    {
      hint: `use a shorter home folder, or run from inside it: cd ${home.dir}`,
    },
  );
}

/** undefined where it was removed. */
function workingFolder(): string | undefined {
  try {
    return process.cwd();
  } catch {
    return undefined;
  }
}

function requireOwnSocket(home: Home): void {
  const uid = process.getuid?.();
  if (uid === undefined) return;
  for (const file of [home.dir, home.socket]) {
    const found = ownerOf(file);
    if (found === undefined || found === uid) continue;
    const text = foreignText({ file, uid: found });
    throw new OperatingError('HOME_UNSAFE', `${text}: nothing is asked there`, { hint: ownerHint(home) });
  }
}

/** undefined: not there, or not to be looked at; whoever opens it says so. */
function ownerOf(file: string): number | undefined {
  try {
    return fs.lstatSync(file, { throwIfNoEntry: false })?.uid;
  } catch {
    return undefined;
  }
}

/** Descriptors of homes, kept: the path through one is good for as long as it is open. */
const opened = new Map<string, number>();

/** A short path of a folder. One that is not there has none: a path that leads nowhere, so that its opener can say so. */
function descriptorPath(dir: string): string {
  const now = fs.statSync(dir, { throwIfNoEntry: false, bigint: true });
  if (now?.isDirectory() !== true) return '/proc/self/fd/none';
  const known = opened.get(dir);
  if (known !== undefined) {
    const then = fs.fstatSync(known, { bigint: true });
    if (then.ino === now.ino && then.dev === now.dev) return `/proc/self/fd/${known}`;
    // The folder is another one by now.
    fs.closeSync(known);
  }
  const descriptor = fs.openSync(dir, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY);
  opened.set(dir, descriptor);
  return `/proc/self/fd/${descriptor}`;
}

/** Refuses a file that others can read or write, or that is not a plain file of ours. Errors: `KEY_UNSAFE`, `KEY_MISSING`. */
export function checkPrivateFile(file: string): void {
  let status: fs.Stats;
  try {
    status = fs.lstatSync(file);
  } catch (error) {
    throw new OperatingError('KEY_MISSING', `cannot open key file ${file}: ${systemCode(error)}`, {
      cause: error,
      hint: 'restore it from a backup; without it, move the home aside and enrol this machine again under a new host name',
    });
  }
  const uid = process.getuid?.();
  if (!status.isFile())
    throw new OperatingError('KEY_UNSAFE', `${file} is not a plain file`, { hint: `replace it by the real file` });
  if (uid !== undefined && status.uid !== uid) {
    throw new OperatingError('KEY_UNSAFE', `${file} belongs to user id ${status.uid}, not to ${uid}`, {
      hint: `chown ${uid} ${file}`,
    });
  }
  if ((status.mode & 0o077) !== 0) {
    const mode = (status.mode & 0o777).toString(8).padStart(4, '0');
    throw new OperatingError('KEY_UNSAFE', `${file} can be read by others (mode ${mode})`, {
      hint: `chmod 600 ${file}`,
    });
  }
}
