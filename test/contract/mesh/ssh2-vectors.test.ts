/** Outside vectors for the ssh server: raw bytes before login, and every kind of request after it. */
import { connect } from 'node:net';
import { duplexPair } from 'node:stream';
import type { Client, ClientChannel } from 'ssh2';
import { expect, test } from 'vitest';
import { parseExecRequest } from '../../../src/mesh/ssh/exec-request.ts';
import type { SshServer } from '../../../src/mesh/ssh/ssh-server.ts';
import { logIn, serveAlpha } from '../../e2e/mesh/door.ts';
import { readOutsideJson, withOutsideVectors } from '../../lib/outside-vectors.ts';

const serve = async (loginGraceMs = 400): Promise<SshServer> => (await serveAlpha({ loginGraceMs })).server;

/** Without strictVendor: false ssh2 refuses OpenSSH's own requests by itself, and nothing of ours would be tried. */
const login = (server: SshServer): Promise<Client> => logIn(server, { strictVendor: false });

interface Ended {
  readonly code: number | null | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

function run(client: Client, command: string, env: Record<string, string> = {}): Promise<Ended> {
  return new Promise((resolve, reject) => {
    client.exec(command, { env }, (error: Error | undefined, channel: ClientChannel) => {
      if (error !== undefined) return reject(error);
      let [stdout, stderr] = ['', ''];
      channel.on('data', (data: Buffer) => (stdout += data.toString('latin1')));
      channel.stderr.on('data', (data: Buffer) => (stderr += data.toString('latin1')));
      channel.on('close', (code?: number | null) => resolve({ code, stdout, stderr }));
      channel.end('0000');
    });
  });
}

function open(client: Client, command: string): Promise<ClientChannel> {
  return new Promise((resolve, reject) => {
    client.exec(command, (error, channel) => (error === undefined ? resolve(channel) : reject(error)));
  });
}

/** The server still serves: a whole login and a command. */
async function expectAlive(server: SshServer): Promise<void> {
  const client = await login(server);
  expect(await run(client, 'memd heads')).toMatchObject({ code: 0, stdout: 'heads\n' });
  client.end();
}

interface RawCase {
  readonly id: string;
  readonly b64?: string;
  readonly build?: string;
  readonly packet_b64?: string;
}

function bytesOf(raw: RawCase): Buffer {
  if (raw.b64 !== undefined) return Buffer.from(raw.b64, 'base64');
  if (raw.packet_b64 !== undefined)
    return Buffer.concat([
      Buffer.from('SSH-2.0-x\r\n'),
      ...Array<Buffer>(2_000).fill(Buffer.from(raw.packet_b64, 'base64')),
    ]);
  return Buffer.from(`SSH-2.0-${'a'.repeat(1_048_576)}`);
}

withOutsideVectors('ssh2', (folder) => {
  const raw = readOutsideJson(folder, 'raw-preauth.json') as RawCase[];
  test(`raw bytes before login (${raw.length} cases): the socket is closed in time, the server lives`, async () => {
    const server = await serve();
    for (const item of raw) {
      const started = performance.now();
      await new Promise<void>((resolve) => {
        const socket = connect(server.port, '127.0.0.1', () => void socket.write(bytesOf(item)));
        socket.on('error', () => undefined).on('close', () => resolve());
        socket.resume();
      });
      expect(performance.now() - started, `${item.id} ends soon`).toBeLessThan(10_000);
    }
    await expectAlive(server);
    expect(process.memoryUsage().rss).toBeLessThan(600 * 1_048_576);
  }, 60_000);

  test(`the same bytes beside a watch and an offer that are open, and over a channel of ours: nobody is disturbed`, async () => {
    let heads = 'heads';
    const { server } = await serveAlpha({ loginGraceMs: 400, heads: () => heads, onServeBack: () => undefined });
    const client = await login(server);
    const watch = await open(client, 'memd watch');
    let news = '';
    watch.on('data', (data: Buffer) => (news += data.toString('latin1')));
    await open(client, 'memd serve-back');
    await Promise.all(
      raw.map(async (item) => {
        const [ours, theirs] = duplexPair();
        const ended = new Promise((resolve) => ours.once('close', resolve));
        server.serveOver(ours);
        theirs.on('error', () => undefined).resume();
        theirs.write(bytesOf(item));
        await ended;
      }),
    );
    heads = 'other heads';
    server.tell();
    await expect.poll(() => news).toBe('heads\nother heads\n');
    expect(server.connections()).toBe(1);
    expect(await run(client, 'memd heads')).toMatchObject({ code: 0, stdout: 'other heads\n' });
  }, 60_000);

  const requests = readOutsideJson(folder, 'exec-commands.json') as {
    exec_commands: { cmd: string; right: string; why: string }[];
    env_requests: { key: string; val: string; right: string }[];
    other_requests: { type: string; right: string }[];
  };

  test(`commands (${requests.exec_commands.length} cases): every one that is not ours starts nothing`, async () => {
    const server = await serve();
    let client = await login(server);
    for (const { cmd, right } of requests.exec_commands) {
      const served = parseExecRequest(cmd) !== undefined;
      if (right.startsWith('refuse:')) expect(served, `refused: ${cmd}`).toBe(false);
      if (right === 'serve repository "log"') expect(served, `served: ${cmd}`).toBe(true);
      const ended = await run(client, cmd).catch(async () => {
        client = await login(server);
        return { code: 1, stdout: '', stderr: 'memd: refused' };
      });
      expect(ended.code, `status of ${cmd}`).toBe(served ? 0 : 1);
      if (!served) expect(ended).toMatchObject({ stdout: '', stderr: expect.stringMatching(/^memd: /) as string });
    }
    await expectAlive(server);
  }, 60_000);

  test('variables: GIT_PROTOCOL with its three values only, and none other reaches the child', async () => {
    const server = await serve();
    const client = await login(server);
    for (const { key, val, right } of requests.env_requests) {
      const ended = await run(client, "git-upload-pack '/log'", { [key]: val });
      const version2 = ended.stdout.startsWith('000eversion 2\n');
      expect(version2, `${key}=${val}`).toBe(right.startsWith('accepted'));
    }
  }, 60_000);

  test.each(requests.other_requests)('$type is $right', async ({ type }) => {
    const server = await serve();
    const client = await login(server);
    await expectRefusal(type, client);
    await expectAlive(server);
  });
});

/** Asks for one thing; passes only if it is refused. */
async function expectRefusal(type: string, client: Client): Promise<void> {
  const outcome = (
    ask: (done: (error: Error | undefined, channel?: ClientChannel) => void) => unknown,
  ): Promise<Error | ClientChannel | undefined> =>
    new Promise((resolve) => void ask((error, channel) => resolve(error ?? channel)));
  const closes = async (channel: unknown): Promise<void> => {
    const code = await new Promise((resolve) => (channel as ClientChannel).on('close', resolve).resume());
    expect(code).toBe(1);
  };
  switch (type) {
    case 'shell':
      return closes(await outcome((done) => client.shell(false, done)));
    case 'subsystem sftp':
      return closes(await outcome((done) => client.subsys('sftp', done)));
    case 'pty-req':
      return void expect(await outcome((done) => client.exec('memd heads', { pty: true }, done))).toBeInstanceOf(Error);
    case 'x11-req':
      return void expect(await outcome((done) => client.exec('memd heads', { x11: true }, done))).toBeInstanceOf(Error);
    case 'direct-tcpip':
      return void expect(
        await outcome((done) => client.forwardOut('127.0.0.1', 1, '127.0.0.1', 22, done)),
      ).toBeInstanceOf(Error);
    case 'direct-streamlocal@openssh.com':
      return void expect(await outcome((done) => client.openssh_forwardOutStreamLocal('/tmp/x', done))).toBeInstanceOf(
        Error,
      );
    case 'tcpip-forward':
      return void expect(
        await outcome((done) => client.forwardIn('127.0.0.1', 0, (error) => done(error ?? undefined))),
      ).toBeInstanceOf(Error);
    case 'streamlocal-forward@openssh.com':
      return void expect(
        await outcome((done) => client.openssh_forwardInStreamLocal('/tmp/x', (error) => done(error ?? undefined))),
      ).toBeInstanceOf(Error);
    case 'session number 11 while ten run':
      return expectChannelLimit(client);
    case 'no-more-sessions@openssh.com then session':
      expect(
        await outcome((done) => client.openssh_noMoreSessions((error) => done(error ?? undefined))),
      ).toBeUndefined();
      return void expect(await outcome((done) => client.exec('memd heads', done))).toBeInstanceOf(Error);
    default:
      return expectRaw(type, client);
  }
}

async function expectChannelLimit(client: Client): Promise<void> {
  // Commands that stay: upload-pack waits for a request.
  const open = (): Promise<unknown> =>
    new Promise((resolve) => void client.exec("git-upload-pack '/log'", (error, channel) => resolve(error ?? channel)));
  const channels = [];
  for (let index = 0; index < 4; index++) channels.push(await open());
  expect(channels.some((channel) => channel instanceof Error)).toBe(false);
  expect(await open()).toBeInstanceOf(Error);
}

interface Wire {
  readonly _protocol: {
    openssh_agentForward(channel: number, wantReply: boolean): void;
    signal(channel: number, name: string): void;
    exec(channel: number, command: string, wantReply: boolean): void;
  };
}

/** Requests that ssh2 does not let a client make: sent below its interface, on a session whose command is running. */
async function expectRaw(type: string, client: Client): Promise<void> {
  const channel = await new Promise<ClientChannel & { readonly outgoing: { readonly id: number } }>(
    (resolve, reject) => {
      client.exec("git-upload-pack '/log'", (error, opened) =>
        error === undefined ? resolve(opened as never) : reject(error),
      );
    },
  );
  const wire = (client as unknown as Wire)._protocol;
  if (type === 'auth-agent-req@openssh.com') wire.openssh_agentForward(channel.outgoing.id, false);
  else if (type === 'signal') wire.signal(channel.outgoing.id, 'KILL');
  else if (type === 'second exec on one session') wire.exec(channel.outgoing.id, 'memd heads', true);
  else throw new Error(`no test for ${type}`);
  let output = '';
  channel.on('data', (data: Buffer) => (output += data.toString('latin1')));
  channel.end('0000');
  await new Promise((resolve) => channel.on('close', resolve));
  expect(output).not.toContain('heads\n');
}
