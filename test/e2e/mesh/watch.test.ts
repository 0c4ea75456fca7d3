/** What is kept open over a connection: `memd watch` and `memd serve-back`, between real nodes over real ssh. */
import type { Client, ClientChannel } from 'ssh2';
import { describe, expect, test, vi } from 'vitest';
import { watchLinesMax } from '../../../src/core/limits.ts';
import { createObjectGate } from '../../../src/mesh/object-gate.ts';
import { craig, hostRevoke } from '../../lib/trust-ops.ts';
import { logIn, serveAlpha } from './door.ts';
import { headsFor, say, serveAs, wireTo, type Impostor } from './impostor.ts';
import { introduce, meshId, startNode, type TestNode } from './node.ts';

const soon = { timeout: 15_000, interval: 5 };

async function until(condition: () => boolean, what: string): Promise<void> {
  await vi.waitFor(() => {
    if (!condition()) throw new Error(`not in time: ${what}`);
  }, soon);
}

const holds = (node: TestNode, log: string, seq: number): boolean => node.tips.get(log)?.seq === seq;

function exec(client: Client, command: string): Promise<ClientChannel> {
  return new Promise((resolve, reject) => {
    client.exec(command, (error, opened) => (error === undefined ? resolve(opened) : reject(error)));
  });
}

async function statusOf(channel: ClientChannel): Promise<{ code: unknown; said: string }> {
  let said = '';
  channel.stderr.on('data', (data: Buffer) => (said += data.toString('utf8')));
  const code = await new Promise((resolve) => channel.on('close', (status: unknown) => resolve(status)).resume());
  return { code, said };
}

describe('memd watch', () => {
  test('a line is sent at once, and again at every change, however fast they come one for many', async () => {
    let heads = 'one';
    const { server } = await serveAlpha({ heads: () => heads });
    const client = await logIn(server);
    const channel = await exec(client, 'memd watch');
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
    const channel = await exec(client, 'memd watch');
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

  test('who was told to come again while objects were dropped is told the same once more when that is over', async () => {
    const gate = createObjectGate();
    const { server } = await serveAlpha({ gate });
    const client = await logIn(server);
    const lines: string[] = [];
    const channel = await exec(client, 'memd watch');
    channel.on('data', (data: Buffer) => lines.push(...data.toString('utf8').split('\n').filter(Boolean)));
    await until(() => lines.length === 1, 'the first line');
    await gate.alone(async () => {
      const refused = await statusOf(await exec(client, "git-upload-pack '/log'"));
      expect(refused).toEqual({ code: 75, said: 'memd: busy, try again later\n' });
    });
    await until(() => lines.length === 2, 'the line again');
    expect(lines).toEqual(['heads', 'heads']);
  });

  test('whoever writes into a watch is hung up on: nothing of it is read', async () => {
    const { server } = await serveAlpha();
    const client = await logIn(server);
    const channel = await exec(client, 'memd watch');
    channel.on('error', () => undefined).resume();
    const ended = new Promise((resolve) => client.on('error', () => undefined).on('close', () => resolve(undefined)));
    channel.write('x');
    await ended;
    await expect.poll(() => server.connections()).toBe(0);
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
    const flood = await serveFlood(beta);
    beta.addresses.set('alpha', flood.impostor.url);
    await beta.cycle('alpha');
    await flood.ended;
    expect(flood.lines()).toBeGreaterThan(watchLinesMax);
    expect(beta.outcomes.length).toBeLessThan(100);
    const [outcome] = await beta.cycle('alpha');
    expect(outcome).toMatchObject({ state: 'up', alarms: [{ code: 'WATCH_FLOOD', peer: 'alpha' }] });
    expect(flood.impostor.commands.filter((command) => command === 'memd watch')).toHaveLength(1);
  });
});

/** Something with alpha's key that answers `memd heads`, and floods whoever watches. */
async function serveFlood(beta: TestNode): Promise<{
  impostor: Impostor;
  lines: () => number;
  ended: Promise<void>;
}> {
  let lines = 0;
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const answer = (): string => headsFor(beta, 'alpha', { version: `flood ${(lines += 1)}` });
  const impostor = await serveAs('alpha', (command, channel) => {
    if (command === 'memd heads') return say(channel, answer());
    if (command !== 'memd watch') return void channel.close();
    const timer = setInterval(() => {
      for (let burst = 0; burst < 20; burst += 1) channel.write(answer());
    }, 5);
    channel.on('close', () => {
      clearInterval(timer);
      end();
    });
  });
  return { impostor, lines: () => lines, ended };
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

describe('limits after login', () => {
  test('a watch, an offer and two commands are the four channels of a connection; a second of either is refused', async () => {
    const { server } = await serveAlpha({ onServeBack: () => undefined });
    const client = await logIn(server);
    await exec(client, 'memd watch');
    await exec(client, 'memd serve-back');
    expect(await statusOf(await exec(client, 'memd watch'))).toEqual({ code: 1, said: 'memd: watched already\n' });
    expect(await statusOf(await exec(client, 'memd serve-back'))).toMatchObject({ code: 1 });
    await exec(client, "git-upload-pack '/log'");
    await exec(client, "git-upload-pack '/log'");
    await expect(exec(client, 'memd heads')).rejects.toThrow('Channel open failure');
  });

  test('a host that does not ask back refuses the offer; the connection goes on', async () => {
    const { server } = await serveAlpha();
    const client = await logIn(server);
    const refused = await statusOf(await exec(client, 'memd serve-back'));
    expect(refused).toEqual({ code: 1, said: 'memd: refused: nobody asks back here\n' });
    expect((await statusOf(await exec(client, 'memd heads'))).code).toBe(0);
  });

  test('a connection without a session is ended after a while, one that watches is not', async () => {
    const { server } = await serveAlpha({ idleMs: 3_000 });
    const [idle, watching] = [await logIn(server), await logIn(server)];
    await exec(watching, 'memd watch');
    const ended = new Promise((resolve) => idle.on('close', () => resolve(undefined)));
    await ended;
    expect(server.connections()).toBe(1);
    expect((await statusOf(await exec(watching, 'memd heads'))).code).toBe(0);
  });

  test('a session that never asks for anything ends its connection', async () => {
    const { server } = await serveAlpha({ sessionGraceMs: 200 });
    const client = await logIn(server, { strictVendor: false });
    // Below the interface of ssh2, which never opens a session without asking for something.
    (
      client as unknown as { _protocol: { session(id: number, window: number, packet: number): void } }
    )._protocol.session(0, 2 ** 20, 2 ** 15);
    await new Promise((resolve) => client.on('close', () => resolve(undefined)).on('error', () => undefined));
    await expect.poll(() => server.connections()).toBe(0);
  });

  test('a connection that fell silent is noticed by keepalive, on a host that only serves too', async () => {
    const { server } = await serveAlpha({ keepaliveMs: 1_000 });
    const wire = await wireTo(server.port);
    const client = await logIn(server, { port: Number(new URL(wire.url).port) });
    await exec(client, 'memd watch');
    await expect.poll(() => server.watchers()).toBe(1);
    wire.silence();
    await expect.poll(() => [server.connections(), server.watchers()]).toEqual([0, 0]);
  });
});
