/**
 * `exports.json`: where this home was exported to, and under which trust set, so that a purge can name the copies that it
 * does not reach. A file that cannot be read names none.
 */
import fs from 'node:fs';
import { isId } from '../../core/id.ts';
import { realDisk, replaceFile, type Disk } from '../disk.ts';
import { diskError, systemCode } from '../errors.ts';
import type { Home } from '../home/home.ts';

export interface ExportNote {
  /** Absolute folder. */
  readonly dir: string;
  /** ISO time of this host's own clock. */
  readonly at: string;
  /** Trust hash: what that set purges is not in the export. */
  readonly trust: string;
}

/** Exports that are remembered; older ones are forgotten. */
const exportsMax = 64;
const bytesMax = 524_288;

/** Oldest first. Errors: `DISK_FAILED`. */
export function readExportNotes(home: Pick<Home, 'exports'>): readonly ExportNote[] {
  try {
    const text = fs.readFileSync(home.exports, 'utf8');
    const value: unknown = text.length > bytesMax ? null : JSON.parse(text);
    const { v, exports } = (value ?? {}) as { readonly v?: unknown; readonly exports?: unknown };
    return v === 1 && Array.isArray(exports) ? exports.filter(isNote).slice(-exportsMax) : [];
  } catch (error) {
    if (error instanceof SyntaxError || systemCode(error) === 'ENOENT') return [];
    throw diskError(error, 'read', home.exports);
  }
}

/** Notes one, in place of an older one to the same folder. Errors: `DISK_FAILED`, `DISK_FULL`. */
export async function noteExport(home: Pick<Home, 'exports'>, note: ExportNote, disk: Disk = realDisk): Promise<void> {
  const others = readExportNotes(home).filter(({ dir }) => dir !== note.dir);
  const data = JSON.stringify({ v: 1, exports: [...others, note].slice(-exportsMax) });
  await replaceFile(disk, { file: home.exports, data: Buffer.from(`${data}\n`) });
}

function isNote(value: unknown): value is ExportNote {
  const { dir, at, trust } = (value ?? {}) as Partial<Record<keyof ExportNote, unknown>>;
  return typeof dir === 'string' && typeof at === 'string' && isId(trust);
}
