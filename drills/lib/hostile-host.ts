/** An enrolled host whose owner is an enemy: it has its keys, and answers and asks what it likes. Real ssh, no memd. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ssh2, { type Client, type ClientChannel, type ServerChannel } from 'ssh2';
import { dataPacket } from '../../src/mesh/fetch/pkt-line.ts';
import { printHeads, type HeadsTip } from '../../src/mesh/heads.ts';
import { enrol, type TestHost } from './hosts.ts';
import type { DrillProcess } from './process.ts';

/** What it does with a channel on which one command was asked for. */
export type Answer = (channel: ServerChannel) => void;

export interface HostileHost {
  /** What it says it holds of its own log, and of those of others. */
  claim(heads: Readonly<Record<string, HeadsTip>>): void;
  /** Other answers to `memd heads`, `memd watch` and `git-upload-pack`; undefined: as a sound host would. */
  readonly answers: { heads?: Answer | undefined; watch?: Answer | undefined; pack?: Answer | undefined };
  /** Says to all who watch it what it claims now. */
  tell(): void;
  /** Logs in at another host with its real key. */
  logIn(at: TestHost): Promise<Client>;
  close(): Promise<void>;
}

/** A mesh in which gamma is an enemy and runs no memd; the other two run theirs, and beta has fetched from alpha. */
export async function formHostileMesh(lay: (host: string) => Promise<TestHost>): Promise<{
  readonly alpha: TestHost;
  readonly beta: TestHost;
  readonly gamma: TestHost;
  readonly memd: DrillProcess;
  readonly enemy: HostileHost;
}> {
  const [alpha, beta, gamma] = [await lay('alpha'), await lay('beta'), await lay('gamma')];
  const { mesh } = await alpha.json<{ mesh: string }>('init', '--host', 'alpha', '--listen', alpha.address);
  const memd = await alpha.start();
  await enrol(alpha, beta, mesh);
  await beta.start();
  await enrol(alpha, gamma, mesh);
  await beta.ctl('fetch', 'alpha');
  const { trust } = await alpha.json<{ trust: string }>('status');
  return { alpha, beta, gamma, memd, enemy: await beHostile(gamma, { mesh, trust }) };
}

/** Listens at the address of a host that was enrolled and never started. `mesh` and `trust` as the mesh has them. */
async function beHostile(host: TestHost, known: { mesh: string; trust: string }): Promise<HostileHost> {
  const key = readFileSync(join(host.home, 'keys', 'ssh_ed25519'), 'utf8');
  let heads: Readonly<Record<string, HeadsTip>> = {};
  const answers: HostileHost['answers'] = {};
  const watchers = new Set<ServerChannel>();
  const line = (): string =>
    `${printHeads({
      mesh: known.mesh,
      host: host.name,
      heads,
      trust: { oid: '2'.repeat(40), hash: known.trust },
      addresses: {},
      version: 'hostile',
    })}\n`;
  const usual = (command: string): Answer | undefined => {
    if (command === 'memd heads') return answers.heads ?? ((channel) => (channel.write(line()), end(channel)));
    if (command === 'memd watch') return answers.watch ?? ((channel) => void watchers.add(channel));
    return command === 'memd serve-back' ? undefined : answers.pack;
  };
  const server = new ssh2.Server({ hostKeys: [key] }, (client) => {
    (client as unknown as { setNoDelay(on: boolean): void }).setNoDelay(true);
    client.on('error', () => undefined).on('authentication', (context) => context.accept());
    client.on('session', (accept) => {
      const session = accept();
      session.on('env', (accepted) => (accepted as (() => void) | undefined)?.());
      session.on('exec', (accepted, _reject, { command }) => {
        const channel = accepted();
        channel.on('error', () => undefined).resume();
        const answer = usual(command);
        if (answer === undefined) end(channel, 1);
        else answer(channel);
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(host.port, '127.0.0.1', resolve));
  const clients: Client[] = [];
  return {
    answers,
    claim: (tips) => (heads = tips),
    tell() {
      for (const channel of watchers) channel.write(line());
    },
    async logIn(at) {
      const client = await logInAt(at, key);
      clients.push(client);
      return client;
    },
    close: () => {
      for (const client of clients) client.destroy();
      return new Promise((resolve) => {
        server.close(() => resolve());
        // Connections that are open keep it from closing; whoever holds them is about to be ended.
        resolve();
      });
    },
  };
}

function logInAt({ port }: TestHost, privateKey: string): Promise<Client> {
  const client = new ssh2.Client();
  return new Promise((resolve, reject) => {
    client.on('ready', () => resolve(client)).on('error', reject);
    client.connect({ host: '127.0.0.1', port, username: 'memd', privateKey });
  });
}

/** A command at another host, whose answer nobody reads. `onExit`: told how it ended. */
export function exec(
  client: Client,
  command: string,
  onExit: (code: number | null) => void = () => undefined,
): Promise<ClientChannel> {
  return new Promise((resolve, reject) => {
    client.exec(command, { env: { GIT_PROTOCOL: 'version=2' } }, (error, channel) =>
      error === undefined ? resolve(channel.on('error', () => undefined).on('exit', onExit)) : reject(error),
    );
  });
}

function end(channel: ServerChannel, status = 0): void {
  channel.exit(status);
  channel.end();
}

/** These bytes, whatever was asked. */
export function saying(bytes: Uint8Array): Answer {
  return (channel) => {
    channel.write(bytes);
    end(channel);
  };
}

/** Nothing at all, for as long as the other side waits. */
export const silent: Answer = () => undefined;

/** A byte of these, again and again, and each time slowly. */
export function trickling(bytes: Uint8Array, everyMs: number): Answer {
  return (channel) => {
    let at = 0;
    const timer = setInterval(
      () => channel.write(Buffer.from(bytes.subarray(at % bytes.length, (at++ % bytes.length) + 1))),
      everyMs,
    );
    channel.once('close', () => clearInterval(timer));
  };
}

const greeting = Buffer.concat([
  dataPacket('version 2\n'),
  dataPacket('fetch=shallow\n'),
  Buffer.from('0000'),
  dataPacket('packfile\n'),
]);
const bandBytesMax = 60_000;

function banded(bytes: Uint8Array): Buffer {
  const packets: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += bandBytesMax) {
    const part = bytes.subarray(at, at + bandBytesMax);
    packets.push(Buffer.from((part.length + 5).toString(16).padStart(4, '0')), Uint8Array.of(1), part);
  }
  return Buffer.concat(packets);
}

/** A lawful answer around any pack. */
export function packing(pack: Uint8Array): Answer {
  return streaming(() => [banded(pack), Buffer.from('0000')][Symbol.iterator](), false);
}

/** A lawful answer that begins, with pack data that goes on as long as somebody takes it. */
export function packingWithoutEnd(parts: () => Iterator<Uint8Array>): Answer {
  return streaming(parts, true);
}

function streaming(parts: () => Iterator<Uint8Array>, wrap: boolean): Answer {
  return (channel) => {
    const rest = parts();
    let over = false;
    channel.once('close', () => (over = true));
    channel.write(greeting);
    const go = (): void => {
      for (;;) {
        if (over) return;
        const part = rest.next();
        if (part.done === true) return end(channel);
        if (!channel.write(wrap ? banded(part.value) : part.value)) return void channel.once('drain', go);
      }
    };
    go();
  };
}

/** Stock git over a folder that holds whatever it holds. */
export function serving(repository: string): Answer {
  return (channel) => {
    const env = { PATH: process.env['PATH'] ?? '', GIT_PROTOCOL: 'version=2', GIT_CONFIG_GLOBAL: '/dev/null' };
    const child = spawn('git', ['-c', 'safe.directory=*', 'upload-pack', '--strict', repository], { env });
    channel.pipe(child.stdin).on('error', () => undefined);
    child.stdout.on('data', (chunk: Buffer) => channel.write(chunk));
    child.on('close', (code) => end(channel, code ?? 1));
    channel.once('close', () => child.kill());
  };
}
