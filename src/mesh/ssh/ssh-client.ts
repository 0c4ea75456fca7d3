/**
 * One kept ssh connection to one peer: dialled on demand, both keys pinned, every wait with a deadline. It never dials
 * by itself; when to try again is the caller's to decide.
 */
import { connect } from 'node:net';
import { PassThrough, type Duplex } from 'node:stream';
import ssh2, { type Client, type ClientChannel } from 'ssh2';
import { dialDeadlineMs, meshCloseGraceMs, sshAuthAttemptsMax } from '../../core/limits.ts';
import type { ConnectionFault } from '../../core/sync/peer.ts';
import { ok, refuse, type Result } from '../../crypto/result.ts';
import { printable } from '../../store/errors.ts';
import type { PeerAddress } from './address.ts';
import { busyStatus } from '../serve/serve-pack.ts';
import { keepaliveIntervalMs, keepaliveMissesMax, sshAlgorithms, sshIdent, sshUser } from './ssh-settings.ts';
import { isSshdAddress, openSshPipe, type SshdAccess, type SshPipe } from './system-ssh.ts';

/** Keys of this host that a peer may know instead: it has heard of a rekey that we have not, or not of ours. */
export interface OtherSshKeys {
  readonly next?: string | undefined;
  readonly last?: string | undefined;
}

export interface PeerConnectionOptions {
  /** Where to dial, or a stream to the peer that is there already: then there is one attempt. */
  readonly route: PeerAddress | Duplex;
  /** OpenSSH private key text of this host. */
  readonly sshKey: string;
  /** The one to come is tried before it, the one of before after it. */
  readonly otherSshKeys?: () => OtherSshKeys;
  /** Is this the key (blob) of the host that we mean to reach? Asked at every dial, before we log in. */
  readonly acceptsServerKey: (blob: Uint8Array) => boolean;
  /** How to get past a plain sshd; without it an address behind one cannot be dialled. */
  readonly sshd?: SshdAccess | undefined;
  /** Dialling and login together; default 10 s. */
  readonly dialDeadlineMs?: number;
}

/** A command that runs at the peer. */
export interface PeerCommand {
  readonly stream: ClientChannel;
  /** What it said on stderr so far, printable and bounded. Not a failure by itself. */
  said(): string;
}

export interface PeerConnection {
  /** Dials and logs in, if there is no live connection. */
  open(): Promise<Result<true, ConnectionFault>>;
  /** True while there is a live connection. */
  isOpen(): boolean;
  /** Starts a command, dialling first if there is no live connection. */
  start(
    command: string,
    options?: { readonly protocol?: string; readonly deadlineMs?: number },
  ): Promise<Result<PeerCommand, ConnectionFault>>;
  /** Runs a short command to its end: its stdout, at most `bytesMax` bytes. Dials again once if a kept connection turns out dead. */
  run(
    command: string,
    options: { readonly bytesMax: number; readonly deadlineMs: number },
  ): Promise<Result<Buffer, ConnectionFault>>;
  /** Key that the peer showed at the last dial. */
  serverKey(): Uint8Array | undefined;
  /** Ends the connection; the next command dials anew. */
  close(): void;
}

interface Live {
  readonly client: Client;
  readonly socket: Duplex;
  /** Settles when it is usable, or with the reason why it never will be. */
  readonly ready: Promise<Result<true, ConnectionFault>>;
  loggedIn: boolean;
  ended: boolean;
  used: boolean;
  /** We ended it: whatever happens to it then says nothing about the peer. */
  leaving: boolean;
}

const stderrBytesMax = 4_096;

/** Dials nothing yet. */
export function peerConnection(options: PeerConnectionOptions): PeerConnection {
  let live: Live | undefined;
  let shownKey: Uint8Array | undefined;

  function current(): Live {
    if (live === undefined || live.ended) {
      live = dial({ ...options, acceptsServerKey: (blob) => options.acceptsServerKey((shownKey = blob)) });
    }
    return live;
  }

  async function start(
    command: string,
    how: { protocol?: string; deadlineMs?: number } = {},
  ): Promise<Result<PeerCommand, ConnectionFault>> {
    const { client, ready } = current();
    const usable = await ready;
    if (!usable.ok) return usable;
    const started = await startCommand(client, command, how);
    // A peer that does not even answer a request is gone: the next command must not find this connection again.
    if (!started.ok && (started.code === 'TIMEOUT' || started.code === 'CLOSED')) close();
    return started;
  }

  async function run(
    command: string,
    how: { bytesMax: number; deadlineMs: number },
  ): Promise<Result<Buffer, ConnectionFault>> {
    const reused = live?.ended === false && live.used;
    const attempt = async (): Promise<Result<Buffer, ConnectionFault>> => {
      const started = await start(command, how);
      if (!started.ok) return started;
      const result = await collect(started.value, how);
      if (result.ok && live !== undefined) live.used = true;
      return result;
    };
    const first = await attempt();
    return reused && !first.ok && first.code === 'CLOSED' ? attempt() : first;
  }

  function close(): void {
    if (live !== undefined) hangUp(live);
    live = undefined;
  }

  const isOpen = (): boolean => live !== undefined && live.loggedIn && !live.ended;
  return { open: () => current().ready, isOpen, start, run, serverKey: () => shownKey, close };
}

function keysOf({ sshKey, otherSshKeys }: PeerConnectionOptions): readonly string[] {
  const { next, last } = otherSshKeys?.() ?? {};
  // A peer that knows of a rekey lets an old key in, to say so: so the newest comes first.
  return [next, sshKey, last].filter((key) => key !== undefined).slice(0, sshAuthAttemptsMax);
}

function dial(options: PeerConnectionOptions): Live {
  const { route } = options;
  if ('destroyed' in route && route.destroyed)
    return deadLine(route, refuse('CLOSED', 'the connection that it was asked over has ended'));
  const pipe = pipeTo(options);
  if (pipe !== undefined && !('stream' in pipe)) return deadLine(new PassThrough(), pipe);
  const socket =
    pipe?.stream ?? ('port' in route ? connect({ host: route.host, port: route.port, noDelay: true }) : route);
  const client = new ssh2.Client();
  let strangerKey = false;
  let firstError: Error | undefined;
  const faultOf = (error: Error): Result<never, ConnectionFault> => pipe?.fault() ?? dialFault(error, strangerKey);
  const live: Live = {
    client,
    socket,
    loggedIn: false,
    ended: false,
    used: false,
    leaving: false,
    ready: new Promise((resolve) => {
      client.on('ready', () => {
        live.loggedIn = true;
        resolve(ok(true));
      });
      client.on('error', (error: Error) => {
        firstError ??= error;
        resolve(live.leaving ? refuse('CLOSED', 'the connection was given up') : faultOf(error));
      });
      client.on('close', () => {
        live.ended = true;
        resolve(
          firstError === undefined
            ? (pipe?.fault() ?? refuse('CLOSED', 'the peer hung up before login'))
            : faultOf(firstError),
        );
      });
      for (const event of ['end', 'close']) socket.on(event, () => (live.ended = true));
    }),
  };
  try {
    client.connect({
      sock: socket,
      username: sshUser,
      authHandler: keysOf(options).map((key) => ({ type: 'publickey', username: sshUser, key })),
      algorithms: sshAlgorithms,
      ident: sshIdent,
      readyTimeout: options.dialDeadlineMs ?? dialDeadlineMs,
      keepaliveInterval: keepaliveIntervalMs,
      keepaliveCountMax: keepaliveMissesMax,
      // Without a verifier ssh2 accepts whoever answers.
      hostVerifier: (blob: Buffer) => {
        const accepted = options.acceptsServerKey(new Uint8Array(blob));
        strangerKey = !accepted;
        return accepted;
      },
    });
  } catch (error) {
    socket.destroy();
    throw error;
  }
  return live;
}

/** The pipe to a host behind a plain sshd, or why there can be none; undefined for any other way. */
function pipeTo({ route, sshd }: PeerConnectionOptions): SshPipe | Result<never, ConnectionFault> | undefined {
  if (!('port' in route) || !isSshdAddress(route)) return undefined;
  return sshd === undefined
    ? refuse('UNREACHABLE', 'a host behind a plain sshd cannot be dialled from here')
    : openSshPipe(route, sshd);
}

/** What is not there, or is there no more, cannot be dialled. */
function deadLine(socket: Duplex, why: Result<never, ConnectionFault>): Live {
  const ready = Promise.resolve(why);
  return { client: new ssh2.Client(), socket, ready, loggedIn: false, ended: true, used: false, leaving: true };
}

function dialFault(
  error: Error & { level?: string; code?: unknown },
  strangerKey: boolean,
): Result<never, ConnectionFault> {
  if (strangerKey) return refuse('HOST_KEY_MISMATCH', 'another key answers there than the charter names for this host');
  const detail = printable(error.message);
  if (error.level === 'client-authentication')
    return refuse('REFUSED_KEY', 'the peer does not know our ssh key: it may not have our host-add yet');
  if (error.level === 'client-timeout') return refuse('TIMEOUT', 'no login within the deadline');
  if (error.level === 'client-socket' || error.level === 'client-dns') {
    return error.code === 'ETIMEDOUT' ? refuse('TIMEOUT', detail) : refuse('UNREACHABLE', detail);
  }
  // Its limits are reached, or it is just starting: no fault of its protocol.
  if (error.message === 'Connection lost before handshake') return refuse('CLOSED', 'the peer hung up before login');
  return refuse('PROTOCOL', detail);
}

function startCommand(
  client: Client,
  command: string,
  how: { protocol?: string; deadlineMs?: number },
): Promise<Result<PeerCommand, ConnectionFault>> {
  return new Promise((resolve) => {
    const finish = (result: Result<PeerCommand, ConnectionFault>): void => {
      clearTimeout(timer);
      client.off('close', gone);
      resolve(result);
    };
    const gone = (): void => finish(refuse('CLOSED', 'the connection ended'));
    const timer = setTimeout(
      () => finish(refuse('TIMEOUT', 'the peer does not answer a request')),
      how.deadlineMs ?? dialDeadlineMs,
    );
    client.once('close', gone);
    try {
      client.exec(
        command,
        how.protocol === undefined ? {} : { env: { GIT_PROTOCOL: how.protocol } },
        (error: Error | undefined, stream) => {
          finish(
            error === undefined
              ? ok({ stream, said: collectStderr(stream) })
              : refuse('REFUSED_COMMAND', printable(error.message)),
          );
        },
      );
    } catch {
      gone();
    }
  });
}

function collectStderr(stream: ClientChannel): () => string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on('error', () => undefined);
  stream.stderr.on('data', (chunk: Buffer) => {
    if (bytes < stderrBytesMax) chunks.push(chunk.subarray(0, stderrBytesMax - bytes));
    bytes += chunk.length;
  });
  return () => printable(Buffer.concat(chunks).toString('utf8'));
}

/** Reads a command to its end. An end without exit status is a cut connection, never success. */
function collect(
  command: PeerCommand,
  limits: { bytesMax: number; deadlineMs: number },
): Promise<Result<Buffer, ConnectionFault>> {
  const { stream } = command;
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const finish = (result: Result<Buffer, ConnectionFault>): void => {
      clearTimeout(timer);
      resolve(result);
      stream.close();
    };
    const timer = setTimeout(() => finish(refuse('TIMEOUT', 'the peer does not finish its answer')), limits.deadlineMs);
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > limits.bytesMax) finish(refuse('TOO_LARGE', `the answer is longer than ${limits.bytesMax} bytes`));
      else chunks.push(chunk);
    });
    stream.on('close', (code: number | null | undefined) => {
      const fault = exitFault(code, command.said());
      finish(fault ?? ok(Buffer.concat(chunks)));
    });
  });
}

/** What an exit status means; undefined for success. Pure. */
export function exitFault(code: number | null | undefined, said: string): Result<never, ConnectionFault> | undefined {
  if (code === 0) return undefined;
  if (code === undefined || code === null) return refuse('CLOSED', 'the command ended without an exit status');
  const words = said === '' ? `exit status ${code}` : said;
  return code === busyStatus ? refuse('BUSY', words) : refuse('REFUSED_COMMAND', words);
}

/** Says goodbye, and does not wait for an answer. */
function hangUp(live: Live): void {
  live.ended = true;
  live.leaving = true;
  live.client.end();
  const timer = setTimeout(() => live.socket.destroy(), meshCloseGraceMs);
  timer.unref();
  live.socket.once('close', () => clearTimeout(timer));
}
