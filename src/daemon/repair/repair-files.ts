/** What lies in a home beside git: files that must be plain, folders that must be folders, modes, and what can be made again. */
import { chmodSync, lstatSync, readdirSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { damagedLastHeads, readLastHeads } from '../../store/notes/last-heads.ts';
import { readPurgeNote } from '../../store/notes/purge-note.ts';
import { isOperatingError } from '../../store/errors.ts';
import type { RepairRoom } from './room.ts';

/** Closes what must be closed to others, and opens to us what only we can have closed. Before anything else is looked at. */
export function repairModes({ home, done }: Pick<RepairRoom, 'home' | 'done'>): void {
  const uid = process.getuid?.();
  const set = (file: string, status: Stats, mode: number): void => {
    if ((status.mode & 0o7777) === mode) return;
    chmodSync(file, mode);
    done('modes', `${file} had mode ${octal(status.mode)}: it has ${octal(mode)}`);
  };
  const look = (file: string): void => {
    const status = lstatSync(file, { throwIfNoEntry: false });
    // Whoever owns it must change it.
    if (status === undefined || status.uid !== uid) return;
    const isKey = file === home.keys || file.startsWith(`${home.keys}/`);
    if (status.isDirectory()) {
      set(file, status, isKey || file === home.dir ? 0o700 : (status.mode & 0o777) | 0o700);
      for (const name of readdirSync(file)) look(join(file, name));
    } else if (status.isFile()) {
      set(file, status, isKey ? 0o600 : (status.mode & 0o777) | 0o400);
    }
  };
  look(home.dir);
}

function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, '0');
}

/** Moves aside what stands where a plain file or a real folder must be, and what is derived and cannot be read. */
export function repairHomeFiles(room: RepairRoom): void {
  const { home } = room;
  const aside = (file: string, why: string, then: string): void => {
    room.aside.moveAside(file, why);
    room.done(file, `${why}: it is moved aside, ${then}`);
  };
  for (const folder of [home.views, home.logs, home.forks, home.quarantine]) {
    const status = lstatSync(folder, { throwIfNoEntry: false });
    if (status !== undefined && !status.isDirectory()) aside(folder, 'is not a folder', 'and made again');
  }
  const requirePlain = (folder: string, kind: 'folder' | 'file'): void => {
    for (const name of namesIn(folder)) {
      const file = join(folder, name);
      const status = lstatSync(file);
      const isRight = kind === 'folder' ? status.isDirectory() : status.isFile();
      if (!isRight) aside(file, `is not a plain ${kind}`, 'and made again');
    }
  };
  requirePlain(home.logs, 'file');
  requirePlain(home.views, 'folder');
  for (const name of namesIn(home.views)) requirePlain(join(home.views, name), 'file');
  const files = [
    home.lastHeads,
    home.peerMemory,
    home.purged,
    home.fineJournal,
    `${home.fineJournal}.1`,
    `${home.hooksLog}.1`,
    `${home.injected}.1`,
    home.marker,
    home.maintenance,
    home.exports,
    home.injected,
    home.hooksLog,
    home.lockNote,
  ];
  for (const file of files) {
    const status = lstatSync(file, { throwIfNoEntry: false });
    if (status !== undefined && !status.isFile())
      aside(file, 'is not a plain file', 'and made again when it is needed');
  }
  const socket = lstatSync(home.socket, { throwIfNoEntry: false });
  if (socket !== undefined && !socket.isSocket()) aside(home.socket, 'is no socket', 'and made again by memd');
  if (lstatSync(home.purged, { throwIfNoEntry: false })?.isFile() === true && readPurgeNote(home).length === 0)
    aside(home.purged, 'names no event', 'and every purge is carried out once more');
  repairLastHeads(room, aside);
  repairDatabase(room, aside);
}

type Aside = (file: string, why: string, then: string) => void;

function repairLastHeads({ home }: RepairRoom, aside: Aside): void {
  if (readLastHeads(home).state === 'damaged') aside(home.lastHeads, 'cannot be read', 'and written again');
  const earlier = damagedLastHeads(home);
  if (lstatSync(earlier, { throwIfNoEntry: false }) !== undefined)
    aside(earlier, 'could not be read when memd started', 'since every branch has been looked at now');
}

/** Rows have digests, and a bad one is never served; what is looked at here is what SQLite itself must rely on. */
function repairDatabase({ home }: RepairRoom, aside: Aside): void {
  const fault = databaseFault(home.database);
  if (fault === undefined) return;
  for (const ending of ['-wal', '-shm', ''])
    if (lstatSync(home.database + ending, { throwIfNoEntry: false }) !== undefined)
      aside(home.database + ending, fault, 'and made again from the logs');
}

function databaseFault(file: string): string | undefined {
  const status = lstatSync(file, { throwIfNoEntry: false });
  if (status === undefined) return undefined;
  if (!status.isFile()) return 'is not a plain file';
  try {
    const database = new Database(file, { readonly: true, fileMustExist: true });
    try {
      const [said] = database.pragma('quick_check(1)') as { quick_check: string }[];
      return said?.quick_check === 'ok' ? undefined : `is damaged (${said?.quick_check ?? ''})`;
    } finally {
      database.close();
    }
  } catch (error) {
    if (isOperatingError(error)) throw error;
    return `is damaged (${error instanceof Error ? error.message : String(error)})`;
  }
}

function namesIn(folder: string): readonly string[] {
  return lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === true ? readdirSync(folder) : [];
}
