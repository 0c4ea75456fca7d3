/**
 * `maintenance.json`: what of the repository is packed, and when that was last seen to. Disposable: without it everything is
 * looked at once more.
 */
import fs from 'node:fs';
import { realDisk, replaceFile, type Disk } from '../disk.ts';
import { diskError, systemCode } from '../errors.ts';
import type { Tips } from '../git/pack-ranges.ts';
import type { Settled } from '../git/repack.ts';
import type { Home } from '../home/home.ts';

export interface MaintenanceNote {
  /** When it was last looked at, and when objects were last packed and packs last merged; ISO times of this host's clock. */
  readonly lookedAt: string | null;
  readonly packedAt: string | null;
  readonly mergedAt: string | null;
  /** Everything up to here is in packs. */
  readonly packed: Tips;
  readonly settled: Settled;
  /** Packs that were made here; others come from peers and from bulk appends. */
  readonly own: readonly string[];
  /** Loose objects that were left over: no branch reaches them. */
  readonly looseLeft: number;
}

const empty: MaintenanceNote = {
  lookedAt: null,
  packedAt: null,
  mergedAt: null,
  packed: {},
  settled: { tips: {}, packs: [] },
  own: [],
  looseLeft: 0,
};

/** Bytes of the file: thousands of packs. */
const bytesMax = 4_194_304;

/** What was noted; what cannot be used of it counts as never noted. Errors: `DISK_FAILED`. */
export function readMaintenanceNote({ maintenance }: Pick<Home, 'maintenance'>): MaintenanceNote {
  try {
    if (fs.statSync(maintenance).size > bytesMax) return empty;
    const note: unknown = JSON.parse(fs.readFileSync(maintenance, 'utf8'));
    return isRecord(note) && note['v'] === 1 ? readNote(note) : empty;
  } catch (error) {
    if (error instanceof SyntaxError || systemCode(error) === 'ENOENT') return empty;
    throw diskError(error, 'read', maintenance);
  }
}

/** Replaces the file; durable on return. Errors: `DISK_FAILED`, `DISK_FULL`. */
export async function writeMaintenanceNote(
  { maintenance }: Pick<Home, 'maintenance'>,
  note: MaintenanceNote,
  disk: Disk = realDisk,
): Promise<void> {
  await replaceFile(disk, { file: maintenance, data: Buffer.from(`${JSON.stringify({ v: 1, ...note })}\n`) });
}

function readNote(note: Readonly<Record<string, unknown>>): MaintenanceNote {
  const settled = isRecord(note['settled']) ? note['settled'] : {};
  return {
    lookedAt: timeOf(note['lookedAt']),
    packedAt: timeOf(note['packedAt']),
    mergedAt: timeOf(note['mergedAt']),
    packed: tipsOf(note['packed']),
    settled: { tips: tipsOf(settled['tips']), packs: packsOf(settled['packs']) },
    own: packsOf(note['own']),
    looseLeft: Number.isSafeInteger(note['looseLeft']) ? Math.max(0, Number(note['looseLeft'])) : 0,
  };
}

function timeOf(value: unknown): string | null {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value)) ? value : null;
}

/** They become arguments of git. */
function tipsOf(value: unknown): Tips {
  if (!isRecord(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter((one): one is [string, string] => /^[0-9a-f]{40}$/.test(String(one[1]))),
  );
}

function packsOf(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [];
  return value.filter((name): name is string => /^pack-[0-9a-f]{40}$/.test(String(name)));
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
