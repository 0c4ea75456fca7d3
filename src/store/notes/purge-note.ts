/**
 * `purged.json`: the events whose bodies were dropped from this home, all copies in it included. A purge that the charter
 * counts and this file does not name is due; a file that cannot be read names none, and the work is done once more.
 */

import fs from 'node:fs';
import { isId } from '../../core/id.ts';
import { realDisk, replaceFile, type Disk } from '../disk.ts';
import { diskError, systemCode } from '../errors.ts';
import type { Home } from '../home/home.ts';

/** Ids of the events that are done, sorted. Errors: `DISK_FAILED`. */
export function readPurgeNote(home: Pick<Home, 'purged'>): readonly string[] {
  let text: string;
  try {
    text = fs.readFileSync(home.purged, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw diskError(error, 'read', home.purged);
  }
  try {
    const note = JSON.parse(text) as { readonly v?: unknown; readonly done?: unknown } | null;
    if (note?.v !== 1 || !Array.isArray(note.done)) return [];
    return note.done.filter((id: unknown): id is string => typeof id === 'string' && isId(id));
  } catch {
    return [];
  }
}

/** Replaces the file; durable on return. Errors: `DISK_FAILED`, `DISK_FULL`. */
export async function writePurgeNote(
  home: Pick<Home, 'purged'>,
  done: readonly string[],
  disk: Disk = realDisk,
): Promise<void> {
  const sorted = done.toSorted((a, b) => (a < b ? -1 : 1));
  await replaceFile(disk, { file: home.purged, data: Buffer.from(`${JSON.stringify({ v: 1, done: sorted })}\n`) });
}
