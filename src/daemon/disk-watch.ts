/**
 * Whether this home can be written, as status, doctor and notifications tell it. One alarm for all that a full disk stops;
 * it is over as soon as there is room, whether or not anybody writes meanwhile.
 */
import { isReadOnly, isShort, tryRoom } from '../store/home/disk-room.ts';
import { isDiskShut, type OperatingCode, type OperatingError } from '../store/errors.ts';
import type { Home } from '../store/home/home.ts';
import type { LocalFault } from './engine.ts';

export interface DiskWatch {
  /** Notes what a write failed with; anything but a full or read-only disk is passed over. */
  readonly noted: (error: unknown) => void;
  /** DISK_FULL or DISK_READ_ONLY while nothing can be written; none once that is over. */
  readonly faults: () => readonly LocalFault[];
}

export function createDiskWatch(home: Pick<Home, 'dir'>): DiskWatch {
  let failed: OperatingError | undefined;
  return {
    noted(error) {
      if (isDiskShut(error)) failed = error;
    },
    faults() {
      // A quota does not show in what the file system says: whoever was refused once tries.
      if (failed === undefined && !isShort(home) && !isReadOnly(home.dir)) return [];
      const now = tryRoom(home);
      if (now === undefined) failed = undefined;
      return isDiskShut(now) ? [{ kind: now.code, detail: sentence(home, now.code, failed) }] : [];
    },
  };
}

function sentence({ dir }: Pick<Home, 'dir'>, code: OperatingCode, failed: OperatingError | undefined): string {
  const last = failed === undefined ? '' : `; the last: ${failed.message}`;
  const what = code === 'DISK_FULL' ? 'no room on the disk of' : 'a read-only disk under';
  const over = code === 'DISK_FULL' ? 'there is room' : 'it can be written';
  return (
    `${what} ${dir}: appends and fetches are refused${last}. ` +
    `Nothing acknowledged is lost, what is known can be asked, and all goes on by itself once ${over}`
  );
}
