/** What is kept open over a connection: `memd watch` and `memd serve-back`, between real nodes over real ssh. */
import type { AddressInfo } from 'node:net';
import ssh2, { type ClientChannel, type ServerChannel } from 'ssh2';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { watchLinesMax } from '../../../src/core/limits.ts';
import { ed25519PrivatePem } from '../../../src/crypto/ssh-key.ts';
import { printHeads } from '../../../src/mesh/heads.ts';
import { craig, hostRevoke, testKey } from '../../lib/trust-ops.ts';
import { logIn, serveAlpha } from './door.ts';
import { hostKeys, introduce, meshId, startNode, type TestNode } from './node.ts';

const soon = { timeout: 10_000, interval: 5 };

async function until(condition: () => boolean, what: string): Promise<void> {
  await vi.waitFor(() => {
    if (!condition()) throw new Error(`not in time: ${what}`);
  }, soon);
}

const holds = (node: TestNode, log: string, seq: number): boolean => node.tips.get(log)?.seq === seq;

describe('memd watch', () => {
  test('a line is sent at once, and again at every change, however fast they come one for many', async () => {
    let heads = 'one';
    const { server } = await serveAlpha({ heads: () => heads });
    const client = await logIn(server);
    const channel = await new Promise<ClientChannel>((resolve, reject) => {
      client.exec('memd watch', (error, opened) => (error === undefined ? resolve(opened) : reject(error)));
    });
    const lines: string[] = [];
    channel.on('data', (data: Buffer) => lines.push(...data.toString('utf8').split('\n').filter(Boolean)));
    await until(() => lines.length === 1, 'the first line');
    server.tell();
    for (let index = 0; index < 50; index += 1) {
      heads = `change ${index}`;
      server.tell();
    }
    await until(() => lines.at(-1) === 'change 49', 'the newest line');
    expect(lines).toEqual(['one', 'change 49']);
  });

  test('a reader that is slow gets the newest when it reads on, and nothing between', async () => {
    let heads = '';
    let looked = 0;
    const { server } = await serveAlpha({
      heads() {
        looked += 1;
        return heads;
      },
    });
    const client = await logIn(server);
    const channel = await new Promise<ClientChannel>((resolve, reject) => {
      client.exec('memd watch', (error, opened) => (error === undefined ? resolve(opened) : reject(error)));
    });
    channel.pause();
    const marks = Array.from({ length: 12 }, (_, index) => `${index} `.padEnd(900_000, 'x'));
    for (const mark of marks) {
      heads = mark;
      const before = looked;
      server.tell();
      await until(() => looked > before, 'the change is looked at');
    }
    let text = '';
    channel.on('data', (data: Buffer) => (text += data.toString('latin1')));
    channel.resume();
    await until(() => text.includes('\n11 '), 'the newest line');
    const seen = text.split('\n').map((line) => line.slice(0, 3).trim());
    expect(seen.length, `lines that came: ${seen.join(' ')}`).toBeLessThan(8);
  });

  test('a line that one host appends is on the others without anybody asking, through a relay too', async () => {
    const nodes = await Promise.all(['alpha', 'beta', 'gamma'].map((name) => startNode(name, { live: true })));
    const [alpha, beta, gamma] = nodes as [TestNode, TestNode, TestNode];
    introduce(alpha, beta);
    introduce(beta, gamma);
    await alpha.append('first');
    await Promise.all(nodes.map((node) => node.cycle()));
    for (let seq = 2; seq <= 5; seq += 1) {
      await alpha.append(`line ${seq}`);
      await until(() => holds(gamma, 'alpha', seq), `line ${seq} is on gamma`);
    }
    expect(holds(beta, 'alpha', 5)).toBe(true);
    expect(beta.outcomes.flatMap(({ alarms }) => alarms)).toEqual([]);
  });

  test('whoever waits for a peer to hold a line is told without a question of ours', async () => {
    const [alpha, beta] = [await startNode('alpha', { live: true }), await startNode('beta', { live: true })];
    introduce(alpha, beta);
    await alpha.append('first');
    await Promise.all([alpha.cycle('beta'), beta.cycle('alpha')]);
    await alpha.append('second');
    const line = { seq: 2, link: alpha.tips.get('alpha')?.link ?? '' };
    expect(await alpha.peers.replicated(line, { peers: 1, deadlineMs: 10_000 })).toEqual({
      peers: ['beta'],
      enough: true,
    });
  });

  test('a watch that broke is there again after the next cycle; a connection has one', async () => {
    const [alpha, beta] = [await startNode('alpha', { live: true }), await startNode('beta', { live: true })];
    beta.addresses.set('alpha', `ssh://127.0.0.1:${alpha.server.port}`);
    const { peers } = beta;
    await peers.cycle({ only: ['alpha'] });
    await expect.poll(() => alpha.server.watchers()).toBe(1);
    await alpha.append('one');
    // As after a sleep: connections are ended, and everybody is asked.
    peers.schedule(true);
    await expect.poll(() => beta.tips.get('alpha')?.seq).toBe(1);
    await peers.cycle({ only: ['alpha'], busy: 'wait' });
    await expect.poll(() => alpha.server.watchers()).toBe(1);
    await alpha.append('two');
    await expect.poll(() => beta.tips.get('alpha')?.seq).toBe(2);
    await peers.close();
    await expect.poll(() => alpha.server.watchers()).toBe(0);
  });

  test('a flood of news is a cycle now and then, and then not listened to; the peer is marked, and goes on', async () => {
    const beta = await startNode('beta', { live: true });
    const flood = await serveFlood(beta.mesh.trust());
    beta.addresses.set('alpha', `ssh://127.0.0.1:${flood.port}`);
    await beta.cycle('alpha');
    await flood.ended;
    expect(flood.lines()).toBeGreaterThan(watchLinesMax);
    expect(beta.outcomes.length).toBeLessThan(100);
    const [outcome] = await beta.cycle('alpha');
    expect(outcome).toMatchObject({ state: 'up', alarms: [{ code: 'WATCH_FLOOD', peer: 'alpha' }] });
    expect(flood.watches(), 'it is not watched again').toBe(1);
  });
});

/** Something with alpha's key that answers `memd heads`, and floods whoever watches. */
async function serveFlood(trust: { hash: string; kept: string }): Promise<{
  port: number;
  lines: () => number;
  watches: () => number;
  ended: Promise<void>;
}> {
  let [lines, watches] = [0, 0];
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const answer = (): string => {
    const version = `flood ${(lines += 1)}`;
    const said = {
      mesh: meshId,
      host: 'alpha',
      heads: {},
      trust: { ...trust, oid: '1'.repeat(40) },
      addresses: {},
      version,
    };
    return `${printHeads(said)}\n`;
  };
  const run = (channel: ServerChannel, command: string): void => {
    channel.on('error', () => undefined).resume();
    if (command === 'memd heads') {
      channel.write(answer());
      channel.exit(0);
      return void channel.end();
    }
    if (command !== 'memd watch') return void channel.close();
    watches += 1;
    const timer = setInterval(() => {
      for (let burst = 0; burst < 20; burst += 1) channel.write(answer());
    }, 5);
    channel.on('close', () => {
      clearInterval(timer);
      end();
    });
  };
  const hostKey = ed25519PrivatePem(testKey((hostKeys['alpha'] ?? 0) + 1_000).seed, 'alpha');
  const server = new ssh2.Server({ hostKeys: [hostKey] }, (connection) => {
    connection.on('error', () => undefined);
    connection.on('authentication', (context) => context.accept());
    connection.on('session', (accept) => accept().on('exec', (take, _refuse, { command }) => run(take(), command)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, lines: () => lines, watches: () => watches, ended };
}

describe('memd serve-back', () => {
  test('a host that nobody can dial is heard, and knows that it was', async () => {
    const [alpha, beta] = [await startNode('alpha', { live: true }), await startNode('beta', { live: true })];
    beta.addresses.set('alpha', `ssh://127.0.0.1:${alpha.server.port}`);
    expect((await alpha.cycle('beta'))[0]).toMatchObject({ state: 'down', reason: { code: 'NO_ADDRESS' } });
    await beta.append('from behind');
    await beta.cycle('alpha');
    await until(() => holds(alpha, 'beta', 1), 'alpha holds the line of beta');
    await beta.append('and again');
    const line = { seq: 2, link: beta.tips.get('beta')?.link ?? '' };
    expect(await beta.peers.replicated(line, { peers: 1, deadlineMs: 10_000 })).toMatchObject({ enough: true });
    expect(holds(alpha, 'beta', 2)).toBe(true);
    await alpha.append('the other way');
    await until(() => holds(beta, 'alpha', 1), 'beta holds the line of alpha');
    expect((await alpha.cycle('beta'))[0]).toMatchObject({ state: 'up', alarms: [] });
  });

  test('a revoked host is cut off inside as outside', async () => {
    const [alpha, beta] = [await startNode('alpha', { live: true }), await startNode('beta', { live: true })];
    beta.addresses.set('alpha', `ssh://127.0.0.1:${alpha.server.port}`);
    await beta.append('one');
    await beta.cycle('alpha');
    await until(() => holds(alpha, 'beta', 1), 'alpha holds the line of beta');
    const place = {
      mesh: meshId,
      by: craig,
      prev: [...alpha.set().held.keys()].filter((id) => id !== meshId),
      nonce: 900,
    };
    await alpha.trust(hostRevoke(place, 'beta', { seq: 1, link: alpha.tips.get('beta')?.link ?? '' }));
    expect(alpha.charter().hosts.get('beta')?.status).toBe('revoked');
    alpha.peers.expel();
    alpha.server.expel();
    await until(() => alpha.server.connections() === 0, 'nobody is connected to alpha');
    expect((await alpha.cycle('beta'))[0]).toMatchObject({ reason: { code: 'NOT_ENROLLED' } });
  });
});
