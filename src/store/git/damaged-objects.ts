/**
 * Looking through everything that holds objects, without git: git looks into a file only when it needs the object, and ends
 * at the first bad one. Loose files are inflated and hashed; packs and their companions end with a hash over what stands
 * before.
 */

import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { inflateSync } from 'node:zlib';
import { anyObjectBytesMax } from '../../core/limits.ts';
import { systemCode } from '../errors.ts';
import { objectId } from './object-id.ts';
import type { Repository } from './repository.ts';

/** A file or folder in `objects/` that cannot be what its name says. */
export interface DamagedObjectFile {
  readonly file: string;
  readonly why: string;
}

/** Files looked into between two turns of the event loop. */
const filesAtATime = 64;
const hashBytes = 20;
const readBytes = 1_048_576;

/** Every loose object file that is empty, torn, filled with other bytes, or no file at all. */
export async function findDamagedLoose({ objectDir }: Pick<Repository, 'objectDir'>): Promise<DamagedObjectFile[]> {
  const found: DamagedObjectFile[] = [];
  let looked = 0;
  for (const fan of namesIn(objectDir).filter((name) => /^[0-9a-f]{2}$/.test(name))) {
    const folder = path.join(objectDir, fan);
    if (!fs.lstatSync(folder).isDirectory()) {
      found.push({ file: folder, why: 'is not a folder' });
      continue;
    }
    for (const name of namesIn(folder).filter((entry) => /^[0-9a-f]{38}$/.test(entry))) {
      if ((looked += 1) % filesAtATime === 0) await setImmediate();
      const why = looseFault(path.join(folder, name), fan + name);
      if (why !== undefined) found.push({ file: path.join(folder, name), why });
    }
  }
  return found;
}

function looseFault(file: string, oid: string): string | undefined {
  const status = fs.lstatSync(file, { throwIfNoEntry: false });
  if (status === undefined) return undefined;
  if (!status.isFile()) return 'is not a plain file';
  if (status.size === 0) return 'is empty';
  try {
    const full = inflateSync(fs.readFileSync(file), { maxOutputLength: anyObjectBytesMax });
    const end = full.indexOf(0);
    const header = /^([a-z]{3,6}) (\d{1,15})$/.exec(end < 0 ? '' : full.toString('latin1', 0, end));
    const content = full.subarray(end + 1);
    if (header === null || Number(header[2]) !== content.length) return 'has no valid object header';
    return objectId(header[1] ?? '', content) === oid ? undefined : 'holds other content than its name says';
  } catch (error) {
    const code = systemCode(error);
    if (code.startsWith('Z_') || code === 'ERR_BUFFER_TOO_LARGE') return `does not decompress (${code})`;
    // The disk itself gives no more than this.
    if (code === 'EIO') return 'cannot be read (EIO)';
    throw error;
  }
}

/** What lies in `objects/pack` and `objects/info`, judged. */
export interface PackFiles {
  /** Packs whose own hash is wrong, with their index where it is sound. */
  readonly packs: readonly (DamagedObjectFile & { readonly index: string | null })[];
  /** Sound packs without a sound index of their own: git does not see them. */
  readonly unindexed: readonly string[];
  /** Indexes and other companions that are damaged, or of a pack that is not there. They can be made again. */
  readonly companions: readonly DamagedObjectFile[];
}

/** First bytes of each kind of file. */
const magics: Readonly<Record<string, string>> = {
  pack: 'PACK',
  idx: '\u00fftOc',
  rev: 'RIDX',
  bitmap: 'BITM',
  midx: 'MIDX',
  graph: 'CGPH',
};

/** Looks through packs, their indexes and what git may have made over them. */
export async function findDamagedPacks({ objectDir }: Pick<Repository, 'objectDir'>): Promise<PackFiles> {
  const folder = path.join(objectDir, 'pack');
  const names = namesIn(folder);
  const damaged = new Map<string, string>();
  const sound = new Set<string>();
  for (const name of names) {
    const kind = kindOf(name);
    const why = kind === undefined ? undefined : await hashFault(path.join(folder, name), kind);
    if (why !== undefined) damaged.set(name, why);
    else if (kind !== undefined) sound.add(name);
  }
  const strays = foreignCompanions(folder, { names, sound });
  for (const { file } of strays) sound.delete(path.basename(file));
  const all = Array.from(damaged, ([name, why]) => ({ name, file: path.join(folder, name), why }));
  const index = (pack: string): string | null => (sound.has(indexOf(pack)) ? path.join(folder, indexOf(pack)) : null);
  return {
    packs: all.filter(({ name }) => isPack(name)).map(({ name, file, why }) => ({ file, why, index: index(name) })),
    unindexed: [...sound].filter((name) => isPack(name) && index(name) === null).map((name) => path.join(folder, name)),
    companions: [
      ...all.filter(({ name }) => !isPack(name)).map(({ file, why }) => ({ file, why })),
      ...strays,
      ...(await damagedGraphs(objectDir)),
    ],
  };
}

/** Which kind of file of git it is, by its name; undefined for any other. */
function kindOf(name: string): string | undefined {
  if (name === 'multi-pack-index') return 'midx';
  return /^pack-[0-9a-f]{40}\.(pack|idx|rev|bitmap)$/.exec(name)?.[1];
}

const isPack = (name: string): boolean => name.endsWith('.pack');
const indexOf = (pack: string): string => `${pack.slice(0, -'pack'.length)}idx`;

async function hashFault(file: string, kind: string): Promise<string | undefined> {
  await setImmediate();
  return hashedFault(file, magics[kind] ?? '');
}

/** Sound files beside packs that belong to another one, or to none that is there. */
function foreignCompanions(
  folder: string,
  { names, sound }: { readonly names: readonly string[]; readonly sound: ReadonlySet<string> },
): DamagedObjectFile[] {
  return [...sound].flatMap((name) => {
    const file = path.join(folder, name);
    if (isPack(name) || name === 'multi-pack-index') return [];
    const pack = `${name.replace(/\.[a-z]+$/, '')}.pack`;
    if (!names.includes(pack)) return { file, why: 'its pack is gone' };
    const isIndex = name.endsWith('.idx') && sound.has(pack);
    return isIndex && packHashOf(file) !== endOf(path.join(folder, pack))
      ? { file, why: 'is the index of another pack' }
      : [];
  });
}

async function damagedGraphs(objectDir: string): Promise<DamagedObjectFile[]> {
  const found: DamagedObjectFile[] = [];
  for (const file of graphFiles(objectDir)) {
    const why = await hashFault(file, 'graph');
    if (why !== undefined) found.push({ file, why });
  }
  return found;
}

function graphFiles(objectDir: string): string[] {
  const info = path.join(objectDir, 'info');
  const parts = namesIn(path.join(info, 'commit-graphs')).filter((name) => name.endsWith('.graph'));
  return [
    ...namesIn(info).flatMap((name) => (name === 'commit-graph' ? path.join(info, name) : [])),
    ...parts.map((name) => path.join(info, 'commit-graphs', name)),
  ];
}

/** Why a file with these first bytes does not end with the hash of what stands before; undefined when it does. */
function hashedFault(file: string, magic: string): string | undefined {
  const status = fs.lstatSync(file, { throwIfNoEntry: false });
  if (status === undefined) return undefined;
  if (!status.isFile()) return 'is not a plain file';
  if (status.size === 0) return 'is empty';
  if (status.size < magic.length + hashBytes) return `is cut off after ${status.size} bytes`;
  const descriptor = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW);
  try {
    const hash = createHash('sha1');
    const buffer = Buffer.alloc(readBytes);
    let left = status.size - hashBytes;
    let first = true;
    while (left > 0) {
      const bytes = fs.readSync(descriptor, buffer, 0, Math.min(buffer.length, left), null);
      if (bytes === 0) return 'is cut off';
      if (first && buffer.toString('latin1', 0, magic.length) !== magic) return 'does not begin as such a file does';
      first = false;
      hash.update(buffer.subarray(0, bytes));
      left -= bytes;
    }
    const end = Buffer.alloc(hashBytes);
    fs.readSync(descriptor, end, 0, hashBytes, null);
    return hash.digest().equals(end) ? undefined : 'holds other bytes than its own hash says';
  } catch (error) {
    if (systemCode(error) === 'EIO') return 'cannot be read (EIO)';
    throw error;
  } finally {
    fs.closeSync(descriptor);
  }
}

function endOf(file: string, from = hashBytes): string {
  const descriptor = fs.openSync(file, fs.constants.O_RDONLY);
  try {
    const end = Buffer.alloc(hashBytes);
    fs.readSync(descriptor, end, 0, hashBytes, fs.fstatSync(descriptor).size - from);
    return end.toString('hex');
  } finally {
    fs.closeSync(descriptor);
  }
}

/** An index names the hash of its pack just before its own. */
function packHashOf(index: string): string {
  return endOf(index, 2 * hashBytes);
}

function namesIn(folder: string): string[] {
  if (fs.lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return fs.readdirSync(folder).toSorted((a, b) => (a < b ? -1 : 1));
}
