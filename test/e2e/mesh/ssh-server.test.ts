import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { expect, describe, onTestFinished, test } from 'vitest';
import {
  startSshServer,
  type ServerNote,
  type SshServer,
  type SshServerOptions,
} from '../../../src/mesh/ssh/ssh-server.ts';
import { initRepository } from '../../../src/store/git/repository.ts';
import { temporaryFolder } from '../../lib/temporary.ts';
import { logIn, serveAlpha } from './door.ts';
import { charterEntry, charterHosts, keyFile, testHost } from './hosts.ts';

const alpha = testHost('alpha');
const beta = testHost('beta');
const stranger = testHost('stranger');

const hasIpv6 = Object.values(networkInterfaces()).some(
  (list) => list?.some(({ address }) => address === '::1') === true,
);

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(command: string, args: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  return new Promise((resolve) => {
    const child = spawn(command, [...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: '/nonexistent',
        GIT_CONFIG_GLOBAL: '/dev/null',
        GIT_CONFIG_NOSYSTEM: '1',
        ...env,
      },
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (data: Buffer) => (stdout += data.toString()));
    child.stderr.on('data', (data: Buffer) => (stderr += data.toString()));
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
}

interface Rig {
  readonly server: SshServer;
  readonly notes: ServerNote[];
  readonly hosts: ReturnType<typeof charterHosts>;
  readonly folder: string;
  sshOptions(host?: ReturnType<typeof testHost>): string[];
  ssh(...args: string[]): Promise<Ran>;
}

async function startRig(options: Partial<SshServerOptions> = {}): Promise<Rig> {
  const folder = temporaryFolder();
  const repositoryDir = join(folder, 'repo.git');
  await initRepository(repositoryDir, { host: 'alpha' });
  const env = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@a', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@a' };
  const git = async (...args: string[]): Promise<string> =>
    (await run('git', ['--git-dir', repositoryDir, ...args], env)).stdout.trim();
  writeFileSync(join(folder, 'line'), '{"a":"line"}\n');
  const blob = await git('hash-object', '-w', join(folder, 'line'));
  writeFileSync(join(folder, 'index-info'), `100644 ${blob}\t00/00/00.jsonl\n`);
  await run(
    'sh',
    ['-c', `git --git-dir ${repositoryDir} update-index --index-info < ${join(folder, 'index-info')}`],
    env,
  );
  const commit = await git('commit-tree', '-m', 'one', await git('write-tree'));
  for (const ref of ['refs/heads/log/alpha', 'refs/heads/trust', 'refs/memd/internal', 'refs/heads/other'])
    await git('update-ref', ref, commit);
  const hosts = charterHosts(alpha, beta);
  const notes: ServerNote[] = [];
  const server = await startSshServer({
    hostKey: alpha.sshPem,
    repositoryDir,
    listen: { address: '127.0.0.1', port: 0 },
    charterHosts: () => hosts,
    heads: () => '{"heads":"here"}',
    onNote: (note) => notes.push(note),
    ...options,
  });
  onTestFinished(() => server.close());
  writeFileSync(join(folder, 'known_hosts'), `[127.0.0.1]:${server.port} ${alpha.ssh.text}\n`);
  const sshOptions = (host = beta): string[] => [
    `-F/dev/null`,
    `-i${keyFile(folder, host)}`,
    `-p${server.port}`,
    `-oUserKnownHostsFile=${join(folder, 'known_hosts')}`,
    '-oIdentitiesOnly=yes',
    '-oBatchMode=yes',
    '-oStrictHostKeyChecking=yes',
    '-oIdentityAgent=none',
    '-oConnectTimeout=5',
  ];
  return { server, notes, hosts, folder, sshOptions, ssh: (...args) => run('ssh', [...sshOptions(), ...args]) };
}

const target = 'memd@127.0.0.1';

describe('what an enrolled host gets with the stock clients', () => {
  test('git clone ssh://memd@…/log checks out the log, and shows logs, views and trust only', async () => {
    const rig = await startRig();
    const url = `ssh://memd@127.0.0.1:${rig.server.port}/log`;
    const env = { GIT_SSH_COMMAND: ['ssh', ...rig.sshOptions()].join(' ') };
    const clone = await run('git', ['clone', '-q', url, join(rig.folder, 'clone')], env);
    expect(clone).toEqual({ code: 0, stdout: '', stderr: '' });
    const refs = await run('git', ['ls-remote', url], env);
    expect(
      refs.stdout
        .replaceAll(/[0-9a-f]{40}\t/g, '')
        .trim()
        .split('\n'),
    ).toEqual(['HEAD', 'refs/heads/log/alpha', 'refs/heads/trust']);
    const file = await run('cat', [join(rig.folder, 'clone', '00', '00', '00.jsonl')]);
    expect(file.stdout).toBe('{"a":"line"}\n');
  });

  test.each([0, 1, 2])('git protocol version %i works', async (version) => {
    const rig = await startRig();
    const env = { GIT_SSH_COMMAND: ['ssh', ...rig.sshOptions()].join(' ') };
    const refs = await run(
      'git',
      ['-c', `protocol.version=${version}`, 'ls-remote', `ssh://memd@127.0.0.1:${rig.server.port}/log`],
      env,
    );
    expect(refs.stdout).toContain('refs/heads/log/alpha');
  });

  test('memd heads answers one line', async () => {
    const rig = await startRig();
    expect(await rig.ssh(target, 'memd heads')).toEqual({ code: 0, stdout: '{"heads":"here"}\n', stderr: '' });
  });
});

describe('what is refused', () => {
  test.each<[string, string[]]>([
    ['a command', [target, 'ls']],
    ['a shell', ['-T', target]],
    ['a push', [target, "git-receive-pack '/log'"]],
    ['another repository', [target, "git-upload-pack '/other'"]],
    ['a subsystem', ['-s', target, 'netconf']],
    ['sftp', ['-s', target, 'sftp']],
  ])('%s gets one line on stderr and an exit status', async (_name, args) => {
    const rig = await startRig();
    const ran = await rig.ssh(...args);
    expect(ran.code).toBe(1);
    expect(ran.stdout).toBe('');
    expect(ran.stderr).toMatch(/^memd: [ -~]+\n$/);
  });

  test('a terminal is refused; agent forwarding and X11 are, and the command runs without them', async () => {
    const rig = await startRig();
    const terminal = await rig.ssh('-tt', target, 'memd heads');
    expect(terminal).toMatchObject({
      code: 255,
      stdout: '',
      stderr: expect.stringContaining('PTY allocation request failed') as string,
    });
    const ran = await rig.ssh('-A', '-X', target, 'memd heads');
    expect(ran).toMatchObject({ code: 0, stdout: '{"heads":"here"}\n' });
  });

  test('port forwarding is refused, in both directions and for sockets', async () => {
    const rig = await startRig();
    const reached = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void reached.close());
    let connections = 0;
    reached.on('connection', () => (connections += 1));
    await new Promise((resolve) => reached.once('listening', resolve));
    const port = (reached.address() as { port: number }).port;
    const direct = await rig.ssh('-W', `127.0.0.1:${port}`, target);
    expect(direct.code).toBe(255);
    expect(direct.stderr).toContain('administratively prohibited');
    for (const remote of [`0:127.0.0.1:${port}`, `${rig.folder}/socket:127.0.0.1:${port}`]) {
      const back = await rig.ssh('-o', 'ExitOnForwardFailure=yes', '-R', remote, target, 'memd heads');
      expect(back.code).toBe(255);
      expect(back.stderr).toContain('forwarding failed');
    }
    expect(connections).toBe(0);
  });

  test('scp, over sftp and the way before it, and sftp get one line and leave nothing', async () => {
    const rig = await startRig();
    const options = rig.sshOptions().map((word) => word.replace(/^-p(?=\d)/, '-P'));
    const copied = join(rig.folder, 'copied');
    for (const [command, ...args] of [
      ['scp', '-O', ...options, `${target}:/etc/passwd`, copied],
      ['scp', '-O', ...options, join(rig.folder, 'line'), `${target}:/tmp/x`],
      ['scp', ...options, `${target}:/etc/passwd`, copied],
      ['sftp', '-b/dev/null', ...options, target],
    ]) {
      const ran = await run(command ?? '', args);
      expect(ran.code).not.toBe(0);
      expect(ran.stdout).toBe('');
      expect(ran.stderr).toMatch(/^memd: [ -~]+\n(?:(?:scp: )?(?:lost connection|Connection closed) *\r?\n)?$/);
    }
    expect(existsSync(copied)).toBe(false);
  });

  test('a forward or a proxy that is asked for and never used: the command runs, nothing is carried', async () => {
    const rig = await startRig();
    const socket = join(rig.folder, 'forward');
    const ran = await rig.ssh('-L', `${socket}:127.0.0.1:1`, '-D', join(rig.folder, 'proxy'), target, 'memd heads');
    expect(ran).toMatchObject({ code: 0, stdout: '{"heads":"here"}\n' });
    await expect.poll(() => rig.server.connections()).toBe(0);
  });

  test('a client that asks for nothing (ssh -N) is ended, and others are served meanwhile', async () => {
    const rig = await startRig({ idleMs: 500 });
    const idle = rig.ssh('-N', target);
    expect((await rig.ssh(target, 'memd heads')).code).toBe(0);
    expect((await idle).code).toBe(255);
    expect(rig.server.connections()).toBe(0);
  });

  test('a certificate alone does not log in, whoever signed it', async () => {
    const rig = await startRig();
    const key = keyFile(rig.folder, beta);
    writeFileSync(`${key}.pub`, `${beta.ssh.text}\n`);
    await run('ssh-keygen', ['-q', '-s', key, '-I', 'memd', '-n', 'memd', `${key}.pub`]);
    const only = [
      '-o',
      'PubkeyAcceptedAlgorithms=ssh-ed25519-cert-v01@openssh.com',
      '-o',
      `CertificateFile=${key}-cert.pub`,
    ];
    const ran = await rig.ssh(...only, target, 'memd heads');
    expect(ran).toMatchObject({ code: 255, stdout: '' });
    expect(ran.stderr).toContain('Permission denied (publickey)');
  });

  test('a hardware key of OpenSSH (sk) is refused at the first question, without a touch', async () => {
    const rig = await startRig();
    const parts = [Buffer.from('sk-ssh-ed25519@openssh.com'), Buffer.from(beta.ssh.raw32 ?? []), Buffer.from('ssh:')];
    const framed = parts.flatMap((part) => [Buffer.from([0, 0, 0, part.length]), part]);
    const file = join(rig.folder, 'sk_key');
    writeFileSync(`${file}.pub`, `sk-ssh-ed25519@openssh.com ${Buffer.concat(framed).toString('base64')} sk\n`);
    const others = rig.sshOptions().filter((word) => !word.startsWith('-i'));
    const ran = await run('ssh', [...others, `-i${file}.pub`, target, 'memd heads']);
    expect(ran).toMatchObject({ code: 255, stdout: '' });
    expect(ran.stderr).toContain('Permission denied (publickey)');
    expect(rig.notes.map(({ code }) => code)).toEqual(['LOGIN_REFUSED']);
  });

  test('another user, a key outside the mesh, a password and a certificate do not log in', async () => {
    const rig = await startRig();
    const other = await rig.ssh('root@127.0.0.1', 'memd heads');
    const unknown = await run('ssh', [...rig.sshOptions(stranger), target, 'memd heads']);
    const password = await rig.ssh(
      '-o',
      'PreferredAuthentications=password,keyboard-interactive',
      target,
      'memd heads',
    );
    for (const ran of [other, unknown, password]) {
      expect(ran.code).toBe(255);
      expect(ran.stderr).toContain('Permission denied (publickey)');
    }
    expect(rig.notes.map((note) => note.code)).toContain('LOGIN_REFUSED');
    const key = keyFile(rig.folder, beta);
    writeFileSync(`${key}.pub`, `${beta.ssh.text}\n`);
    await run('ssh-keygen', ['-q', '-s', key, '-I', 'memd', '-n', 'memd', `${key}.pub`]);
    const certified = await rig.ssh('-o', `CertificateFile=${key}-cert.pub`, target, 'memd heads');
    expect(certified.stdout, 'the plain key beside the certificate counts').toBe('{"heads":"here"}\n');
  });

  test('enrolment and revocation take effect at once, also on a connection that is open', async () => {
    const rig = await startRig();
    rig.hosts.delete('beta');
    expect((await rig.ssh(target, 'memd heads')).code).toBe(255);
    rig.hosts.set('beta', charterEntry(beta));
    const control = join(rig.folder, 'control');
    expect((await rig.ssh('-M', '-S', control, '-o', 'ControlPersist=20', target, 'memd heads')).code).toBe(0);
    rig.hosts.delete('beta');
    const late = await rig.ssh('-S', control, target, 'memd heads');
    expect(late.stdout).toBe('');
    expect(late.stderr).toContain('not enrolled');
  });

  test('a host that was revoked logs in to be told so, by whom, and gets nothing; a forked one is served', async () => {
    const rig = await startRig();
    const by = { signer: 'craig', key: 'SHA256:x' };
    rig.hosts.set('beta', { ...charterEntry(beta), status: 'revoked', op: 'ab'.repeat(32), by });
    const told = await rig.ssh(target, 'memd heads');
    expect(told).toMatchObject({ code: 1, stdout: '' });
    expect(told.stderr).toContain('host beta was revoked by signer craig, trust op abababababab');
    const env = { GIT_SSH_COMMAND: ['ssh', ...rig.sshOptions()].join(' ') };
    const refs = await run('git', ['ls-remote', `ssh://memd@127.0.0.1:${rig.server.port}/log`], env);
    expect(refs).toMatchObject({ code: 128, stdout: '' });
    expect(rig.notes.map(({ code, detail }) => `${code} ${detail}`)).toContain('LOGIN_REFUSED host beta was revoked');
    rig.hosts.set('beta', { ...charterEntry(beta), status: 'forked' });
    expect((await rig.ssh(target, 'memd heads')).code).toBe(0);
  });

  test('a revoked host that stays idle is ended by the login timer', async () => {
    const rig = await startRig({ loginGraceMs: 300 });
    rig.hosts.set('beta', { ...charterEntry(beta), status: 'revoked' });
    const idle = await rig.ssh('-N', '-o', 'ServerAliveInterval=0', target);
    expect(idle.code).toBe(255);
    expect(rig.server.connections()).toBe(0);
  });

  test('a revocation ends the connections that are open, and only those of that host', async () => {
    const rig = await startRig();
    const gamma = testHost('gamma');
    rig.hosts.set('gamma', charterEntry(gamma));
    const over = (host: ReturnType<typeof testHost>, ...args: string[]): Promise<Ran> =>
      run('ssh', [...rig.sshOptions(host), '-S', join(rig.folder, host.name), ...args, target, 'memd heads']);
    for (const host of [beta, gamma]) expect((await over(host, '-M', '-o', 'ControlPersist=20')).code).toBe(0);
    expect(rig.server.connections()).toBe(2);
    rig.hosts.set('beta', { ...charterEntry(beta), status: 'revoked' });
    rig.server.expel();
    await expect.poll(() => rig.server.connections(), { timeout: 15_000 }).toBe(1);
    expect((await over(gamma, '-o', 'ControlMaster=no')).stdout).toBe('{"heads":"here"}\n');
  });
});

describe('listening', () => {
  test('a taken port is probed upward and the one in use is reported', async () => {
    const first = await startRig();
    const second = await startRig({ listen: { address: '127.0.0.1', port: first.server.port } });
    expect(second.server.port).toBeGreaterThan(first.server.port);
  });

  test.skipIf(!hasIpv6)('[::] is reached over IPv4 and over IPv6 (skipped on a machine without)', async () => {
    const { server } = await serveAlpha({ listen: { address: '::', port: 0 } });
    for (const host of ['127.0.0.1', '::1']) {
      const client = await logIn(server, { host });
      expect(server.connections()).toBe(1);
      const gone = new Promise((resolve) => client.once('close', () => resolve(undefined)));
      client.end();
      await gone;
      await expect.poll(() => server.connections()).toBe(0);
    }
  });

  test('an address that is not ours is an operating error that says what to do', async () => {
    await expect(startRig({ listen: { address: '192.0.2.1', port: 0 } })).rejects.toMatchObject({
      code: 'LISTEN_FAILED',
      hint: /--listen/,
    });
  });

  test('closing ends a stuck connection within its grace', async () => {
    const rig = await startRig();
    const child = spawn('ssh', [...rig.sshOptions(), target, "git-upload-pack '/log'"], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const closed = new Promise((resolve) => child.once('close', resolve));
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const before = performance.now();
    await rig.server.close();
    expect(performance.now() - before).toBeLessThan(10_000);
    expect(rig.server.connections()).toBe(0);
    await closed;
  });
});
