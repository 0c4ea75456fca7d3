/** What a logged-in peer may do: run one of four commands. Everything else is refused with one line. */
import type { Duplex } from 'node:stream';
import type { Connection, ServerChannel, Session } from 'ssh2';
import {
  meshCloseGraceMs,
  sshChannelsMax,
  sshIdleMs,
  sshSessionGraceMs,
  sshWastedSessionsMax,
  uploadPacksMax,
  uploadPacksPerHostMax,
} from '../../core/limits.ts';
import { isServedVariable, parseExecRequest, type ServedCommand } from './exec-request.ts';
import type { ObjectGate } from '../object-gate.ts';
import type { Pace } from '../serve/pace.ts';
import { busyStatus, serveUploadPack, type ServedPack } from '../serve/serve-pack.ts';
import { createWatchers, type Watchers } from '../serve/watch-serve.ts';

export interface SessionOptions {
  /** Who has logged in. */
  readonly host: string;
  readonly connection: Connection;
  readonly socket: Duplex;
  readonly repositoryDir: string;
  readonly heads: () => string;
  readonly watchers: Watchers;
  /** Takes a channel over which the peer wants to be asked; absent where that is not offered. */
  readonly onServeBack?: ((channel: ServerChannel) => void) | undefined;
  /** For tests. */
  readonly idleMs?: number | undefined;
  readonly sessionGraceMs?: number | undefined;
  /** Why the charter, as of now, lets this peer do nothing; undefined while it may. */
  readonly refusal: () => string | undefined;
  /** Upload-pack children of all connections: bounded together, stopped when the server closes. */
  readonly children: Set<ServedPack>;
  /** How often a host may ask, over all its connections. */
  readonly pace: Pace;
  /** While it is closed objects are being dropped, and no peer may be served them. */
  readonly gate?: ObjectGate | undefined;
  readonly onNote: (code: 'UPLOAD_PACK' | 'HEADS', detail: string) => void;
}

/** Exit status of a refusal. */
const refusedStatus = 1;

/** Handles the sessions of one logged-in connection. */
export function handleSessions(options: SessionOptions): void {
  const { connection } = options;
  const own = new Set<ServedPack>();
  const watching = new Set<ServerChannel>();
  // A connection that breaks while its input is paused never closes the channel.
  options.socket.once('close', () => {
    clearTimeout(idle);
    own.forEach((child) => child.stop());
  });
  let open = 0;
  let wasted = 0;
  let back = false;
  const isIdle = (): NodeJS.Timeout => setTimeout(() => connection.end(), options.idleMs ?? sshIdleMs);
  let idle = isIdle();
  const shared: ConnectionOptions = {
    ...options,
    own,
    watching,
    takeBack(channel) {
      if (back || options.onServeBack === undefined) return false;
      back = true;
      channel.once('close', () => (back = false));
      options.onServeBack(channel);
      return true;
    },
  };
  connection.on('session', (accept, reject) => {
    if (open >= sshChannelsMax) return void reject();
    const session = accept();
    let commands = 0;
    open += 1;
    clearTimeout(idle);
    const late = setTimeout(() => commands === 0 && connection.end(), options.sessionGraceMs ?? sshSessionGraceMs);
    session.on('close', () => {
      clearTimeout(late);
      open -= 1;
      if (open === 0 && !options.socket.destroyed) idle = isIdle();
      // ssh2 keeps a closed session that never ran a command for the life of the connection.
      if (commands === 0 && ++wasted > sshWastedSessionsMax) connection.end();
    });
    handleSession(session, shared, () => ++commands);
  });
  // Without a listener ssh2 ignores no-more-sessions; port forwarding asks here too, and gets no.
  connection.on('request', (_accept, reject) => void reject?.());
}

/** `own`: children of this connection; `watching`: its watch. `takeBack`: takes the one channel over which it wants to be asked, or does not. */
type ConnectionOptions = SessionOptions & {
  readonly own: Set<ServedPack>;
  readonly watching: Set<ServerChannel>;
  readonly takeBack: (channel: ServerChannel) => boolean;
};

function handleSession(session: Session, options: ConnectionOptions, countCommand: () => number): void {
  let protocol: string | undefined;
  session.on('env', (accept, reject, variable) => {
    // The types of ssh2 name this member differently from its code.
    const { key, val } = variable as unknown as { readonly key: string; readonly val: string };
    if (!isServedVariable(key, val)) return void reject?.();
    protocol = val;
    // Absent when the client wants no reply.
    (accept as (() => void) | undefined)?.();
  });
  const open = (accept: () => ServerChannel | undefined): ServerChannel | undefined => {
    const first = countCommand() === 1;
    const channel = first ? accept() : undefined;
    // ssh2 answers nothing to a second command on one session: a client that asks for one is ended, not left waiting.
    if (channel === undefined) options.connection.end();
    channel?.on('error', () => undefined);
    return channel;
  };
  session.on('exec', (accept, _reject, request) => {
    const channel = open(accept);
    if (channel === undefined) return;
    const command = parseExecRequest(request.command);
    const { command: asked } = request;
    const run = (): void => runCommand(channel, command, { ...options, protocol, asked });
    // What costs a child is bounded by their number.
    if (command === 'upload-pack') return run();
    if (!options.pace.run(options.host, run, () => channel.destroyed)) options.connection.end();
  });
  session.on('shell', (accept) => {
    const channel = open(accept);
    if (channel !== undefined)
      refuseChannel(channel, 'there is no shell here; try: git clone ssh://memd@HOST:PORT/log');
  });
  session.on('subsystem', (accept) => {
    const channel = open(accept);
    if (channel !== undefined) refuseChannel(channel, 'there are no files to transfer here');
  });
}

/** What a command needs of the connection that it came by. */
type CommandOptions = Omit<ConnectionOptions, 'connection' | 'pace'> & {
  readonly connection: { end(): unknown };
  readonly protocol: string | undefined;
  /** The text of a command that is none of ours. */
  readonly asked?: string;
};

/** Answers one command of a stock client that a plain sshd let in: there is no connection that could be watched or turned around. */
export function serveCommand(
  channel: ServerChannel,
  command: ServedCommand,
  options: Pick<CommandOptions, 'heads' | 'host' | 'protocol' | 'refusal' | 'repositoryDir'>,
): void {
  if (command === 'watch' || command === 'serve-back')
    return refuseChannel(
      channel,
      'refused: behind a plain sshd only git-upload-pack and memd heads are served to stock clients',
    );
  const alone = { children: new Set<ServedPack>(), own: new Set<ServedPack>(), watching: new Set<ServerChannel>() };
  runCommand(channel, command, {
    ...options,
    ...alone,
    connection: { end: () => channel.destroy() },
    socket: channel,
    watchers: createWatchers(options.heads, () => undefined),
    takeBack: () => false,
    onNote: () => undefined,
  });
}

function runCommand(channel: ServerChannel, command: ServedCommand | undefined, options: CommandOptions): void {
  const refusal = options.refusal();
  if (refusal !== undefined) {
    return endAfter(channel, refusal, options.connection);
  }
  switch (command) {
    case undefined:
      return refuseChannel(channel, describeRefusal(options.asked));
    case 'heads':
      return answerHeads(channel, options);
    case 'watch':
      return answerWatch(channel, options);
    case 'serve-back':
      return options.takeBack(channel) ? undefined : refuseChannel(channel, 'refused: nobody asks back here');
    case 'upload-pack':
      return servePack(channel, options);
  }
}

/** What people try with stock git is answered with what they can do. */
function describeRefusal(asked = ''): string {
  if (asked.startsWith('git-upload-pack '))
    return 'refused: there is one repository here, /log: git clone ssh://memd@HOST:PORT/log';
  if (asked.startsWith('git-receive-pack '))
    return 'refused: nobody can push to a host; hosts fetch from each other, and memctl appends';
  return 'refused: only git-upload-pack, memd heads, watch and serve-back are served';
}

function servePack(channel: ServerChannel, options: CommandOptions): void {
  const { children, gate, host } = options;
  if (gate?.isClosed() === true || !hasPlace(children, host))
    return refuseChannel(channel, 'busy, try again later', busyStatus);
  const { socket, repositoryDir, protocol } = options;
  const child = serveUploadPack({
    host,
    socket,
    repositoryDir,
    protocol,
    channel,
    onEnd: (note) => {
      options.children.delete(child);
      options.own.delete(child);
      if (note !== undefined) options.onNote('UPLOAD_PACK', note);
    },
  });
  options.children.add(child);
  options.own.add(child);
}

/**
 * Whether one more of this host may start. Where all places are taken, a few hosts that each hold several would keep out
 * everybody: the oldest of whoever has most gives way to a host that has at least two fewer.
 */
function hasPlace(children: ReadonlySet<ServedPack>, host: string): boolean {
  const running = [...children].filter((child) => !child.isStopped());
  const counts = new Map<string, number>();
  for (const child of running) counts.set(child.host, (counts.get(child.host) ?? 0) + 1);
  const own = counts.get(host) ?? 0;
  if (own >= uploadPacksPerHostMax) return false;
  if (running.length < uploadPacksMax) return true;
  const most = Math.max(...counts.values());
  if (most < own + 2) return false;
  running.find((child) => counts.get(child.host) === most)?.stop();
  return true;
}

/** Ends the connection once the refusal is read: at once it would cut the sentence off. Nobody is waited for longer. */
function endAfter(channel: ServerChannel, why: string, connection: { end(): unknown }): void {
  const late = setTimeout(() => connection.end(), meshCloseGraceMs);
  channel.once('close', () => {
    clearTimeout(late);
    connection.end();
  });
  refuseChannel(channel, why);
}

/** One for each connection: a second one would tell the same. */
function answerWatch(channel: ServerChannel, options: CommandOptions): void {
  if (options.watching.size > 0) return refuseChannel(channel, 'watched already');
  options.watching.add(channel);
  channel.on('close', () => options.watching.delete(channel));
  // Nothing is read of it. Left unread it would never close; read and thrown away it would cost what the peer likes.
  channel.once('data', () => options.connection.end());
  options.watchers.add(channel, options.socket);
}

function answerHeads(channel: ServerChannel, options: Pick<SessionOptions, 'heads' | 'onNote'>): void {
  channel.resume();
  try {
    channel.write(`${options.heads()}\n`);
    channel.exit(0);
  } catch (error) {
    options.onNote('HEADS', String(error));
    channel.exit(refusedStatus);
  }
  channel.end();
}

function refuseChannel(channel: ServerChannel, why: string, status: number = refusedStatus): void {
  channel.resume();
  channel.stderr.write(`memd: ${why}\n`);
  channel.exit(status);
  channel.end();
}
