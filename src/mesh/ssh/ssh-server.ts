/**
 * The embedded ssh server. Sockets are accepted here and handed to ssh2, so that limits, the login timer and TCP_NODELAY
 * hold from the first byte: ssh2 itself reports a connection only after the client's greeting, and times nothing out.
 */
import { randomInt } from 'node:crypto';
import { createServer, isIPv6, type Server as NetServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import ssh2, { type Connection } from 'ssh2';
import {
  meshCloseGraceMs,
  socketBacklogBytesMax,
  sshConnectionsMax,
  sshConnectionsPerAddressMax,
  sshConnectionsPerHostMax,
  sshLoginGraceMs,
} from '../../core/limits.ts';
import type { CharterHost } from '../../core/trust/charter.ts';
import { printable, systemCode } from '../../store/errors.ts';
import type { ObjectGate } from '../object-gate.ts';
import { createPace, type Pace } from '../serve/pace.ts';
import type { ServedPack } from '../serve/serve-pack.ts';
import { handleLogin, refusalOf, type CharterHosts, type FormerHost } from './ssh-login.ts';
import { listenUpward, type ListenPlace } from './ssh-listen.ts';
import { handleSessions } from './ssh-sessions.ts';
import { keepaliveIntervalMs, keepaliveMissesMax, sshAlgorithms, sshIdent } from './ssh-settings.ts';
import { createWatchers, type Watchers } from '../serve/watch-serve.ts';

/** Something that an operator may want to see; strangers cause these, so count and limit them before logging. */
export interface ServerNote {
  readonly code:
    | 'TOO_MANY_CONNECTIONS'
    | 'LOGIN_TIMEOUT'
    | 'LOGIN_REFUSED'
    | 'CONNECTION_ERROR'
    | 'UPLOAD_PACK'
    | 'HEADS';
  readonly address: string;
  /** Host name, once logged in. */
  readonly host?: string;
  /** Printable. */
  readonly detail: string;
}

export interface SshServerOptions {
  /** OpenSSH private key text: keys/ssh_ed25519. */
  readonly hostKey: string;
  /** Bare repository served as '/log'. */
  readonly repositoryDir: string;
  /** Port 0: any free one. A taken port is probed upward. Address '::' falls back to 0.0.0.0 where there is no IPv6. null: nowhere. */
  readonly listen: ListenPlace | null;
  readonly charterHosts: CharterHosts;
  /** Whose key one was before a rekey: whoever has it is told. */
  readonly formerHost?: FormerHost;
  /** The `memd heads` answer, without newline. */
  readonly heads: () => string;
  /** What of it is announced to those who watch; all of it if not given. */
  readonly news?: () => string;
  readonly onNote?: (note: ServerNote) => void;
  /** Told that a host of the charter has logged in, and from which address; from none when it did not come by a socket of ours. */
  readonly onLogin?: (host: string, address: string | undefined) => void;
  /** Takes a channel over which a host that dialled us wants to be asked. Without it, none is taken. */
  readonly onServeBack?: (host: string, channel: Duplex) => void;
  /** While it is closed no pack is served: objects are being dropped. */
  readonly gate?: ObjectGate;
  /** Draws one of so many, from 0, for tests; at random if not given. */
  readonly lot?: (count: number) => number;
  /** Login timer, for tests; default 10 s. */
  readonly loginGraceMs?: number;
  /** How long a connection may have no session, and a session no command, for tests; default 5 min and 10 s. */
  readonly idleMs?: number;
  readonly sessionGraceMs?: number;
  /** Between two keepalives, for tests; default 15 s. */
  readonly keepaliveMs?: number;
}

export interface SshServer {
  readonly address: string;
  readonly port: number;
  /** Connections now, logged in or not. */
  connections(): number;
  /** Peers that watch now. */
  watchers(): number;
  /** Tells those who watch, if the heads say something else than they were told. */
  tell(): void;
  /** Ends the connections of hosts that the charter, as it is now, no longer lets in. */
  expel(): void;
  /** Serves whoever speaks over a channel that this host opened at a peer, as over a socket: login, limits and all. */
  serveOver(channel: Duplex): void;
  /** The same for a stream that came through a plain sshd; `from` is whoever that sshd let in. */
  servePiped(stream: Duplex, from: string): void;
  /** Stops listening, ends children and connections; resolves within about a second whatever the peers do. */
  close(): Promise<void>;
}

interface Guest {
  /** In `Door.guests`. */
  readonly key: string;
  readonly socket: Duplex;
  readonly address: string;
  /** By a socket, over a channel to a peer that we dialled, or through a plain sshd. */
  readonly way: 'socket' | 'channel' | 'pipe';
  timer: NodeJS.Timeout | undefined;
  connection?: Connection;
  host?: CharterHost;
  /** Logged in with the key of a host that was revoked: the login timer ends it, and until then it is told why. */
  revoked?: CharterHost;
}

interface Door {
  readonly options: SshServerOptions;
  /** By remote address and port: how ssh2's connection finds its socket. */
  readonly guests: Map<string, Guest>;
  /** By host, the network that it last logged in from. */
  readonly places: Map<string, string>;
  readonly children: Set<ServedPack>;
  readonly watchers: Watchers;
  readonly pace: Pace;
}

/**
 * Listens and serves until closed.
 * Errors: `LISTEN_FAILED` (no free port in reach, address not ours, no permission).
 */
export async function startSshServer(options: SshServerOptions): Promise<SshServer> {
  const onFault = (error: unknown): void =>
    options.onNote?.({ code: 'HEADS', address: '', detail: printable(String(error)) });
  const watchers = createWatchers(options.heads, onFault, options.news);
  const door: Door = {
    options,
    guests: new Map(),
    places: new Map(),
    children: new Set(),
    watchers,
    pace: createPace(),
  };
  const ssh = new ssh2.Server(
    {
      hostKeys: [options.hostKey],
      algorithms: sshAlgorithms,
      ident: sshIdent,
      keepaliveInterval: options.keepaliveMs ?? keepaliveIntervalMs,
      keepaliveCountMax: keepaliveMissesMax,
    },
    (connection, info) => greet(door, connection, guestKey(info.ip, info.port)),
  );
  const listener = createServer({ noDelay: true }, (socket) => {
    if (admitSocket(door, socket)) ssh.injectSocket(socket);
  });
  let channels = 0;
  const serveStream = (stream: Duplex, address: string, way: 'channel' | 'pipe'): void => {
    const port = (channels += 1);
    // How ssh2's connection finds its guest. A socket has such members already, that can only be read.
    Object.defineProperties(stream, { remoteAddress: { value: address }, remotePort: { value: port } });
    if (way === 'pipe' && !makeRoom(door, address)) return void stream.destroy();
    admit(door, stream, { address, port, way });
    ssh.injectSocket(stream as unknown as Socket);
  };
  const { address, port } = options.listen === null ? nowhere : await listenUpward(listener, options.listen);
  const forget = [options.gate?.onClose(() => stopPacks(door)), options.gate?.onOpen(() => watchers.repeat())];
  const close = (): Promise<void> => {
    for (const each of forget) each?.();
    return closeDoor(door, listener);
  };
  return {
    address,
    port,
    connections: () => door.guests.size,
    expel: () => expel(door),
    watchers: () => watchers.size(),
    tell: () => watchers.tell(),
    serveOver: (channel) => serveStream(channel, innerAddress, 'channel'),
    servePiped: (stream, from) => serveStream(stream, `sshd ${from}`, 'pipe'),
    close,
  };
}

function guestKey(address: string | undefined, port: number | undefined): string {
  return `${address} ${port}`;
}

function note(door: Door, guest: Pick<Guest, 'address' | 'host'>, code: ServerNote['code'], detail: string): void {
  const host = guest.host === undefined ? {} : { host: guest.host.name };
  door.options.onNote?.({ code, address: guest.address, detail: printable(detail), ...host });
}

/** Where a guest comes from that came over a channel. No address of a socket looks like that. */
const innerAddress = 'serve-back';
const nowhere = { address: '', port: 0 };

/** First contact: limits before anything is computed for a stranger. @returns false for a socket that was destroyed. */
function admitSocket(door: Door, socket: Socket): boolean {
  socket.on('error', () => undefined);
  const { remoteAddress: address, remotePort: port } = socket;
  if (address === undefined || port === undefined) {
    // Gone before it was looked at.
    socket.destroy();
    return false;
  }
  if (!makeRoom(door, address)) {
    socket.destroy();
    return false;
  }
  admit(door, socket, { address, port, way: 'socket' });
  return true;
}

/**
 * Whether somebody more is let in from there. Too many from one place: no. Too many in all: one of them, drawn by lot, has to
 * go, so that whoever holds connections open keeps nobody out; to have every newcomer drawn, a flood has to bring dozens more
 * within the time of one login. A place that a host logged in from is neither counted nor drawn.
 */
function makeRoom(door: Door, address: string): boolean {
  const strangers = [...door.guests.values()].filter(({ host, way }) => host === undefined && way !== 'channel');
  const place = networkOf(address);
  if (strangers.filter((guest) => networkOf(guest.address) === place).length >= sshConnectionsPerAddressMax) {
    note(door, { address }, 'TOO_MANY_CONNECTIONS', 'too many connections from there that have not logged in');
    return false;
  }
  const known = new Set(door.places.values());
  const drawn = strangers.filter((guest) => !known.has(networkOf(guest.address)));
  if (known.has(place) || drawn.length < sshConnectionsMax) return true;
  const one = drawn[(door.options.lot ?? randomInt)(drawn.length)];
  if (one === undefined) return false;
  note(door, one, 'TOO_MANY_CONNECTIONS', 'ended to make room: too many connections that have not logged in');
  dismiss(door, one);
  return true;
}

/** Its place is free at once; that the socket has closed is told later. */
function dismiss(door: Door, guest: Guest): void {
  door.guests.delete(guest.key);
  guest.socket.destroy();
}

/** Whoever has one IPv6 address has the whole /64, as a rule: it counts as one place. Pure. */
function networkOf(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address;
  const [head = '', tail] = address.split('::');
  const [left, right] = [head, tail ?? ''].map((part) => (part === '' ? [] : part.split(':')));
  const gap = tail === undefined ? 0 : 8 - (left?.length ?? 0) - (right?.length ?? 0);
  return [...(left ?? []), ...Array<string>(Math.max(0, gap)).fill('0'), ...(right ?? [])].slice(0, 4).join(':');
}

function admit(
  door: Door,
  socket: Duplex,
  from: { readonly address: string; readonly port: number; readonly way: Guest['way'] },
): void {
  const key = guestKey(from.address, from.port);
  const guest: Guest = { key, socket, address: from.address, way: from.way, timer: undefined };
  guest.timer = setTimeout(() => {
    note(door, guest, 'LOGIN_TIMEOUT', 'not logged in in time');
    socket.destroy();
  }, door.options.loginGraceMs ?? sshLoginGraceMs);
  door.guests.set(key, guest);
  socket.once('close', () => {
    clearTimeout(guest.timer);
    // Its port may be somebody else's by now.
    if (door.guests.get(key) === guest) door.guests.delete(key);
  });
  // ssh2 answers every packet at once and heeds no backlog: a peer that asks and never reads must not fill our memory.
  socket.on('data', () => {
    if (guest.host === undefined && socket.writableLength > socketBacklogBytesMax) socket.destroy();
    if (socket.writableLength > 8 * socketBacklogBytesMax) socket.destroy();
  });
}

/** The client has sent its greeting. */
function greet(door: Door, connection: Connection, key: string): void {
  const guest = door.guests.get(key);
  // Before anything else: without a listener a malformed packet of a stranger ends the whole process.
  connection.on('error', (error: Error) => {
    if (guest !== undefined && !isGone(error)) note(door, guest, 'CONNECTION_ERROR', error.message);
  });
  if (guest === undefined) return void connection.end();
  guest.connection = connection;
  handleLogin(connection, door.options.charterHosts, {
    formerHost: door.options.formerHost,
    onLogin: (host) => {
      logIn(door, guest, host);
      door.options.onLogin?.(host.name, guest.way === 'socket' ? guest.address : undefined);
    },
    onRevoked: (host) => {
      guest.revoked = host;
      const why = host.status === 'revoked' ? 'was revoked' : 'has other keys now';
      note(door, guest, 'LOGIN_REFUSED', `host ${host.name} ${why}`);
    },
    onRefused: (detail) => note(door, guest, 'LOGIN_REFUSED', detail),
  });
  connection.on('ready', () => {
    const host = guest.host ?? guest.revoked;
    if (host === undefined) return void connection.end();
    const { repositoryDir, heads, idleMs, sessionGraceMs, onServeBack } = door.options;
    handleSessions({
      host: host.name,
      connection,
      socket: guest.socket,
      repositoryDir,
      heads,
      watchers: door.watchers,
      idleMs,
      sessionGraceMs,
      // Who came over such a channel can be asked over the connection beneath it.
      onServeBack:
        guest.way === 'channel' || onServeBack === undefined ? undefined : (channel) => onServeBack(host.name, channel),
      refusal: () => refusalOf(door.options.charterHosts(), host),
      children: door.children,
      pace: door.pace,
      gate: door.options.gate,
      onNote: (code, detail) => note(door, guest, code, detail),
    });
  });
}

/** The other end went away, as every command that is done does, and a reset says no more than that. */
function isGone(error: Error): boolean {
  return ['ECONNRESET', 'EPIPE'].includes(systemCode(error));
}

function expel({ guests, options, places }: Door): void {
  const hosts = options.charterHosts();
  for (const name of places.keys()) if (hosts.get(name)?.status !== 'active') places.delete(name);
  for (const { host, socket } of guests.values())
    if (host !== undefined && refusalOf(hosts, host) !== undefined) socket.destroy();
}

function logIn(door: Door, guest: Guest, host: CharterHost): void {
  clearTimeout(guest.timer);
  const same = [...door.guests.values()].filter((other) => other.host?.name === host.name);
  // The oldest is most likely dead: a peer keeps one connection and leaves the others when it restarts.
  if (same.length >= sshConnectionsPerHostMax) same[0]?.socket.destroy();
  guest.host = host;
  if (guest.way !== 'channel') door.places.set(host.name, networkOf(guest.address));
}

/** A peer whose fetch is cut asks again. */
async function stopPacks({ children }: Door): Promise<void> {
  for (const child of children) child.stop();
  await Promise.all(Array.from(children, ({ done }) => done));
}

async function closeDoor(door: Door, listener: NetServer): Promise<void> {
  door.watchers.close();
  const gone = [...door.guests.values()].map(
    ({ socket }) => new Promise<void>((resolve) => socket.once('close', resolve)),
  );
  // Where it never listened, closing says so and is done.
  const stopped = new Promise<void>((resolve) => listener.close(() => resolve()));
  const packs = stopPacks(door);
  for (const guest of door.guests.values()) {
    if (guest.connection === undefined) guest.socket.destroy();
    else guest.connection.end();
  }
  const force = setTimeout(() => {
    for (const guest of door.guests.values()) guest.socket.destroy();
  }, meshCloseGraceMs);
  await Promise.all([stopped, ...gone]);
  clearTimeout(force);
  await packs;
}
