/** The ssh server of a running daemon, and where it listens: it moves when the charter says that it should. */
import { parsePeerAddress } from '../../mesh/ssh/address.ts';
import { peersOf } from '../../mesh/node.ts';
import { startSshServer, type SshServer } from '../../mesh/ssh/ssh-server.ts';
import { isOperatingError, OperatingError, printable } from '../../store/errors.ts';
import type { Engine } from '../engine.ts';
import { headsLine } from './heads-line.ts';
import { chooseListen, defaultPort, printListen, sameListen, type ListenAddress } from '../enrol/listen-address.ts';
import { askBack, meetPeer } from './sync-cycle.ts';
import { formerHost } from './former-keys.ts';
import { createNoteLog, type NoteLog } from './ssh-notes.ts';

export interface SshListener {
  /** ADDRESS:PORT as it is now. */
  readonly listening: () => string;
  /**
   * Listens where the charter, as it is now, says. Does nothing when that is where it listens. When it cannot, it goes on
   * at the address before, and status says so until it can.
   */
  readonly follow: () => Promise<void>;
  /** Tries again when it listens nowhere; else does nothing. */
  readonly retry: () => Promise<void>;
  /** Tells those who watch, if this host holds something else than they were told. */
  readonly tell: () => void;
  /** Ends the connections of hosts that the charter, as it is now, no longer lets in. */
  readonly expel: () => void;
  /** Listens anew, with the keys of this host as they are now. Ends every connection. */
  readonly reopen: () => Promise<void>;
  /** What serves whoever speaks over a stream that came through a plain sshd, from that address; undefined while nobody is served. */
  readonly piped: () => SshServer['servePiped'] | undefined;
  readonly close: () => Promise<void>;
}

/** `asked`: ADDRESS:PORT that a person decided on; null lets the number of hosts decide. */
export async function openSshListener(engine: Engine, asked: string | null): Promise<SshListener> {
  const notes = createNoteLog((note) => engine.log?.warn(note, 'ssh'));
  let server: SshServer | undefined;
  const listener = await openMovable({
    choose: () => chooseListen(asked, 1 + peersOf(engine.charter(), engine.identity.host).length),
    open: async (listen) => (server = await open(engine, listen, notes)),
    onMoved: (listen) => engine.log?.info({ listen }, 'listens where a mesh of several hosts needs it'),
    onFault: (fault) => engine.listenFault(fault),
  });
  return {
    ...listener,
    tell: () => server?.tell(),
    expel: () => server?.expel(),
    piped() {
      const now = server;
      return now && ((stream, from) => now.servePiped(stream, from));
    },
    async close() {
      engine.peers.serveWith(undefined);
      await listener.close();
      notes.close();
    },
  };
}

export interface MovableOptions {
  /** Where to listen, as of now. */
  readonly choose: () => ListenAddress;
  readonly open: (listen: ListenAddress) => Promise<Pick<SshServer, 'address' | 'port' | 'close'>>;
  readonly onMoved: (listen: string) => void;
  /** undefined: it listens where it should. */
  readonly onFault: (fault: OperatingError | undefined) => void;
}

/** A server that can be moved, and is not lost when it cannot. Fails when it cannot be opened at first. */
export async function openMovable(options: MovableOptions): Promise<Omit<SshListener, 'expel' | 'piped' | 'tell'>> {
  const { choose, open: openAt, onMoved, onFault } = options;
  let wanted = choose();
  /** undefined: neither the new address nor the one before could be opened. */
  let server: Awaited<ReturnType<typeof openAt>> | undefined = await openAt(wanted);
  let moving: Promise<void> = Promise.resolve();
  let closed = false;

  const move = async (anew = false): Promise<void> => {
    const next = choose();
    if (closed) return;
    if (!anew && sameListen(next, wanted) && server !== undefined) return onFault(undefined);
    // The old one stands in the way of the new: it has the same port, and every interface includes its own.
    await server?.close();
    server = undefined;
    try {
      server = await openAt(next);
      wanted = next;
      onFault(undefined);
      onMoved(printListen(server));
    } catch (error) {
      onFault(faultOf(error, next));
      if (!sameListen(next, wanted)) server = await openAt(wanted).catch(() => undefined);
      throw error;
    }
  };
  const after = (work: () => Promise<void>): Promise<void> => (moving = moving.then(work, work));
  const follow = (): Promise<void> => after(() => move());
  return {
    listening: () => (server === undefined ? 'nowhere' : printListen(server)),
    follow,
    reopen: () => after(() => move(true)),
    async retry() {
      await moving.catch(() => undefined);
      if (server === undefined) await follow();
    },
    async close() {
      closed = true;
      await moving.catch(() => undefined);
      await server?.close();
    },
  };
}

function faultOf(error: unknown, next: ListenAddress): OperatingError {
  if (isOperatingError(error)) return error;
  return new OperatingError('LISTEN_FAILED', `cannot listen on ${printListen(next)}: ${printable(String(error))}`, {
    hint: 'choose another with --listen ADDRESS:PORT',
  });
}

async function open(engine: Engine, listen: ListenAddress, notes: NoteLog): Promise<SshServer> {
  const server = await startSshServer({
    hostKey: engine.recovery.serverKey(),
    repositoryDir: engine.home.repository,
    listen,
    charterHosts: () => engine.charter().hosts,
    formerHost: (blob) => formerHost(engine.trust(), blob),
    heads: () => headsLine(engine),
    news: () => headsLine(engine, { views: false }),
    onLogin(host, address) {
      if (address !== undefined) engine.peerBook.seenAt(host, address, portOf(engine, host));
      meetPeer(engine, host);
    },
    onServeBack(host, channel) {
      engine.peers.offered(host, channel);
      askBack(engine, host);
    },
    onNote: notes.note,
    gate: engine.gate,
  });
  engine.peers.serveWith((stream) => server.serveOver(stream));
  // A taken port was probed upward: what peers are told must be the port that was found.
  engine.listening({ asked: listen.port, found: server.port });
  return server;
}

/** Where a host is thought to listen: the port that was last told of it. */
function portOf(engine: Engine, host: string): number {
  for (const url of engine.addressesOf(host)) {
    const address = parsePeerAddress(url);
    if (address.ok && address.value.sshd === undefined) return address.value.port;
  }
  return defaultPort;
}
