import { describe, expect, test } from 'vitest';
import { openHeadsKeeper, type HeadsKeeper, type ViewSeen } from '../../../../src/daemon/beliefs/heads-keeper.ts';
import { homePaths } from '../../../../src/store/home/home.ts';
import { readLastHeads, writeLastHeads } from '../../../../src/store/notes/last-heads.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

type Write = Parameters<HeadsKeeper['write']>;
const noLogs = { logs: () => [], cuts: () => [], oids: () => ({}) } as unknown as Write[0];
const noTrust = { oid: '', filesEver: 0, charter: { hosts: new Map() } } as unknown as Write[1];
const seen = { n: 9, hash: 'f'.repeat(64) };

/** What the file says of the view journal once this was seen of it. */
async function kept(view: ViewSeen): Promise<unknown> {
  const home = homePaths(temporaryFolder());
  await writeLastHeads(home, { logs: {}, trust: null, view: seen });
  const keeper = openHeadsKeeper(home, () => view);
  await keeper.write(noLogs, noTrust);
  return readLastHeads(home).heads.view;
}

describe('last-heads.json of a view journal that holds less than it did', () => {
  const now = { n: 4, hash: 'a'.repeat(64) };

  test('keeps what was seen, as evidence', async () => {
    expect(await kept(now)).toEqual(seen);
    expect(await kept({ ...now, hasGoneOn: false })).toEqual(seen);
  });

  test('goes by the journal again once that has gone on', async () => {
    expect(await kept({ ...now, hasGoneOn: true })).toEqual(now);
  });
});
