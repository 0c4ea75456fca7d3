import { createServer, type Server, type Socket } from 'node:net';
import ssh2 from 'ssh2';
import { expect, onTestFinished, test } from 'vitest';
import { peerConnection, type PeerConnection, type PeerConnectionOptions } from '../../../src/mesh/ssh/ssh-client.ts';
import type { SshServer, SshServerOptions } from '../../../src/mesh/ssh/ssh-server.ts';
import { alpha, beta, serveAlpha } from './door.ts';
import { testHost } from './hosts.ts';

const how = { bytesMax: 1_000, deadlineMs: 2_000 };
const serve = async (options?: Partial<SshServerOptions>): Promise<SshServer> => (await serveAlpha(options)).server;

function dial(port: number, options: Partial<PeerConnectionOptions> = {}): PeerConnection {
  const connection = peerConnection({
    route: { host: '127.0.0.1', port },
    sshKey: beta.sshPem,
    acceptsServerKey: (blob) => Buffer.from(alpha.ssh.blob).equals(blob),
    dialDeadlineMs: 2_000,
    ...options,
  });
  onTestFinished(() => connection.close());
  return connection;
}

/** A TCP server that does something else than ssh. */
async function rawServer(handle: (socket: Socket) => void): Promise<number> {
  const server: Server = createServer(handle);
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => void sockets.add(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as { port: number }).port;
}

test('one connection is kept for many commands', async () => {
  const server = await serve();
  const connection = dial(server.port);
  for (let round = 0; round < 5; round++) {
    expect(await connection.run('memd heads', how)).toMatchObject({ ok: true, value: Buffer.from('heads\n') });
  }
  expect(server.connections()).toBe(1);
});

test('commands side by side share the connection, and one that dies is dialled again', async () => {
  const server = await serve();
  const connection = dial(server.port);
  const answers = await Promise.all([1, 2, 3].map(() => connection.run('memd heads', how)));
  expect(answers.every((answer) => answer.ok)).toBe(true);
  expect(server.connections()).toBe(1);
  await server.close();
  const again = await serve({ listen: { address: '127.0.0.1', port: server.port } });
  expect(again.port).toBe(server.port);
  expect(await connection.run('memd heads', how)).toMatchObject({ ok: true });
});

test.each<[string, (port: number) => Partial<PeerConnectionOptions>, string]>([
  ['a server with another key', () => ({ acceptsServerKey: () => false }), 'HOST_KEY_MISMATCH'],
  ['a server that does not know us', () => ({ sshKey: testHost('stranger').sshPem }), 'REFUSED_KEY'],
])('%s is named', async (_name, options, code) => {
  const server = await serve();
  expect(await dial(server.port, options(server.port)).run('memd heads', how)).toMatchObject({ ok: false, code });
});

test.each<[string, (socket: Socket) => void, string]>([
  ['silence', () => undefined, 'TIMEOUT'],
  ['a greeting and then silence', (socket) => void socket.write('SSH-2.0-x\r\n'), 'TIMEOUT'],
  ['a web server', (socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'), 'CLOSED'],
  ['an endless greeting', (socket) => void socket.write('x'.repeat(1_000_000)), 'PROTOCOL'],
  ['garbage after the greeting', (socket) => void socket.write(`SSH-2.0-x\r\n${'\u0000'.repeat(5_000)}`), 'PROTOCOL'],
  ['a hang-up', (socket) => void socket.end(), 'CLOSED'],
])('%s where a peer should be ends with a closed code, within the deadline', async (_name, handle, code) => {
  const port = await rawServer(handle);
  const started = performance.now();
  const result = await dial(port, { dialDeadlineMs: 3_000 }).run('memd heads', how);
  expect(result).toMatchObject({ ok: false, code });
  expect(performance.now() - started).toBeLessThan(10_000);
});

test('nobody listening is UNREACHABLE', async () => {
  const port = await rawServer(() => undefined);
  const connection = dial(port === 65_535 ? 1 : 1);
  expect(await connection.run('memd heads', how)).toMatchObject({ ok: false, code: 'UNREACHABLE' });
});

test('a refused command carries what the peer said, without control characters', async () => {
  const server = await serve();
  const refused = await dial(server.port).run('id; ls', how);
  expect(refused).toEqual({
    ok: false,
    code: 'REFUSED_COMMAND',
    detail: 'memd: refused: only git-upload-pack, memd heads, watch and serve-back are served',
  });
});

test('an answer that is too long is cut off', async () => {
  const server = await serve({ heads: () => 'x'.repeat(100_000) });
  expect(await dial(server.port).run('memd heads', how)).toMatchObject({ ok: false, code: 'TOO_LARGE' });
});

test('a command without an exit status, and one that never ends, are failures', async () => {
  const endings: ((channel: ssh2.ServerChannel) => void)[] = [
    (channel) => channel.end('heads\n'),
    (channel) => void channel.write('heads\n'),
  ];
  for (const [index, ending] of endings.entries()) {
    const server = new ssh2.Server({ hostKeys: [alpha.sshPem] }, (client) => {
      client.on('error', () => undefined).on('authentication', (context) => context.accept());
      client.on('session', (accept) => accept().on('exec', (accept) => ending(accept())));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    const result = await dial(port).run('memd heads', { bytesMax: 100, deadlineMs: 300 });
    expect(result).toMatchObject({ ok: false, code: index === 0 ? 'CLOSED' : 'TIMEOUT' });
  }
});
