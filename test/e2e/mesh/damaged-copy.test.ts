/** A copy that is damaged, or only could not be read, is not replaced by one that holds less than it did. */
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Line } from '../../../src/core/line.ts';
import type { DamagedCopy } from '../../../src/core/sync/replace-copy.ts';
import type { MeshNode } from '../../../src/mesh/node.ts';
import { createPeers, type Peers } from '../../../src/mesh/peers.ts';
import { logRef, readRef } from '../../../src/store/git/refs.ts';
import { openLogWriter } from '../../../src/store/logs/log-writer.ts';
import { introduce, makeLines, meshId, startNode, type TestNode } from './node.ts';

const start = { seq: 0, link: meshId };
const lines = makeLines('alpha', start, ['one', 'two', 'three', 'four', 'five', 'six']);

/** Commits of alpha's log with the first 1, 2, … lines, the same on every host. */
async function write(node: TestNode, upto: number): Promise<string[]> {
  const writer = await openLogWriter({ repository: node.repository, host: 'alpha', meshId });
  const oids: string[] = [];
  for (const line of lines.slice(0, upto)) oids.push((await writer.append([line])).oid);
  return oids;
}

function know(node: TestNode, upto: number, oid: string): void {
  const known: readonly Line[] = lines.slice(0, upto);
  const last = known.at(-1);
  node.links.set(
    'alpha',
    known.map(({ link }) => link),
  );
  if (last !== undefined) node.tips.set('alpha', { oid, seq: last.seq, link: last.link });
}

/** Of the copy of this node only so much could be read; `last`: what it saw of it before. */
function damaged(node: TestNode, last: DamagedCopy['last'], mayHoldMore = true): Peers {
  let isDamaged = true;
  const mesh: MeshNode = {
    ...node.mesh,
    damage: {
      of: (log) => log === 'alpha' && isDamaged,
      recheck: async () => isDamaged,
      mayHoldMore: () => mayHoldMore,
      lastOf: () => last,
    },
    aloneWithOwnLog: async (_, work) => work(),
    admitLines: ({ tip }) => {
      isDamaged = false;
      know(node, tip.seq, tip.oid);
    },
  };
  const peers = createPeers({ node: mesh, addressesOf: (host) => [node.addresses.get(host) ?? []].flat() });
  onTestFinished(() => peers.close());
  return peers;
}

const branchOf = (node: TestNode): string | null => readRef(node.repository, logRef('alpha'));

/** Five lines are here, of which two can be read; the last was written a moment ago, and is not noted yet. The peer has `theirs`. */
async function meet(
  name: string,
  theirs: number,
  mayHoldMore = true,
): Promise<{ ours: TestNode; peers: Peers; held: string | undefined; offered: string | undefined }> {
  const [ours, peer] = [await startNode(name), await startNode('gamma')];
  introduce(ours, peer);
  const oids = await write(ours, 5);
  know(ours, 2, oids[4] ?? '');
  const offered = (await write(peer, theirs)).at(-1);
  know(peer, theirs, offered ?? '');
  const last = { oid: oids[3] ?? '', seq: 4, link: lines[3]?.link };
  return { ours, peers: damaged(ours, last, mayHoldMore), held: oids[4], offered };
}

// The own log goes another way than that of somebody else; the rule is the same.
describe.each(['alpha', 'beta'])("alpha's log on %s", (name) => {
  test('a peer has four lines: nothing is given up', async () => {
    const { ours, peers, held } = await meet(name, 4);
    await peers.cycle({ only: ['gamma'] });
    expect(branchOf(ours)).toBe(held);
  });

  test('a peer that has all of it, or more, gives it back', async () => {
    const { ours, peers, offered } = await meet(name, 6);
    expect(await peers.cycle({ only: ['gamma'] })).toMatchObject([{ state: 'up' }]);
    expect(branchOf(ours)).toBe(offered);
    expect(ours.tips.get('alpha')?.seq).toBe(6);
  });

  test('where nothing good stands behind the cut, what was last seen is enough', async () => {
    const { ours, peers, offered } = await meet(name, 4, false);
    expect(await peers.cycle({ only: ['gamma'] })).toMatchObject([{ state: 'up' }]);
    expect(branchOf(ours)).toBe(offered);
  });
});
