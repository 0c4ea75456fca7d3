/**
 * A network of its own for the hosts of a drill, with a link between any two of them that can be cut: packets are then lost
 * without a word, as when a cable is pulled. Network namespaces where this process may make them; else proxies on loopback.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { DrillContext } from './drill.ts';
import { killProcess } from './process.ts';

/** Where one host lives. */
export interface Place {
  /** Words before every command of this host. */
  readonly within: readonly string[];
  /** ADDRESS:PORT; undefined takes any free port of loopback. */
  readonly listen: string | undefined;
  /** What others are told of it; '' for a host that cannot be dialled. */
  readonly told: string;
  readonly environment: Readonly<Record<string, string>>;
}

export interface DrillNetwork {
  /** For the evidence. */
  readonly kind: string;
  place(host: string): Place;
  /** The URL at which one host reaches another. */
  urlOf(from: string, to: string): string;
  /** Told of the port that a host took on loopback. */
  listens(host: string, port: number): void;
  cut(a: string, b: string): void;
  heal(a: string, b: string): void;
  /** Gives a host another address, as DHCP does; undefined where hosts have none of their own. @returns its new URL. */
  readonly move: ((host: string) => string) | undefined;
}

export interface NetworkOptions {
  readonly hosts: readonly string[];
  /** Hosts that can dial and cannot be dialled. */
  readonly behindNat?: readonly string[];
  /** Folder of this drill. */
  readonly folder: string;
}

/** Everything of it is gone when the drill ends. `--proxies` takes no namespaces. */
export function openNetwork(context: DrillContext, options: NetworkOptions): Promise<DrillNetwork> {
  return !context.options.has('proxies') && canMakeNamespaces()
    ? Promise.resolve(namespaces(context, options))
    : proxies(context, options);
}

const port = 7_422;
const prefix = 'memd-drill';

function ip(...words: readonly string[]): string {
  return execFileSync('ip', [...words], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], timeout: 20_000 });
}

function canMakeNamespaces(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  const name = `${prefix}-${process.pid}-try`;
  try {
    ip('netns', 'add', name);
    ip('-n', name, 'link', 'add', 'b0', 'type', 'bridge');
    ip('-n', name, 'link', 'add', 'v0', 'type', 'veth', 'peer', 'name', 'v1');
    return true;
  } catch {
    return false;
  } finally {
    removeNamespace(name);
  }
}

/** With whatever of the drill still runs in it. */
function removeNamespace(name: string): void {
  try {
    for (const pid of ip('netns', 'pids', name).split('\n').filter(Boolean)) killProcess(Number(pid));
    ip('netns', 'del', name);
  } catch {
    // It was never made.
  }
}

/** A drill that was killed could not clean up: what it left is removed by the next. */
function sweep(): void {
  for (const line of ip('netns', 'list').split('\n')) {
    const [, name, pid] = new RegExp(`^(${prefix}-(\\d+)-\\S+)`).exec(line) ?? [];
    if (name !== undefined && !isAlive(Number(pid))) removeNamespace(name);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function namespaces(context: DrillContext, { hosts, behindNat = [] }: NetworkOptions): DrillNetwork {
  sweep();
  const nameOf = (host: string): string => `${prefix}-${process.pid}-${host}`;
  const hub = nameOf('.hub');
  const made = [hub, ...hosts.map(nameOf)];
  const remove = (): void => made.forEach(removeNamespace);
  context.onCleanup(remove);
  const moved = new Set<string>();
  const addressOf = (host: string): string => `10.77.0.${hosts.indexOf(host) + (moved.has(host) ? 101 : 1)}`;
  for (const name of made) ip('netns', 'add', name);
  for (const host of hosts) {
    ip('-n', nameOf(host), 'link', 'set', 'lo', 'up');
    ip('-n', nameOf(host), 'address', 'add', `${addressOf(host)}/32`, 'dev', 'lo');
  }
  const bridgeOf = (a: string, b: string): string =>
    `b${[hosts.indexOf(a), hosts.indexOf(b)].toSorted((one, other) => one - other).join('-')}`;
  for (const [index, a] of hosts.entries())
    for (const b of hosts.slice(index + 1)) linkPair({ hub, bridge: bridgeOf(a, b), ends: [a, b], nameOf, addressOf });
  return {
    kind: 'network namespaces',
    place: (host) => ({
      within: ['ip', 'netns', 'exec', nameOf(host)],
      listen: `${behindNat.includes(host) ? '127.0.0.1' : '[::]'}:${port}`,
      told: behindNat.includes(host) ? '' : `ssh://${addressOf(host)}:${port}`,
      environment: {},
    }),
    urlOf: (_from, to) => `ssh://${addressOf(to)}:${port}`,
    listens: () => undefined,
    cut: (a, b) => void ip('-n', hub, 'link', 'set', bridgeOf(a, b), 'down'),
    heal: (a, b) => void ip('-n', hub, 'link', 'set', bridgeOf(a, b), 'up'),
    move(host) {
      const [before, others] = [addressOf(host), hosts.filter((other) => other !== host)];
      moved.add(host);
      ip('-n', nameOf(host), 'address', 'add', `${addressOf(host)}/32`, 'dev', 'lo');
      for (const other of others) {
        const device = `v${bridgeOf(host, other).slice(1)}`;
        const there = [`${addressOf(other)}/32`, 'dev', device, 'src', addressOf(host)];
        ip('-n', nameOf(host), 'route', 'replace', ...there);
        ip('-n', nameOf(other), 'route', 'del', `${before}/32`);
        ip('-n', nameOf(other), 'route', 'add', `${addressOf(host)}/32`, 'dev', device, 'src', addressOf(other));
      }
      ip('-n', nameOf(host), 'address', 'del', `${before}/32`, 'dev', 'lo');
      return `ssh://${addressOf(host)}:${port}`;
    },
  };
}

/** Two cables into one switch of their own: with the switch off, both ends still have their link and their route. */
function linkPair(pair: {
  readonly hub: string;
  readonly bridge: string;
  readonly ends: readonly [string, string];
  readonly nameOf: (host: string) => string;
  readonly addressOf: (host: string) => string;
}): void {
  const { hub, bridge, ends, nameOf, addressOf } = pair;
  ip('-n', hub, 'link', 'add', bridge, 'type', 'bridge');
  ip('-n', hub, 'link', 'set', bridge, 'up');
  for (const [index, host] of ends.entries()) {
    const other = ends[1 - index] ?? '';
    const [inside, outside] = [`v${bridge.slice(1)}`, `s${bridge.slice(1)}-${index}`];
    ip('-n', hub, 'link', 'add', outside, 'type', 'veth', 'peer', 'name', inside, 'netns', nameOf(host));
    ip('-n', hub, 'link', 'set', outside, 'master', bridge, 'up');
    ip('-n', nameOf(host), 'link', 'set', inside, 'up');
    const route = [`${addressOf(other)}/32`, 'dev', inside, 'src', addressOf(host)];
    ip('-n', nameOf(host), 'route', 'add', ...route);
  }
}

interface Wire {
  readonly server: Server;
  readonly sockets: Set<Socket>;
  cut: boolean;
}

/** Every host dials every other through a proxy of its own; no host tells an address by which that could be gone around. */
async function proxies(context: DrillContext, options: NetworkOptions): Promise<DrillNetwork> {
  const { hosts, behindNat = [], folder } = options;
  const ports = new Map<string, number>();
  const wires = new Map<string, Wire>();
  const key = (from: string, to: string): string => `${from} ${to}`;
  for (const from of hosts)
    for (const to of hosts)
      if (from !== to && !behindNat.includes(to)) wires.set(key(from, to), await openWire(() => ports.get(to) ?? 1));
  context.onCleanup(() => {
    for (const { server, sockets } of wires.values()) {
      server.close();
      sockets.forEach((socket) => socket.destroy());
    }
  });
  const urlOf = (from: string, to: string): string => {
    const address = wires.get(key(from, to))?.server.address();
    return `ssh://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 1}`;
  };
  const setCut = (a: string, b: string, cut: boolean): void => {
    for (const wire of [wires.get(key(a, b)), wires.get(key(b, a))]) {
      if (wire === undefined) continue;
      wire.cut = cut;
      for (const socket of wire.sockets) {
        if (cut) socket.pause();
        else socket.resume();
      }
    }
  };
  return {
    kind: 'proxies on loopback',
    place(host) {
      const config = join(folder, `config-${host}`);
      mkdirSync(join(config, 'memd'), { recursive: true });
      const peers = hosts.filter((other) => wires.has(key(host, other)));
      const lines = peers.map((other) => `${other} = "${urlOf(host, other)}"\n`);
      writeFileSync(join(config, 'memd', 'config.toml'), `[peers]\n${lines.join('')}`);
      return { within: [], listen: undefined, told: '', environment: { XDG_CONFIG_HOME: config } };
    },
    urlOf,
    listens: (host, found) => void ports.set(host, found),
    cut: (a, b) => setCut(a, b, true),
    heal: (a, b) => setCut(a, b, false),
    move: undefined,
  };
}

async function openWire(target: () => number): Promise<Wire> {
  const wire: Wire = { server: createServer(), sockets: new Set(), cut: false };
  wire.server.on('connection', (near) => {
    const far = connect(target(), '127.0.0.1');
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      wire.sockets.add(socket);
      if (wire.cut) socket.pause();
      socket.on('data', (chunk: Buffer) => void other.write(chunk));
      if (wire.cut) socket.pause();
      socket.on('error', () => undefined);
      socket.on('close', () => {
        wire.sockets.delete(socket);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => wire.server.listen(0, '127.0.0.1', () => resolve()));
  return wire;
}
