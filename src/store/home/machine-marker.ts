/**
 * The file that binds a home to the place where it was made. It says who it is itself: its own inode and birth time, and the
 * machine that made it. A copy of the home has all of its bytes and neither inode nor birth time; a copy of the whole disk has
 * these too, and then another machine.
 */
import { fstatSync, openSync, readFileSync, statSync, type BigIntStats } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { sha256Hex } from '../../crypto/hash.ts';
import { realDisk, removeQuietly, writeAll, type Disk } from '../disk.ts';
import { diskError, systemCode } from '../errors.ts';
import type { Home } from './home.ts';

/** Where Linux says which installation this is. Containers and other systems may have none. */
const machineIdFiles = ['/etc/machine-id', '/var/lib/dbus/machine-id'];

interface Marker {
  /** Hash of inode and birth time of the marker file. */
  readonly file: string;
  /** Hash of the machine id; null where there was none. */
  readonly machine: string | null;
}

const hash = z.string().regex(/^[0-9a-f]{64}$/);
const markerSchema: z.ZodType<Marker> = z.object({ file: hash, machine: hash.nullable() });

/** `copied`: another file with the same bytes. `moved`: the same file, another machine. `unbound`: no marker that says anything. */
export type MachineState = 'same' | 'copied' | 'moved' | 'unbound';

/** The machine id; null where there is none, or one that says nothing. */
export function readMachineId(files: readonly string[] = machineIdFiles): string | null {
  for (const file of files) {
    try {
      const id = readFileSync(file, 'utf8').trim();
      if (/^[0-9a-f]{32}$/.test(id)) return id;
    } catch {
      // Not there, or not ours to read: as good as none.
    }
  }
  return null;
}

/** Whether this home is where it was bound. A machine id that is missing, then or now, is passed over. */
export function checkMachine(home: Home, machineId: string | null = readMachineId()): MachineState {
  const marker = readMarker(home);
  if (marker === undefined) return 'unbound';
  const now = markerOf(statSync(home.marker, { bigint: true }), machineId);
  if (now.file !== marker.file) return 'copied';
  return now.machine === null || marker.machine === null || now.machine === marker.machine ? 'same' : 'moved';
}

/** Binds this home to where it is now, durably. Errors: `DISK_FAILED`, `DISK_FULL`. */
export async function bindMachine(
  home: Home,
  options: { readonly machineId?: string | null; readonly disk?: Disk } = {},
): Promise<void> {
  const { machineId = readMachineId(), disk = realDisk } = options;
  const temporary = `${home.marker}.tmp-${process.pid}`;
  try {
    disk.removeFile(temporary);
    // Its name may change, its inode and birth time stay: so it is written whole before it has its name.
    const descriptor = openSync(temporary, 'wx', 0o600);
    try {
      const marker = markerOf(fstatSync(descriptor, { bigint: true }), machineId);
      writeAll(descriptor, Buffer.from(`${JSON.stringify(marker)}\n`));
      await disk.syncFile(descriptor, temporary);
    } finally {
      disk.closeFile(descriptor);
    }
    disk.rename(temporary, home.marker);
    await disk.syncDirectory(path.dirname(home.marker));
  } catch (error) {
    removeQuietly(disk, temporary);
    throw diskError(error, 'bind home', home.dir);
  }
}

function markerOf({ ino, birthtimeNs }: BigIntStats, machineId: string | null): Marker {
  return {
    file: sha256Hex(`memd-marker-v1\n${ino}\n${birthtimeNs}`),
    machine: machineId === null ? null : sha256Hex(`memd-machine-v1\n${machineId}`),
  };
}

function readMarker(home: Home): Marker | undefined {
  try {
    const parsed = markerSchema.safeParse(JSON.parse(readFileSync(home.marker, 'utf8')));
    return parsed.success ? parsed.data : undefined;
  } catch (error) {
    if (systemCode(error) === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw diskError(error, 'read', home.marker);
  }
}
