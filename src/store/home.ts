/** The home folder: where it is, whether it is safe to use, and what lies where in it. */

import fs from 'node:fs';
import path from 'node:path';
import { diskError, OperatingError, systemCode } from './errors.ts';

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
  /** Skips and failures of harness hooks. */
  readonly hooksLog: string;
  /** What sessions were given at their start. */
  readonly injected: string;
  /** Which purges were carried out here. */
  readonly purged: string;
  /** What this host believed, finer than what it publishes on branch view/<host>. */
  readonly fineJournal: string;
  /** Which agent may sign events, with which key, and until when. Not there: none. */
  readonly unlock: string;
}

/** Bytes of a unix socket path that every system takes (Linux 107, macOS 103). */
export const socketPathBytesMax = 103;

/** `f_type` of NFS in statfs. */
const nfsMagic = 0x6969;

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
    hooksLog: at('hooks.log'),
    injected: at('injected.jsonl'),
    purged: at('purged.json'),
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
  if (path.isAbsolute(dir)) return path.resolve(dir);
  throw new OperatingError('HOME_NOT_ABSOLUTE', `${source} is not an absolute path: ${JSON.stringify(dir)}`, {
    hint: 'give an absolute path; the current folder is never used',
  });
}

/**
 * Opens an existing home: a real folder, ours, closed to others, on a file system with working locks.
 * Errors: `HOME_MISSING`, `HOME_UNSAFE`, `HOME_NOT_ABSOLUTE`.
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
    unsafe(
      `belongs to user id ${status.uid}, this process runs as ${uid}`,
      `run as that user, or: chown -R ${uid} ${dir}`,
    );
  }
  if ((status.mode & 0o077) !== 0) {
    unsafe(`is open to others (mode ${(status.mode & 0o777).toString(8).padStart(4, '0')})`, `chmod 700 ${dir}`);
  }
  if (fs.statfsSync(dir).type === nfsMagic)
    unsafe('is on NFS, where locks cannot be trusted', 'use a folder on a local disk');
}

/**
 * Path by which to reach the socket: the absolute one, or one relative to `cwd` when that is too long for the system.
 * Errors: `HOME_PATH_TOO_LONG`.
 */
export function socketAddress(home: Home, cwd: string): string {
  const candidates = [home.socket, path.relative(cwd, home.socket)];
  const fitting = candidates.find((candidate) => Buffer.byteLength(candidate) <= socketPathBytesMax);
  if (fitting !== undefined) return fitting;
  throw new OperatingError(
    'HOME_PATH_TOO_LONG',
    `socket path is longer than ${socketPathBytesMax} bytes: ${home.socket}`,
    {
      hint: `use a shorter home folder, or run from inside it: cd ${home.dir}`,
    },
  );
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
