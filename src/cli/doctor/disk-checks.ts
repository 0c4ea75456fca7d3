/** Checks of the disk under a home: whose it is, whether it takes writes, and who owns what lies there. */
import { statfsSync } from 'node:fs';
import { readOnlyFault } from '../../store/home/disk-room.ts';
import { findForeign, foreignText, ownerHint } from '../../store/home/ownership.ts';
import { socketPathBytesMax } from '../../store/home/home.ts';
import { fine, wrong, type Check } from './checks.ts';

const owner: Check = {
  name: 'owner',
  inHome: true,
  look: ({ home }) => {
    const { count, looked, first } = findForeign(home);
    if (first === undefined) return fine(`all ${looked} files belong to the user that this runs as`);
    const more = count === 1 ? '' : `; ${count} files in all`;
    return wrong(`${foreignText(first)}${more}`, ownerHint(home));
  },
};

/** `f_type` of a file system in memory. */
const memoryType = 0x01021994;

const writable: Check = {
  name: 'writable',
  inHome: true,
  look: ({ home }) => {
    const fault = readOnlyFault(home);
    if (fault !== undefined)
      return wrong(
        `${fault.message}; what is known can be read`,
        `findmnt -T ${home.dir} names the file system, dmesg often says why; then: mount -o remount,rw`,
      );
    if (statfsSync(home.dir).type === memoryType)
      return wrong(
        `${home.dir} is in memory: it is gone with the next restart`,
        'move it to a disk, with memd stopped',
      );
    const long = Buffer.byteLength(home.socket) > socketPathBytesMax;
    return fine(long ? 'yes; its socket is reached by a shorter way, since its path is too long for one' : 'yes');
  },
};

export const diskChecks: readonly Check[] = [owner, writable];
