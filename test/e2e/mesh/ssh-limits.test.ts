import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import type { Client, ClientChannel, ConnectConfig } from 'ssh2';
import { expect, onTestFinished, test } from 'vitest';
import { printFetchRequest } from '../../../src/mesh/fetch/fetch-v2.ts';
import type { SshServer } from '../../../src/mesh/ssh/ssh-server.ts';
import type { Repository } from '../../../src/store/git/repository.ts';
import { alpha, beta, logIn, serveAlpha, type Door } from './door.ts';
import { git, writeCommit, writeTree } from './hostile.ts';
import { charterHosts, testHost, type TestHost } from './hosts.ts';

/** Somebody who has not logged in is given this long. */
const graceMs = 3_000;

const serve = (): Promise<Door> => serveAlpha({ loginGraceMs: graceMs });

/** `from`: an address of this machine's own, to stand for another network. */
function open(server: SshServer, from?: string): Socket {
  const place = { port: server.port, host: '127.0.0.1', ...(from === undefined ? {} : { localAddress: from }) };
  const socket = connect(place).on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  return socket.resume();
}

const closed = (socket: Socket): Promise<void> => new Promise((resolve) => void socket.once('close', () => resolve()));

function exec(client: Client, command: string): Promise<ClientChannel> {
  return new Promise(
    (resolve, reject) =>
      void client.exec(command, { env: { GIT_PROTOCOL: 'version=2' } }, (error, channel) =>
        error === undefined ? resolve(channel) : reject(error),
      ),
  );
}

/** Process ids of the `git upload-pack` children that serve this repository. */
function childrenOf(repository: Repository): string[] {
  const isOne = (pid: string): boolean => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      return command.includes('upload-pack') && command.includes(repository.gitDir);
    } catch {
      return false;
    }
  };
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter(isOne);
}

function uploadPacks(repository: Repository): number {
  return childrenOf(repository).length;
}

/** Bytes that a process has written so far; 0 once it is gone. */
function bytesWritten(pid: string): number {
  try {
    return Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
  } catch {
    return 0;
  }
}

async function until(condition: () => boolean): Promise<void> {
  await expect.poll(condition, { interval: 10 }).toBe(true);
}

test('a fifth connection from one address that has not logged in is closed at once; the others at the end of their grace', async () => {
  const { server, notes } = await serve();
  const sockets = [1, 2, 3, 4].map(() => open(server));
  await until(() => server.connections() === 4);
  await closed(open(server));
  expect(server.connections(), 'the four are there still').toBe(4);
  await Promise.all(sockets.map(closed));
  await until(() => server.connections() === 0);
  expect(notes.map(({ code }) => code).toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
    'LOGIN_TIMEOUT',
    'LOGIN_TIMEOUT',
    'LOGIN_TIMEOUT',
    'LOGIN_TIMEOUT',
    'TOO_MANY_CONNECTIONS',
  ]);
  expect(await (await exec(await logIn(server), 'memd heads')).setEncoding('utf8').toArray()).toEqual(['heads\n']);
});

/** Every address of 127.0.0.0/8 is this machine's on Linux. */
const networks = Array.from({ length: 9 }, (_, n) => `127.0.7.${n + 1}`);

/** 32 connections that say nothing, four from each of eight networks. */
async function fill(server: SshServer): Promise<readonly Socket[]> {
  const sockets = networks.slice(0, 8).flatMap((from) => [1, 2, 3, 4].map(() => open(server, from)));
  await until(() => server.connections() === 32);
  return sockets;
}

const isIn = async (server: SshServer, options: ConnectConfig = {}): Promise<boolean> =>
  logIn(server, options).then(
    () => true,
    () => false,
  );

test.runIf(process.platform === 'linux')(
  'strangers who hold every place keep nobody out: one of them, drawn by lot, goes, and the others stay',
  async () => {
    const { server, notes } = await serveAlpha({ loginGraceMs: 60_000, lot: (count) => count - 3 });
    const sockets = await fill(server);
    const drawn = closed(sockets[29] as Socket);
    expect(await isIn(server)).toBe(true);
    await drawn;
    expect(sockets.filter(({ destroyed }) => destroyed)).toHaveLength(1);
    expect(server.connections()).toBe(32);
    expect(notes.map(({ code, address }) => `${code} ${address}`)).toEqual(['TOO_MANY_CONNECTIONS 127.0.7.8']);
  },
);

/** Whatever is ended comes again at once, so that the places are never free. `pauseMs`: how long that takes. */
function flood(server: SshServer, pauseMs: number): void {
  let isOver = false;
  const again = (from: string): void => {
    if (isOver) return;
    open(server, from).once('close', () => setTimeout(() => again(from), pauseMs));
  };
  for (const from of networks.slice(0, 8)) for (let n = 0; n < 5; n += 1) again(from);
  onTestFinished(() => void (isOver = true));
}

test.runIf(process.platform === 'linux')(
  'under a flood that fills every place again and again a host gets in after a few tries, and from then on at the first',
  async () => {
    const { server } = await serveAlpha({ loginGraceMs: 60_000 });
    flood(server, 100);
    await until(() => server.connections() >= 32);
    const here = { localAddress: networks[8] } as ConnectConfig;
    let tries = 1;
    while (!(await isIn(server, here)) && tries < 20) tries += 1;
    expect(tries).toBeLessThan(20);
    for (let n = 0; n < 5; n += 1) expect(await isIn(server, here), `login ${n} from the same place`).toBe(true);
  },
);

test('a logged-in connection is not counted among strangers, and is not timed out', async () => {
  const { server } = await serve();
  const clients = [];
  for (let index = 0; index < 6; index++) clients.push(await logIn(server));
  // Whoever comes after them and does not log in is timed out: by then their grace would be over too.
  await closed(open(server));
  for (const client of clients)
    expect(await (await exec(client, 'memd heads')).setEncoding('utf8').toArray()).toEqual(['heads\n']);
});

test('of nine connections of one host the oldest is ended', async () => {
  const { server } = await serve();
  const first = await logIn(server);
  const gone = new Promise<void>((resolve) => void first.once('close', () => resolve()));
  for (let index = 0; index < 8; index++) await logIn(server);
  await gone;
  expect(server.connections()).toBe(8);
});

test.runIf(existsSync('/proc'))(
  'the upload-pack child goes when its channel closes, and when the connection breaks',
  async () => {
    const { server, repository } = await serve();
    const client = await logIn(server);
    const channel = await exec(client, "git-upload-pack '/log'");
    await until(() => uploadPacks(repository) === 1);
    channel.close();
    await until(() => uploadPacks(repository) === 0);
    await exec(client, "git-upload-pack '/log'");
    await until(() => uploadPacks(repository) === 1);
    client.destroy();
    await expect.poll(() => [uploadPacks(repository), server.connections()]).toEqual([0, 0]);
  },
);

async function fetchAtOnce(server: SshServer, host: TestHost, times: number): Promise<void> {
  const client = await logIn(server, { privateKey: host.sshPem });
  for (let index = 0; index < times; index++) await exec(client, "git-upload-pack '/log'");
}

async function expectBusy(server: SshServer, host: TestHost): Promise<void> {
  const channel = await exec(await logIn(server, { privateKey: host.sshPem }), "git-upload-pack '/log'");
  const said = new Promise((resolve) => channel.stderr.once('data', (data: Buffer) => resolve(data.toString())));
  const code = await new Promise((resolve) => channel.on('close', resolve).resume());
  expect([code, await said]).toEqual([75, 'memd: busy, try again later\n']);
}

test('children of one peer are bounded over all its connections: the next one is told to come back, another peer is served', async () => {
  const { server, repository } = await serve();
  for (const times of [2, 2]) await fetchAtOnce(server, beta, times);
  await expectBusy(server, beta);
  await fetchAtOnce(server, alpha, 1);
  await until(() => uploadPacks(repository) === 5);
});

test.runIf(existsSync('/proc'))(
  'children are bounded over all peers: four that take every place keep nobody out, and get none back',
  async () => {
    const [greedy = beta, ...others] = ['beta', 'gamma', 'delta', 'epsilon', 'zeta'].map((name) => testHost(name));
    const sound = others.pop() ?? beta;
    const { server, repository } = await serveAlpha({
      charterHosts: () => charterHosts(alpha, greedy, ...others, sound),
    });
    for (const peer of [greedy, ...others]) await fetchAtOnce(server, peer, 4);
    await until(() => uploadPacks(repository) === 16);
    const oldest = childrenOf(repository);
    await fetchAtOnce(server, sound, 1);
    await until(() => uploadPacks(repository) === 16 && childrenOf(repository).some((pid) => !oldest.includes(pid)));
    await expectBusy(server, greedy);
    await fetchAtOnce(server, sound, 1);
    await until(() => childrenOf(repository).filter((pid) => !oldest.includes(pid)).length === 2);
    // The child that had to make room is asked to go, and then goes.
    await until(() => uploadPacks(repository) === 16);
  },
);

test('sessions that are opened and closed without a command end the connection after a while', async () => {
  const { server } = await serve();
  const client = await logIn(server);
  const gone = new Promise((resolve) => void client.once('close', () => resolve('closed')));
  const wire = (
    client as unknown as {
      _protocol: { session(id: number, window: number, packet: number): void; channelClose(id: number): void };
    }
  )._protocol;
  for (let id = 0; id < 20; id++) {
    wire.session(1_000 + id, 1_000, 1_000);
    wire.channelClose(id);
  }
  expect(await gone).toBe('closed');
});

test.runIf(existsSync('/proc'))(
  'a peer that asks for 40 MB with a huge window and reads nothing holds up its own child, not our memory',
  { timeout: 60_000 },
  async () => {
    const { server, repository } = await serve();
    const commit = await writeCommit(repository, await writeTree(repository, { big: randomBytes(40 * 1_048_576) }));
    git(repository, 'update-ref', 'refs/heads/log/alpha', commit);
    // Packed, upload-pack has nothing to compress and sends as fast as it is read.
    git(repository, 'repack', '-adq');
    const client = await logIn(server);
    const channel = (await exec(client, "git-upload-pack '/log'")) as ClientChannel & {
      readonly outgoing: { readonly id: number };
    };
    const inside = client as unknown as {
      _sock: Socket;
      _protocol: { channelWindowAdjust(id: number, bytes: number): void };
    };
    inside._protocol.channelWindowAdjust(channel.outgoing.id, 0x7fff_ffff);
    channel.write(Buffer.from(printFetchRequest({ wants: [commit], haves: [] })));
    inside._sock.pause();
    // What left git is in the kernel's socket buffers and in ours; wait until it grows no more.
    let [before, written, still] = [0, 0, 0];
    for (let round = 0; round < 600 && still < 10; round++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      written = Math.max(0, ...childrenOf(repository).map(bytesWritten));
      still = written === before && written > 100_000 ? still + 1 : 0;
      before = written;
    }
    expect(written).toBeGreaterThan(100_000);
    expect(written).toBeLessThan(20 * 1_048_576);
    client.destroy();
  },
);
