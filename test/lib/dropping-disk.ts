/**
 * A power cut without root: watches which files and folders were flushed, and can lay out, in another folder, what a disk
 * may hold when the power goes: everything that was flushed, and of the rest whatever chance keeps.
 *
 * The model follows POSIX, not one file system: a file's bytes are durable when the file was flushed, a name when its
 * folder was flushed after it appeared. Without that a file can be there empty, full of NULs, or not at all.
 */
import fs from 'node:fs';
import path from 'node:path';
import type { Disk } from '../../src/store/disk.ts';
import type { Random } from './random.ts';

type Identity = string;
type Names = ReadonlyMap<string, { readonly id: Identity; readonly folder: boolean }>;

/** What a disk is known to hold for good. */
export interface PowerModel {
  /** Notes a flush of a file that is over; `bytes` are those that it held when it began. */
  syncedFile(status: fs.BigIntStats, bytes: Buffer): void;
  /** The same of a folder. */
  syncedFolder(status: fs.BigIntStats, names: Names): void;
  /** Takes the bytes of every pack as flushed, and no name: what a git child does with those that it makes. */
  settlePacks(): void;
  /** Takes everything on disk now as durable. */
  settle(): void;
  /**
   * Writes to `target` (a new folder) what is left after a power cut now. Without `random`: the worst case, nothing
   * unflushed survives. With it: every unflushed name and file survives, is lost, or is garbage by its numbers.
   */
  cutPower(target: string, random?: Random): void;
}

export type DroppingDisk = Disk & Pick<PowerModel, 'settle' | 'cutPower'>;

function identity(status: fs.BigIntStats): Identity {
  return `${status.ino}:${status.birthtimeNs}`;
}

/** The files and folders in a folder now. */
export function namesIn(folder: string): Names {
  const names = new Map<string, { id: Identity; folder: boolean }>();
  for (const name of fs.readdirSync(folder)) {
    const status = fs.lstatSync(path.join(folder, name), { bigint: true, throwIfNoEntry: false });
    if (status !== undefined && (status.isFile() || status.isDirectory()))
      names.set(name, { id: identity(status), folder: status.isDirectory() });
  }
  return names;
}

/** Everything below `root`; nothing is durable yet. */
export function powerModel(root: string): PowerModel {
  const files = new Map<Identity, Buffer>();
  const folders = new Map<Identity, Names>();

  const settleFolder = (folder: string): void => {
    const names = namesIn(folder);
    folders.set(identity(fs.lstatSync(folder, { bigint: true })), names);
    for (const [name, entry] of names) {
      const child = path.join(folder, name);
      if (entry.folder) settleFolder(child);
      else files.set(entry.id, fs.readFileSync(child));
    }
  };

  const survivors = (folder: Identity, live: string | undefined, random: Random | undefined): Names => {
    const durable = folders.get(folder) ?? new Map<string, never>();
    if (random === undefined || live === undefined) return durable;
    const now = namesIn(live);
    const result = new Map<string, { id: Identity; folder: boolean }>();
    for (const name of new Set([...durable.keys(), ...now.keys()])) {
      const chosen = random.next() < 0.5 ? durable.get(name) : now.get(name);
      if (chosen !== undefined) result.set(name, chosen);
    }
    return result;
  };

  const content = (id: Identity, live: string | undefined, random: Random | undefined): Buffer => {
    const durable = files.get(id) ?? Buffer.alloc(0);
    if (random === undefined || live === undefined) return durable;
    const now = fs.readFileSync(live);
    if (now.equals(durable)) return durable;
    return random.pick([durable, now, Buffer.alloc(0), Buffer.alloc(now.length)]);
  };

  const layOut = (folder: Identity, target: string, random: Random | undefined): void => {
    fs.mkdirSync(target, { mode: 0o700 });
    const live = liveById.get(folder);
    for (const [name, entry] of survivors(folder, live, random)) {
      const child = path.join(target, name);
      if (entry.folder) layOut(entry.id, child, random);
      else fs.writeFileSync(child, content(entry.id, liveById.get(entry.id), random), { mode: 0o600 });
    }
  };

  let liveById = new Map<Identity, string>();
  const mapLive = (folder: string): void => {
    liveById.set(identity(fs.lstatSync(folder, { bigint: true })), folder);
    for (const [name, entry] of namesIn(folder)) {
      const child = path.join(folder, name);
      if (entry.folder) mapLive(child);
      else liveById.set(entry.id, child);
    }
  };

  const settlePacks = (folder: string): void => {
    for (const [name, entry] of namesIn(folder)) {
      const child = path.join(folder, name);
      if (entry.folder) settlePacks(child);
      else if (path.basename(folder) === 'pack') files.set(entry.id, fs.readFileSync(child));
    }
  };
  return {
    syncedFile: (status, bytes) => void files.set(identity(status), bytes),
    syncedFolder: (status, names) => void folders.set(identity(status), names),
    settlePacks: () => settlePacks(root),
    settle: () => settleFolder(root),
    cutPower: (target, random) => {
      liveById = new Map();
      mapLive(root);
      layOut(identity(fs.lstatSync(root, { bigint: true })), target, random);
    },
  };
}

/** A disk that tells such a model what was flushed through it. */
export function droppingDisk(inner: Disk, root: string): DroppingDisk {
  const model = powerModel(root);
  return {
    ...inner,
    syncFile: async (descriptor, file) => {
      // What is flushed is what the file held when the call began; the file itself may be renamed meanwhile.
      const status = fs.fstatSync(descriptor, { bigint: true });
      const bytes = fs.readFileSync(file);
      await inner.syncFile(descriptor, file);
      model.syncedFile(status, bytes);
    },
    syncDirectory: async (directory) => {
      const status = fs.lstatSync(directory, { bigint: true });
      const names = namesIn(directory);
      await inner.syncDirectory(directory);
      model.syncedFolder(status, names);
    },
    settle: model.settle,
    cutPower: model.cutPower,
  };
}
