/** Packs on disk: which there are, and which objects each holds, read from their indexes. */
import fs from 'node:fs';
import path from 'node:path';
import { diskError } from '../errors.ts';
import type { Repository } from './repository.ts';

/** A pack that git sees: its name without ending, `pack-<hash>`, and how many objects its index has. */
export interface Pack {
  readonly name: string;
  readonly objects: number;
  readonly bytes: number;
}

const magic = 0xff744f63;
const fanoutAt = 8;
const namesAt: number = fanoutAt + 256 * 4;
const nameBytes = 20;

/** Every pack with its index, sorted by name; one whose index cannot be read counts no objects. Errors: `DISK_FAILED`. */
export function listPacks({ objectDir }: Pick<Repository, 'objectDir'>): readonly Pack[] {
  const folder = path.join(objectDir, 'pack');
  try {
    const files = new Set(fs.readdirSync(folder));
    return [...files]
      .filter((file) => /^pack-[0-9a-f]{40}\.idx$/.test(file) && files.has(file.replace(/idx$/, 'pack')))
      .sort((a, b) => (a < b ? -1 : 1))
      .map((file) => {
        const name = file.slice(0, -'.idx'.length);
        const bytes = fs.statSync(path.join(folder, `${name}.pack`)).size;
        return { name, objects: withIndex(path.join(folder, file), (index) => index.count(255)) ?? 0, bytes };
      });
  } catch (error) {
    throw diskError(error, 'read', folder);
  }
}

interface Index {
  /** Objects whose id begins with a byte up to this one. */
  count(byte: number): number;
  /** Their ids from one number to another, as they stand. */
  names(from: number, upto: number): Buffer;
}

/** Undefined for a file that is no index of version 2. */
function withIndex<T>(file: string, work: (index: Index) => T): T | undefined {
  const descriptor = fs.openSync(file, fs.constants.O_RDONLY);
  try {
    const head = Buffer.alloc(namesAt);
    const whole = fs.readSync(descriptor, head, 0, namesAt, 0) === namesAt;
    if (!whole || head.readUInt32BE(0) !== magic || head.readUInt32BE(4) !== 2) return undefined;
    return work({
      count: (byte) => (byte < 0 ? 0 : head.readUInt32BE(fanoutAt + byte * 4)),
      names(from, upto) {
        const names = Buffer.alloc((upto - from) * nameBytes);
        fs.readSync(descriptor, names, 0, names.length, namesAt + from * nameBytes);
        return names;
      },
    });
  } finally {
    fs.closeSync(descriptor);
  }
}

/** Ids of a pack that begin with this byte, as raw bytes in a latin1 string; undefined when its index cannot be read. */
export function idsAt(file: string, byte: number): readonly string[] | undefined {
  return withIndex(file, (index) => {
    const names = index.names(index.count(byte - 1), index.count(byte));
    return Array.from({ length: names.length / nameBytes }, (_, at) =>
      names.toString('latin1', at * nameBytes, (at + 1) * nameBytes),
    );
  });
}

/**
 * Ids that some of the packs `of` hold and none of the packs `by`: what would be lost if the first went. A 256th of them at
 * a time is held, and other work gets its turn between. Undefined when one of the indexes cannot be read: then nothing
 * is known. Errors: `DISK_FAILED`.
 */
export async function uncoveredIds(
  { objectDir }: Pick<Repository, 'objectDir'>,
  packs: { readonly of: readonly string[]; readonly by: readonly string[] },
): Promise<readonly string[] | undefined> {
  const fileOf = (name: string): string => path.join(objectDir, 'pack', `${name}.idx`);
  const uncovered: string[] = [];
  try {
    for (let byte = 0; byte < 256; byte += 1) {
      const held = new Set(packs.by.flatMap((name) => idsAt(fileOf(name), byte) ?? []));
      for (const name of packs.of) {
        const ids = idsAt(fileOf(name), byte);
        if (ids === undefined) return undefined;
        const fresh = ids.filter((id) => !held.has(id));
        fresh.forEach((id) => held.add(id));
        uncovered.push(...fresh.map((id) => Buffer.from(id, 'latin1').toString('hex')));
      }
      await new Promise((resume) => setImmediate(resume));
    }
  } catch (error) {
    throw diskError(error, 'read an index in', path.join(objectDir, 'pack'));
  }
  return uncovered;
}

/**
 * Ids that the packs of an object folder hold besides those that are told. Twenty bytes an object are held, and no more.
 * Undefined when an index cannot be read. Errors: `DISK_FAILED`.
 */
export async function idsBeyond(
  { objectDir }: Pick<Repository, 'objectDir'>,
  tell: (take: (oid: string) => void) => Promise<void>,
): Promise<readonly string[] | undefined> {
  const tables: Buffer[] = [];
  for (const { name } of listPacks({ objectDir })) {
    const names = withIndex(path.join(objectDir, 'pack', `${name}.idx`), (index) => index.names(0, index.count(255)));
    if (names === undefined) return undefined;
    tables.push(names);
  }
  const told = tables.map(({ length }) => new Uint8Array(length / nameBytes));
  await tell((oid) => {
    const id = Buffer.from(oid, 'hex');
    for (const [which, names] of tables.entries()) {
      const at = placeOf(names, id);
      if (at !== undefined) told[which]?.fill(1, at, at + 1);
    }
  });
  return tables.flatMap((names, which) => idsUntold(names, told[which] ?? new Uint8Array()));
}

function idsUntold(names: Buffer, told: Uint8Array): readonly string[] {
  const ids: string[] = [];
  for (let at = told.indexOf(0); at >= 0; at = told.indexOf(0, at + 1))
    ids.push(names.toString('hex', at * nameBytes, (at + 1) * nameBytes));
  return ids;
}

/** The names of an index are sorted. */
function placeOf(names: Buffer, id: Buffer): number | undefined {
  let [low, high] = [0, names.length / nameBytes];
  while (low < high) {
    const middle = (low + high) >> 1;
    const order = names.compare(id, 0, nameBytes, middle * nameBytes, (middle + 1) * nameBytes);
    if (order === 0) return middle;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return undefined;
}
