import { statfsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  fetchBytesMax,
  fetchDoubtedBytesMax,
  fetchDoubtedObjectsMax,
  fetchObjectsMax,
} from '../../../src/core/limits.ts';
import { packBounds, takeRoom } from '../../../src/mesh/fetch/fetch-bounds.ts';
import { temporaryFolder } from '../../lib/temporary.ts';

describe('what one fetch may bring', () => {
  test('grows with the lines announced, up to a bound that nobody passes', () => {
    expect(packBounds(1)).toEqual({ bytesMax: 65_536 + 1_048_576, objectsMax: 70 });
    expect(packBounds(1e12)).toEqual({ bytesMax: fetchBytesMax, objectsMax: fetchObjectsMax });
  });

  test('of a peer that is doubted, up to a lower one', () => {
    expect(packBounds(1, true)).toEqual(packBounds(1));
    expect(packBounds(1e12, true)).toEqual({ bytesMax: fetchDoubtedBytesMax, objectsMax: fetchDoubtedObjectsMax });
  });

  test('on disk: half of what is free and promised to nobody, so that many peers together do not fill it', () => {
    const gitDir = temporaryFolder();
    const { bavail, bsize } = statfsSync(gitDir);
    const free = bavail * bsize;
    const rooms = Array.from({ length: 8 }, () => takeRoom({ gitDir }, free * 4));
    try {
      expect(rooms.every(({ short }) => short)).toBe(true);
      expect(rooms.reduce((sum, { bytesMax }) => sum + bytesMax, 0)).toBeLessThan(free * 1.01);
      expect(rooms[1]?.bytesMax).toBeLessThan((rooms[0]?.bytesMax ?? 0) * 0.6);
    } finally {
      for (const room of rooms) room.release();
    }
    const small = takeRoom({ gitDir }, 1_000);
    expect(small).toMatchObject({ bytesMax: 1_000, short: false });
    small.release();
    small.release();
  });

  test('nothing where too little is left: that is a fault of this disk, not of the peer', () => {
    const gitDir = temporaryFolder();
    const { bavail, bsize } = statfsSync(gitDir);
    const rooms = Array.from({ length: 40 }, () => {
      try {
        return takeRoom({ gitDir }, bavail * bsize * 4);
      } catch (error) {
        expect(error).toMatchObject({ code: 'DISK_FULL', hint: expect.stringContaining('space') });
        return undefined;
      }
    });
    for (const room of rooms) room?.release();
    expect(rooms.at(-1)).toBeUndefined();
  });
});
