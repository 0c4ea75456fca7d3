/** A real OpenSSH server as an ordinary process on a port of loopback, with keys, accounts file and settings of its own. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../drills/lib/free-port.ts';

/** The server program; undefined where it is not installed (Debian: openssh-server). */
export const sshdProgram: string | undefined = ['/usr/sbin/sshd', '/usr/local/sbin/sshd', '/usr/bin/sshd'].find(
  (file) => existsSync(file),
);

export interface PlainSshd {
  readonly port: number;
  /** Account that may log in. */
  readonly user: string;
  /** `ssh://user@127.0.0.1:port/path`. */
  url(path?: string): string;
  /** A line of known_hosts with its host key. */
  knownHost(): string;
  /** Who may log in, as lines of authorized_keys. */
  authorize(...lines: readonly string[]): void;
  /** What it has logged. */
  said(): string;
  /** Pid of the server. */
  readonly pid: number;
  /** Takes another host key: the connections that there are go on. */
  reinstall(): Promise<void>;
  stop(): Promise<void>;
}

export interface SshdOptions {
  /** Holds its files; removed by whoever made it. */
  readonly folder: string;
  /** Runs it as this uid instead (root only), with an account that exists for it alone. */
  readonly uid?: number;
  /** Further lines of sshd_config. */
  readonly settings?: readonly string[];
}

/** Starts it, and waits until it listens. The caller stops it. */
export async function startPlainSshd(options: SshdOptions): Promise<PlainSshd> {
  const { folder, uid } = options;
  mkdirSync(folder, { recursive: true });
  makeRunFolder();
  const keys = join(folder, 'authorized_keys');
  writeFileSync(keys, '');
  newHostKey(folder);
  const user = uid === undefined ? userInfo().username : ownAccount;
  let server = await listen(options);
  const { port } = server;
  return {
    port,
    user,
    pid: server.pid,
    url: (path = '/') => `ssh://${user}@127.0.0.1:${port}${path}`,
    knownHost: () => `[127.0.0.1]:${port} ${readFileSync(join(folder, 'host_key.pub'), 'utf8')}`,
    authorize: (...lines) => writeFileSync(keys, lines.map((line) => `${line}\n`).join('')),
    said: () => server.said(),
    async reinstall() {
      await server.end();
      newHostKey(folder);
      server = await listen(options, port);
    },
    stop: () => server.end(),
  };
}

/**
 * Where sshd of root wants an empty folder at every connection; a machine that never ran it as a service may have none. It
 * stays: whoever removed it would end the servers of tests that run beside this one.
 */
const runFolder = '/run/sshd';

function makeRunFolder(): void {
  if (process.getuid?.() === 0) mkdirSync(runFolder, { mode: 0o755, recursive: true });
}

function newHostKey(folder: string): void {
  const file = join(folder, 'host_key');
  for (const name of [file, `${file}.pub`]) rmSync(name, { force: true });
  const made = spawnSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file]);
  if (made.status !== 0) throw new Error(`ssh-keygen: ${made.stderr.toString()}`);
  chmodSync(file, 0o600);
}

/** Of the sshd that runs as another uid. An account of the system would be one without a shell, or locked. */
const ownAccount = 'memdtest';

interface Server {
  readonly port: number;
  readonly pid: number;
  said(): string;
  end(): Promise<void>;
}

async function listen(options: SshdOptions, asked?: number): Promise<Server> {
  // The port of a server that was ended may still be its own for a moment.
  for (let tries = 1; ; tries += 1) {
    const port = asked ?? (await freePort());
    const server = await tryListen(options, port);
    if (server !== undefined) return server;
    if (tries === 20) throw new Error(`sshd could not listen on port ${port}`);
  }
}

function tryListen({ folder, uid, settings = [] }: SshdOptions, port: number): Promise<Server | undefined> {
  const config = join(folder, 'sshd_config');
  const lines = [
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${join(folder, 'host_key')}`,
    `AuthorizedKeysFile ${join(folder, 'authorized_keys')}`,
    'PidFile none',
    'StrictModes no',
    'UsePAM no',
    'PasswordAuthentication no',
    'KbdInteractiveAuthentication no',
    'Subsystem sftp internal-sftp',
    ...settings,
  ];
  writeFileSync(config, `${lines.join('\n')}\n`);
  const words = asOther(folder, uid);
  if (uid !== undefined) spawnSync('chown', ['-R', String(uid), folder]);
  const [command, ...args] = [...words, sshdProgram ?? '', '-D', '-e', '-f', config];
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'], detached: true });
  let said = '';
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) =>
      /Address already in use/.test(said) ? resolve(undefined) : reject(new Error(`sshd ended with ${code}: ${said}`)),
    );
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (/Server listening on/.test(said))
        resolve({ port, pid: child.pid ?? 0, said: () => said, end: () => end(child) });
    });
  });
}

/** The account is there in a mount namespace of its own: nothing of the machine is changed. */
function asOther(folder: string, uid: number | undefined): readonly string[] {
  if (uid === undefined) return [];
  const passwd = join(folder, 'passwd');
  writeFileSync(passwd, `${readFileSync('/etc/passwd', 'utf8')}${ownAccount}:NP:${uid}:${uid}::${folder}:/bin/sh\n`);
  const become = `mount --bind ${passwd} /etc/passwd && exec setpriv --reuid ${uid} --regid ${uid} --clear-groups "$@"`;
  return ['unshare', '-m', 'sh', '-c', become, 'sh'];
}

/** Ends the server and the sessions that it forked. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await gone;
}
