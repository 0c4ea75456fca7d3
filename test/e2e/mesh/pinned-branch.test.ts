import { expect, onTestFinished, test } from 'vitest';
import type { Line } from '../../../src/core/line.ts';
import { usableUpto } from '../../../src/core/trust/usable.ts';
import { createPeers } from '../../../src/mesh/peers.ts';
import type { MeshNode } from '../../../src/mesh/node.ts';
import { craig, hostRekey } from '../../lib/trust-ops.ts';
import { forceBranch, writeLog } from './hostile.ts';
import { introduce, makeLines, meshId, startNode, type TestNode } from './node.ts';

const start = { seq: 0, link: meshId };

async function holdLog(node: TestNode, log: string, lines: readonly Line[]): Promise<void> {
  const last = lines.at(-1);
  if (last === undefined) throw new Error('no lines');
  const oid = await writeLog(
    node.repository,
    lines.map(({ text }) => text),
  );
  forceBranch(node.repository, log, oid);
  node.tips.set(log, { oid, seq: last.seq, link: last.link });
  node.links.set(
    log,
    lines.map(({ link }) => link),
  );
}

/** The node as a daemon makes it: a copy that is not what a signer pinned is damaged, and what comes in its place is read anew. */
function mending(node: TestNode): MeshNode {
  const wrong = (log: string): boolean => {
    const host = node.charter().hosts.get(log);
    const links = node.links.get(log) ?? [];
    return host !== undefined && usableUpto(host, (seq) => links[seq - 1], links.length).fault !== undefined;
  };
  return {
    ...node.mesh,
    damage: { of: wrong, recheck: async (log) => wrong(log), lastOf: () => undefined, mayHoldMore: () => false },
    admitLines: ({ log, lines, tip }) => {
      const [first] = lines;
      const kept = (node.links.get(log) ?? []).slice(0, (first?.seq ?? 1) - 1);
      node.links.set(log, [...kept, ...lines.map(({ link }) => link)]);
      node.tips.set(log, tip);
    },
  };
}

test('T3: the branch that a signer pinned takes the place of another one, from whoever has it, and no other does', async () => {
  const [beta, gamma] = [await startNode('beta'), await startNode('gamma')];
  introduce(beta, gamma);
  const ours = makeLines('alpha', start, ['one', 'two', 'three', 'four']);
  const pinned = makeLines('alpha', start, ['one', 'TWO', 'THREE']);
  const later = makeLines('alpha', { seq: 3, link: pinned[2]?.link ?? '' }, ['after the rekey'], { key: 40 });
  await holdLog(beta, 'alpha', ours);
  const peers = createPeers({ node: mending(beta), addressesOf: (host) => [beta.addresses.get(host) ?? []].flat() });
  onTestFinished(() => peers.close());
  const pin = { seq: 3, link: pinned[2]?.link ?? '' };
  const place = { mesh: meshId, by: craig, prev: [meshId], nonce: 900 };
  const rekey = hostRekey(place, { name: 'alpha', key: 40, pin });
  for (const node of [beta, gamma]) await node.trust(rekey);

  await holdLog(gamma, 'alpha', makeLines('alpha', start, ['one', 'two', 'other']));
  const [refused] = await peers.cycle({ only: ['gamma'] });
  expect(refused).toMatchObject({ state: 'refused', alarms: [{ code: 'NOT_EXTENSION', log: 'alpha' }] });
  expect(beta.tips.get('alpha')?.link).toBe(ours[3]?.link);

  await holdLog(gamma, 'alpha', [...pinned, ...later]);
  expect(await peers.cycle({ only: ['gamma'] })).toMatchObject([{ state: 'up', alarms: [] }]);
  expect(beta.links.get('alpha')).toEqual([...pinned, ...later].map(({ link }) => link));
  expect(await peers.cycle({ only: ['gamma'] })).toMatchObject([{ state: 'up', newEvents: 0 }]);
});
