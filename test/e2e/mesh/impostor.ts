/** A hand-made ssh server with the key of a host of the test mesh, and a wire between two ends that can fall silent. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import ssh2, { type ServerChannel } from 'ssh2';
import { onTestFinished } from 'vitest';
import { ed25519PrivatePem } from '../../../src/crypto/ssh-key.ts';
import type { Heads } from '../../../src/core/sync/peer.ts';
import { printHeads } from '../../../src/mesh/heads.ts';
import { testKey } from '../../lib/trust-ops.ts';
import { hostKeys, meshId, type TestNode } from './node.ts';

export interface Impostor {
  readonly url: string;
  /** Commands that were asked for, in their order. */
  readonly commands: string[];
}

/** Lets everybody in, and answers each command by `answer`. Ends with the test. */
export async function serveAs(
  host: string,
  answer: (command: string, channel: ServerChannel) => void,
): Promise<Impostor> {
  const commands: string[] = [];
  const hostKey = ed25519PrivatePem(testKey((hostKeys[host] ?? 0) + 1_000).seed, host);
  const server = new ssh2.Server({ hostKeys: [hostKey] }, (connection) => {
    connection.on('error', () => undefined);
    onTestFinished(() => void connection.end());
    connection.on('authentication', (context) => context.accept());
    connection.on('session', (accept) => {
      const session = accept();
      session.on('env', (take) => (take as (() => void) | undefined)?.());
      session.on('exec', (take, _refuse, { command }) => {
        commands.push(command);
        const channel = take();
        channel.on('error', () => undefined).resume();
        answer(command, channel);
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  onTestFinished(() => void server.close());
  return { url: `ssh://127.0.0.1:${(server.address() as AddressInfo).port}`, commands };
}

/** Heads that agree with what a node holds of the trust set, so that nothing of it is fetched. */
export function headsFor(node: TestNode, host: string, more: Partial<Heads> = {}): string {
  const trust = { ...node.mesh.trust(), oid: '1'.repeat(40) };
  return `${printHeads({ mesh: meshId, host, heads: {}, trust, addresses: {}, version: 'x', ...more })}\n`;
}

/** A whole answer. */
export function say(channel: ServerChannel, text: string): void {
  channel.write(text);
  channel.exit(0);
  channel.end();
}

export interface Wire {
  readonly url: string;
  /** Connections that are open now are dead for ever, and nobody is told; new ones go through. */
  silence(): void;
}

/** A wire to a port. Ends with the test. */
export async function wireTo(port: number): Promise<Wire> {
  const sockets = new Set<Socket>();
  const dead = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    const pass = (from: Socket, to: Socket): void => {
      sockets.add(from);
      from.on('data', (chunk: Buffer) => void (dead.has(from) || to.write(chunk)));
      from.on('error', () => undefined);
      from.on('close', () => {
        sockets.delete(from);
        if (!dead.has(from)) to.destroy();
      });
    };
    pass(near, far);
    pass(far, near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  onTestFinished(() => {
    server.close();
    sockets.forEach((socket) => socket.destroy());
  });
  const silence = (): void => sockets.forEach((socket) => dead.add(socket));
  return { url: `ssh://127.0.0.1:${(server.address() as AddressInfo).port}`, silence };
}

/** A port where somebody accepts and never says a word. Ends with the test. */
export async function silentUrl(): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  onTestFinished(() => {
    server.close();
    sockets.forEach((socket) => socket.destroy());
  });
  return `ssh://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
