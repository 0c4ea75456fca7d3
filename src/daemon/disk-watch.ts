/**
 * Whether this home can be written, as status, doctor and notifications tell it. One alarm for all that a full disk stops;
 * it is over as soon as there is room, whether or not anybody writes meanwhile.
 */
import { isShort, tryRoom } from '../store/disk-room.ts';
import { isOperatingError, type OperatingError } from '../store/errors.ts';
import type { Home } from '../store/home.ts';
import type { LocalFault } from './engine.ts';

export interface DiskWatch {
  /** Notes what a write failed with; anything but DISK_FULL is passed over. */
  readonly noted: (error: unknown) => void;
  /** DISK_FULL while nothing can be written; none once there is room. */
  readonly faults: () => readonly LocalFault[];
}

export function createDiskWatch(home: Pick<Home, 'dir'>): DiskWatch {
  let failed: OperatingError | undefined;
  return {
    noted(error) {
      if (isOperatingError(error, 'DISK_FULL')) failed = error;
    },
    faults() {
      // A quota does not show in what the file system says: whoever was refused once tries.
      if (failed === undefined && !isShort(home)) return [];
      const now = tryRoom(home);
      if (now === undefined) failed = undefined;
      return now?.code === 'DISK_FULL' ? [{ kind: 'DISK_FULL', detail: sentence(home, failed) }] : [];
    },
  };
}

function sentence({ dir }: Pick<Home, 'dir'>, failed: OperatingError | undefined): string {
  const last = failed === undefined ? '' : `; the last: ${failed.message}`;
  return (
    `no room on the disk of ${dir}: appends and fetches are refused${last}. ` +
    'Nothing acknowledged is lost, what is known can be asked, and all goes on by itself once there is room'
  );
}
