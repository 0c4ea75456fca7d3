/**
 * How much one fetch may bring: bounded by what the peer announced, by what it cost in vain lately, and by the room on this
 * disk. And how much memory a git child may use for it.
 */
import {
  fetchBytesMax,
  fetchDoubtedBytesMax,
  fetchDoubtedObjectsMax,
  fetchLooseObjectsMax,
  fetchObjectsMax,
  fetchReserveBytes,
  fetchReservePart,
  fetchSlackBytes,
  segmentSealBytes,
} from '../../core/limits.ts';
import { diskFullHint, OperatingError } from '../../store/errors.ts';
import type { Repository } from '../../store/git/repository.ts';
import { diskBytes } from '../../store/home/disk-room.ts';

export interface PackBounds {
  readonly bytesMax: number;
  readonly objectsMax: number;
}

/** A line appended alone makes a commit, three folders and a segment; now and then a folder or segment more. */
export const objectsPerLine = 6;
/** Bytes allowed per announced line: four times a full segment, which is what one commit may rewrite. */
const bytesPerLine = 4 * segmentSealBytes;

/** What so many lines may take as a pack. `doubted`: however many are announced, no more than a careful host takes. Pure. */
export function packBounds(lines: number, doubted = false): PackBounds {
  const bytesMax = doubted ? fetchDoubtedBytesMax : fetchBytesMax;
  const objectsMax = doubted ? fetchDoubtedObjectsMax : fetchObjectsMax;
  return {
    bytesMax: Math.min(bytesMax, lines * bytesPerLine + fetchSlackBytes),
    objectsMax: Math.min(objectsMax, lines * objectsPerLine + fetchLooseObjectsMax),
  };
}

/**
 * What a git child may allocate while it looks at a peer's objects: enough for a round of any lawful ones. With its program
 * and the parts of packs that it maps it stays below 64 MiB.
 */
export const childHeapBytesMax: number = 48 * 1_024 * 1_024;

/** Bytes on one disk that fetches under way may still take. */
export interface DiskRoom {
  readonly bytesMax: number;
  /** The disk, not the peer, sets the bound. */
  readonly short: boolean;
  release(): void;
}

let promised = 0;

/**
 * Sets room aside for one fetch: at most half of what is free and not promised to others, so that no peer, and no number of
 * peers together, fills the disk. Errors: `DISK_FULL` when not even an ordinary fetch has room, `DISK_FAILED`.
 */
export function takeRoom({ gitDir }: Pick<Repository, 'gitDir'>, wanted: number): DiskRoom {
  const free = spareBytes(gitDir) - promised;
  const half = Math.floor(free / 2);
  if (half < Math.min(wanted, fetchSlackBytes)) throw noRoom(gitDir);
  const bytesMax = Math.min(wanted, half);
  promised += bytesMax;
  let held = true;
  const release = (): void => {
    if (held) promised -= bytesMax;
    held = false;
  };
  return { bytesMax, short: bytesMax < wanted, release };
}

export function noRoom(gitDir: string): OperatingError {
  return new OperatingError('DISK_FULL', `cannot fetch into ${gitDir}: too little space is left for what comes`, {
    hint: diskFullHint,
  });
}

/** What is free beyond what is left to appends. */
function spareBytes(folder: string): number {
  const { free, all } = diskBytes(folder);
  return free - Math.min(fetchReserveBytes, all / fetchReservePart);
}
