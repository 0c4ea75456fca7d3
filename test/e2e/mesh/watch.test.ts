import { describe, expect, onTestFinished, test } from 'vitest';
import type { PeerOutcome } from '../../../src/mesh/node.ts';
import { createPeers, type Peers } from '../../../src/mesh/peers.ts';
import { introduce, startNode, type TestNode } from './node.ts';

/** Peers that watch, as memd's do. */
function watching(node: TestNode): { readonly peers: Peers; readonly outcomes: PeerOutcome[] } {
  const outcomes: PeerOutcome[] = [];
  const peers = createPeers({
    node: node.mesh,
    addressOf: (host) => node.addresses.get(host),
    onOutcome: (outcome) => void outcomes.push(outcome),
    sync: { watches: true },
  });
  onTestFinished(() => peers.close());
  return { peers, outcomes };
}

async function appendAndTell(node: TestNode, ...texts: string[]): Promise<void> {
  await node.append(...texts);
  node.server.tell();
}

describe('memd watch', () => {
  test('news of a peer are here without anybody asking, its logs and those that it relays', async () => {
    const [alpha, beta, gamma] = [await startNode('alpha'), await startNode('beta'), await startNode('gamma')];
    introduce(alpha, beta);
    introduce(alpha, gamma);
    const { peers } = watching(beta);
    expect(await peers.cycle({ only: ['alpha'] })).toMatchObject([{ state: 'up' }]);
    await appendAndTell(alpha, 'one');
    await expect.poll(() => beta.tips.get('alpha')?.seq).toBe(1);
    await gamma.append('from gamma');
    await alpha.cycle('gamma');
    alpha.server.tell();
    await expect.poll(() => beta.tips.get('gamma')?.seq).toBe(1);
  });

  test('a telling with nothing new sends nothing; a flood of new ones is a few cycles', async () => {
    const [alpha, beta] = [await startNode('alpha'), await startNode('beta')];
    introduce(alpha, beta);
    const { peers, outcomes } = watching(beta);
    await peers.cycle({ only: ['alpha'] });
    await appendAndTell(alpha, 'one');
    await expect.poll(() => beta.tips.get('alpha')?.seq).toBe(1);
    const before = outcomes.length;
    for (let round = 0; round < 1_000; round++) alpha.server.tell();
    for (let round = 0; round < 300; round++) {
      alpha.lie((heads) => ({ ...heads, addresses: { alpha: `ssh://h:${round + 1}` } }));
      alpha.server.tell();
    }
    await appendAndTell(alpha, 'two');
    await expect.poll(() => beta.tips.get('alpha')?.seq, { timeout: 5_000 }).toBe(2);
    expect(outcomes.length - before).toBeLessThan(60);
  });

  test('a watch that broke is there again after the next cycle; a connection has one', async () => {
    const [alpha, beta] = [await startNode('alpha'), await startNode('beta')];
    introduce(alpha, beta);
    const { peers } = watching(beta);
    await peers.cycle({ only: ['alpha'] });
    await expect.poll(() => alpha.server.watchers()).toBe(1);
    await alpha.append('one');
    // As after a sleep: connections are ended, and everybody is asked.
    peers.schedule(true);
    await expect.poll(() => beta.tips.get('alpha')?.seq).toBe(1);
    await peers.cycle({ only: ['alpha'], busy: 'wait' });
    await expect.poll(() => alpha.server.watchers()).toBe(1);
    await appendAndTell(alpha, 'two');
    await expect.poll(() => beta.tips.get('alpha')?.seq).toBe(2);
    await peers.close();
    await expect.poll(() => alpha.server.watchers()).toBe(0);
  });
});
