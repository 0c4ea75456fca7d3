import { readdirSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { takeRoom, type DiskRoom } from '../../../src/mesh/fetch/fetch-bounds.ts';
import { introduce, startNode } from './node.ts';

/** Promises all that is free to somebody else. */
function takeAll(gitDir: string): DiskRoom[] {
  const { blocks, bsize } = statfsSync(gitDir);
  const rooms: DiskRoom[] = [];
  for (;;) {
    try {
      rooms.push(takeRoom({ gitDir }, blocks * bsize));
    } catch {
      return rooms;
    }
  }
}

test('with no room for what comes nothing is fetched and no peer is blamed; with room again it is, by itself', async () => {
  const [alpha, beta] = [await startNode('alpha'), await startNode('beta')];
  introduce(alpha, beta);
  await alpha.append('one', 'two');
  const rooms = takeAll(beta.repository.gitDir);
  try {
    const [outcome] = await beta.cycle('alpha');
    expect(outcome).toMatchObject({ state: 'down', newEvents: 0, alarms: [], reason: { code: 'LOCAL' } });
    expect(outcome?.reason?.detail).toMatch(/too little space is left.*DISK_FULL.*free some space/);
    expect(readdirSync(join(beta.repository.gitDir, 'quarantine'))).toEqual([]);
  } finally {
    for (const room of rooms) room.release();
  }
  expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'up', newEvents: 2 });
});
