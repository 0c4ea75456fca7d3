/**
 * Where a repair puts what it takes out of a home: `damaged/TIME/`, under the paths that the things had, with a note that
 * says why. Nothing is deleted: what looks like garbage today may be the last copy of something. A purge removes all of it.
 */

import fs from 'node:fs';
import path from 'node:path';
import { diskError } from '../errors.ts';
import type { Home } from './home.ts';

export interface DamagedFolder {
  /** The folder of this run; null as long as nothing had to go there. */
  dir(): string | null;
  /** Moves a file, link or folder of the home aside; durable on return. Does nothing where there is none. */
  moveAside(file: string, why: string): void;
  /** Keeps a copy of a file that is about to be mended in place. Does nothing where there is none, or no plain file. */
  copyAside(file: string, why: string): void;
  /** Keeps bytes that no file of the home holds. `name`: a path below the folder. */
  keepBytes(name: string, bytes: Uint8Array, why: string): void;
}

/** Lines of the note go here before anything is moved, so that a crash leaves no riddle. */
const noteName = 'NOTE.txt';

/** Opens it; no folder is made before the first thing goes there. Errors of its calls: `DISK_FAILED`, `DISK_FULL`. */
export function openDamagedFolder(home: Home, now: Date): DamagedFolder {
  let folder: string | null = null;
  const open = (): string => (folder ??= makeFolder(home, now));
  const place = (name: string, why: string): string => {
    const to = freeName(path.join(open(), name));
    fs.mkdirSync(path.dirname(to), { recursive: true, mode: 0o700 });
    note(open(), `${path.relative(open(), to)}: ${why}`);
    return to;
  };
  const guarded = (what: string, file: string, work: () => void): void => {
    try {
      work();
    } catch (error) {
      throw diskError(error, what, file);
    }
  };
  return {
    dir: () => folder,
    moveAside: (file, why) =>
      guarded('move aside', file, () => {
        if (fs.lstatSync(file, { throwIfNoEntry: false }) === undefined) return;
        const to = place(path.relative(home.dir, file), why);
        fs.renameSync(file, to);
        flushUpTo(path.dirname(to), open());
        flush(path.dirname(file));
      }),
    copyAside: (file, why) =>
      guarded('copy', file, () => {
        if (fs.lstatSync(file, { throwIfNoEntry: false })?.isFile() !== true) return;
        const to = place(path.relative(home.dir, file), why);
        writeNew(to, fs.readFileSync(file));
        flushUpTo(path.dirname(to), open());
      }),
    keepBytes: (name, bytes, why) =>
      guarded('keep', name, () => {
        const to = place(name, why);
        writeNew(to, bytes);
        flushUpTo(path.dirname(to), open());
      }),
  };
}

/** Objects that earlier repairs moved aside: the ids of loose ones, and how many packs. */
export function listAsideObjects({ damaged }: Pick<Home, 'damaged'>): {
  readonly names: readonly string[];
  readonly packs: number;
} {
  const folders = namesIn(damaged).map((name) => path.join(damaged, name, 'repo.git', 'objects'));
  const packs = folders.flatMap((folder) =>
    namesIn(path.join(folder, 'pack')).filter((name) => name.endsWith('.pack')),
  );
  const names = folders.flatMap((folder) => {
    const fans = namesIn(folder).filter((name) => /^[0-9a-f]{2}$/.test(name));
    return fans.flatMap((fan) =>
      namesIn(path.join(folder, fan)).flatMap((name) => (/^[0-9a-f]{38}/.test(name) ? fan + name.slice(0, 38) : [])),
    );
  });
  return { names, packs: packs.length };
}

function namesIn(folder: string): readonly string[] {
  return fs.lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === true ? fs.readdirSync(folder) : [];
}

function makeFolder({ dir, damaged }: Home, now: Date): string {
  const status = fs.lstatSync(damaged, { throwIfNoEntry: false });
  // A link in its place could lead what is moved to anywhere.
  if (status !== undefined && !status.isDirectory()) fs.renameSync(damaged, freeName(`${damaged}.other`));
  fs.mkdirSync(damaged, { recursive: true, mode: 0o700 });
  const folder = freeName(path.join(damaged, now.toISOString().replace(/[:.]/g, '-')));
  fs.mkdirSync(folder, { mode: 0o700 });
  flush(damaged);
  flush(dir);
  return folder;
}

function freeName(file: string): string {
  for (let n = 1; ; n += 1) {
    const name = n === 1 ? file : `${file}~${n}`;
    if (fs.lstatSync(name, { throwIfNoEntry: false }) === undefined) return name;
  }
}

function note(folder: string, line: string): void {
  const descriptor = fs.openSync(path.join(folder, noteName), 'a', 0o600);
  try {
    fs.writeSync(descriptor, `${line.replaceAll('\n', ' ')}\n`);
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

function writeNew(file: string, bytes: Uint8Array): void {
  const descriptor = fs.openSync(file, 'wx', 0o600);
  try {
    for (let at = 0; at < bytes.length;) at += fs.writeSync(descriptor, bytes, at);
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
  flush(path.dirname(file));
}

/** A folder that is new has a name that a power cut takes, and all below with it. */
function flushUpTo(folder: string, top: string): void {
  for (let at = folder; ; at = path.dirname(at)) {
    flush(at);
    if (at === top || at === path.dirname(at)) return;
  }
}

function flush(folder: string): void {
  const descriptor = fs.openSync(folder, fs.constants.O_RDONLY);
  try {
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}
