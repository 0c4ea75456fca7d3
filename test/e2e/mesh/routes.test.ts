/** Addresses are hints: what happens when one is wrong, old, silent or somebody else's. Real nodes over real ssh. */
import { describe, expect, test, vi } from 'vitest';
import { craig, hostRekey } from '../../lib/trust-ops.ts';
import { headsFor, say, serveAs, silentUrl, wireTo } from './impostor.ts';
import { introduce, meshId, startNode } from './node.ts';

const urlOf = (port: number): string => `ssh://127.0.0.1:${port}`;
const nobody = 'ssh://127.0.0.1:1';

/** A pack of one blob of 10 000 bytes, stored, up to its first byte. */
const endlessPack = Buffer.concat([
  Buffer.from('PACK'),
  Buffer.from([0, 0, 0, 2, 0, 0, 0, 1]),
  Buffer.from([0xb0, 0xf1, 0x04, 0x78, 0x01, 0x01, 0x10, 0x27, 0xef, 0xd8]),
]);

/** Bytes of a pack as git sends them: framed, on side band 1. */
function band(bytes: Buffer): Buffer {
  const length = (bytes.length + 5).toString(16).padStart(4, '0');
  return Buffer.concat([Buffer.from(length), Buffer.from([1]), bytes]);
}

describe('several addresses', () => {
  test('where another host answers it is named, nothing is asked, and the next address is tried', async () => {
    const [alpha, beta] = [await startNode('alpha'), await startNode('beta')];
    await alpha.append('one');
    const gamma = await serveAs('gamma', (_command, channel) => say(channel, ''));
    beta.addresses.set('alpha', `${gamma.url} ${urlOf(alpha.server.port)}`);
    const [outcome] = await beta.cycle('alpha');
    expect(outcome).toMatchObject({ state: 'up', newEvents: 1 });
    const detail = `at ${gamma.url}, where alpha should be, host gamma answers`;
    expect(outcome?.alarms).toEqual([{ code: 'HOST_KEY_MISMATCH', peer: 'alpha', detail }]);
    expect(gamma.commands).toEqual([]);
  });

  test('the alarm is over once the right host is reached without meeting another', async () => {
    const [alpha, beta] = [await startNode('alpha'), await startNode('beta')];
    const gamma = await serveAs('gamma', (_command, channel) => say(channel, ''));
    beta.addresses.set('alpha', `${gamma.url} ${urlOf(alpha.server.port)}`);
    expect((await beta.cycle('alpha'))[0]?.alarms).toHaveLength(1);
    beta.addresses.set('alpha', urlOf(alpha.server.port));
    beta.peers.schedule(true);
    expect((await beta.peers.cycle({ only: ['alpha'], busy: 'wait' }))[0]).toMatchObject({ state: 'up', alarms: [] });
  });

  test('C4: where only others answer the peer is refused, and the reason names both hosts', async () => {
    const beta = await startNode('beta');
    const gamma = await serveAs('gamma', (_command, channel) => say(channel, ''));
    const stranger = await serveAs('delta', (_command, channel) => say(channel, ''));
    beta.addresses.set('alpha', gamma.url);
    expect((await beta.cycle('alpha'))[0]).toMatchObject({
      state: 'refused',
      reason: { code: 'HOST_KEY_MISMATCH', detail: `at ${gamma.url}, where alpha should be, host gamma answers` },
    });
    beta.addresses.set('alpha', `${nobody} ${stranger.url}`);
    const [outcome] = await beta.cycle('alpha');
    expect(outcome?.reason?.detail).toContain('somebody whose key is of no host of this mesh answers');
    expect(outcome?.reason?.detail).toContain('1 other way failed too');
  });

  test('an address where nobody is, and one where somebody is silent, cost a moment', async () => {
    const [alpha, beta] = [await startNode('alpha'), await startNode('beta')];
    beta.addresses.set('alpha', `${nobody} ${await silentUrl()} ${urlOf(alpha.server.port)}`);
    const started = performance.now();
    expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'up', alarms: [] });
    expect(performance.now() - started).toBeLessThan(9_000);
  });

  test('a host that moved is found at its new address with the next cycle', async () => {
    const [alpha, beta] = [await startNode('alpha'), await startNode('beta')];
    const wire = await wireTo(alpha.server.port);
    beta.addresses.set('alpha', wire.url);
    expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'up' });
    wire.silence();
    await alpha.append('one');
    beta.addresses.set('alpha', `${nobody} ${urlOf(alpha.server.port)}`);
    const deadlineMs = 1_500;
    const [half] = await beta.peers.cycle({ only: ['alpha'], deadlineMs });
    expect(half, 'a connection that is half open costs one cycle').toMatchObject({
      state: 'down',
      reason: { code: 'TIMEOUT' },
    });
    expect((await beta.peers.cycle({ only: ['alpha'], busy: 'wait' }))[0]).toMatchObject({ state: 'up', newEvents: 1 });
  });
});

describe('bad company', () => {
  test('C1: a fetch that never ends is given up at its deadline; the others are done long before', async () => {
    const [alpha, beta] = [await startNode('alpha'), await startNode('beta')];
    introduce(alpha, beta);
    await alpha.append('one');
    const tip = { oid: '2'.repeat(40), seq: 9, link: '3'.repeat(64) };
    const gamma = await serveAs('gamma', (command, channel) => {
      if (command === 'memd heads') return say(channel, headsFor(beta, 'gamma', { heads: { gamma: tip } }));
      channel.write('000eversion 2\n000cls-refs\n000bfetch=\n0000000dpackfile\n');
      channel.write(band(endlessPack));
      const timer = setInterval(() => channel.write(band(Buffer.from('x'))), 20);
      channel.on('close', () => clearInterval(timer));
    });
    beta.addresses.set('gamma', gamma.url);
    const started = performance.now();
    let alphaAfter = Infinity;
    const outcomes = await Promise.all([
      beta.peers.cycle({ only: ['gamma'], deadlineMs: 2_500 }),
      beta.peers.cycle({ only: ['alpha'], deadlineMs: 20_000 }).then((done) => {
        alphaAfter = performance.now() - started;
        return done;
      }),
    ]);
    const [[fromGamma], [fromAlpha]] = outcomes;
    expect(fromAlpha).toMatchObject({ state: 'up', newEvents: 1 });
    expect(fromGamma).toMatchObject({ state: 'down', reason: { code: 'TIMEOUT' } });
    expect(performance.now() - started).toBeLessThan(15_000);
    expect(alphaAfter).toBeLessThan(performance.now() - started);
  });

  test('a rekeyed host loses the connections that it made with its old key, and those that were made to it', async () => {
    const [alpha, beta] = [await startNode('alpha', { live: true }), await startNode('beta', { live: true })];
    introduce(alpha, beta);
    await beta.append('one');
    await beta.cycle('alpha');
    await alpha.cycle('beta');
    await vi.waitFor(() => expect([alpha.server.watchers(), beta.server.watchers()]).toEqual([1, 1]), 15_000);
    const place = {
      mesh: meshId,
      by: craig,
      prev: [...alpha.set().held.keys()].filter((id) => id !== meshId),
      nonce: 901,
    };
    const pin = { seq: 1, link: alpha.tips.get('beta')?.link ?? '' };
    await alpha.trust(hostRekey(place, { name: 'beta', key: 77, pin }));
    alpha.server.expel();
    alpha.peers.expel();
    await vi.waitFor(() => expect([alpha.server.connections(), beta.server.watchers()]).toEqual([0, 0]), 15_000);
    const [outcome] = await alpha.cycle('beta');
    expect(outcome).toMatchObject({ state: 'refused', reason: { code: 'HOST_KEY_MISMATCH' } });
  });
});
