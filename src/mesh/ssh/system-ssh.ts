/**
 * The way to a host behind a plain sshd: the system's `ssh` as a pipe of bytes to `memctl serve --stdio`. What runs through the
 * pipe is memd's own ssh again, so both hosts prove their keys of the charter inside, and whoever stands in between, sshd
 * and its account included, can cut it off and nothing else.
 */
import { Duplex } from 'node:stream';
import { sshPipeMs } from '../../core/limits.ts';
import type { ConnectionFault } from '../../core/sync/peer.ts';
import { refuse, type Result } from '../../crypto/result.ts';
import { startChild, type RunningChild } from '../../store/child.ts';
import { isOperatingError, printable } from '../../store/errors.ts';
import type { PeerAddress, SshdPlace } from './address.ts';
import { keepaliveIntervalMs, keepaliveMissesMax } from './ssh-settings.ts';
import { sshPipeFault } from './system-ssh-fault.ts';

/** What the system's ssh goes by. Nothing of the user's own: no agent, no ~/.ssh, no configuration. */
export interface SshdAccess {
  /** File in the form of known_hosts(5): the host keys that a person trusts. May be missing. */
  readonly knownHosts: string;
  /** Private key files to log in with, the best first; asked for at every dial. */
  readonly identities: () => readonly string[];
}

/** An address that names a plain sshd. */
export type SshdAddress = PeerAddress & { readonly sshd: SshdPlace };

export interface SshPipe {
  readonly stream: Duplex;
  /** Why there is no peer at the other end, once ssh has ended; undefined before. */
  fault(): Result<never, ConnectionFault> | undefined;
}

/** Whether an address is one behind a plain sshd. Pure. */
export function isSshdAddress(address: PeerAddress): address is SshdAddress {
  return address.sshd !== undefined;
}

/** Words for the system's ssh. What the peer's address holds is checked by its parser: none can be taken for an option. Pure. */
export function sshArguments({ host, port, sshd }: SshdAddress, access: SshdAccess): readonly string[] {
  const settings = [
    'BatchMode=yes',
    // Never trust on first use, and never a key that somebody else wrote into a file of the system.
    'StrictHostKeyChecking=yes',
    `UserKnownHostsFile=${quoted(access.knownHosts)}`,
    'GlobalKnownHostsFile=/dev/null',
    'UpdateHostKeys=no',
    'IdentitiesOnly=yes',
    'IdentityAgent=none',
    'PreferredAuthentications=publickey',
    'ControlPath=none',
    'ClearAllForwardings=yes',
    'Compression=no',
    'ConnectTimeout=10',
    `ServerAliveInterval=${keepaliveIntervalMs / 1_000}`,
    `ServerAliveCountMax=${keepaliveMissesMax}`,
    'LogLevel=ERROR',
    ...access.identities().map((file) => `IdentityFile=${quoted(file)}`),
  ];
  const flags = ['-F', 'none', '-T', '-a', '-x', '-e', 'none', '-p', String(port), '-l', sshd.user];
  return [...flags, ...settings.flatMap((setting) => ['-o', setting]), '--', host, remoteCommand(sshd)];
}

/** A forced command takes its place, and only looks whether it is asked for what it serves. */
function remoteCommand({ path }: SshdPlace): string {
  return `memctl serve --stdio${path === '/' ? '' : ` --home '${path}'`}`;
}

/** As ssh_config(5) reads it: blanks and tokens of a path mean themselves. */
function quoted(file: string): string {
  return `"${file.replaceAll('%', '%%')}"`;
}

/** Starts ssh. Its stream ends once ssh has, so that why is known by then. */
export function openSshPipe(address: SshdAddress, access: SshdAccess): SshPipe {
  const child = startChild({ command: 'ssh', args: sshArguments(address, access), deadlineMs: sshPipeMs });
  let fault: Result<never, ConnectionFault> | undefined;
  const ended = child.done.then(
    (how) => void (fault = sshPipeFault(how, { address, knownHosts: access.knownHosts })),
    (error: unknown) => void (fault = brokenPipe(error)),
  );
  return { stream: streamOf(child, ended), fault: () => fault };
}

function brokenPipe(error: unknown): Result<never, ConnectionFault> {
  if (isOperatingError(error, 'CHILD_TIMEOUT')) return refuse('CLOSED', 'the connection was kept for long enough');
  return refuse('UNREACHABLE', printable(error instanceof Error ? error.message : String(error)));
}

function streamOf(child: RunningChild, ended: Promise<void>): Duplex {
  const { stdin, stdout } = child;
  const stream = new Duplex({
    read: () => void stdout.resume(),
    write(chunk: Buffer, _encoding, done) {
      // Where ssh is gone its end says so; nobody waits for a pipe.
      if (stdin.writable) stdin.write(chunk, () => done());
      else done();
    },
    final(done) {
      stdin.end();
      done();
    },
    destroy(error, done) {
      child.kill();
      done(error);
    },
  });
  stream.on('error', () => undefined);
  stdout.on('data', (chunk: Buffer) => {
    if (!stream.push(chunk)) stdout.pause();
  });
  void ended.then(() => {
    if (!stream.destroyed) stream.push(null);
  });
  return stream;
}
