/** Getting into a mesh, with everything that people do wrong on the way. What is refused leaves everything as it was. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { processesMentioning } from '../../drills/lib/process.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

const bench = openBench();
let alpha: BenchHost;
let beta: BenchHost;
let mesh: string;
let line: string;

beforeAll(async () => {
  [alpha, beta] = await Promise.all([bench.lay('alpha'), bench.lay('beta')]);
  ({ mesh } = await alpha.json<{ mesh: string }>('init', '--host', 'alpha', '--listen', alpha.address));
  await alpha.start();
  ({ line } = await beta.json<{ line: string }>('host', 'request', '--host', 'beta', '--listen', beta.address));
});

const trustHash = async (): Promise<string> => (await alpha.json<{ trust: string }>('charter')).trust;
const keyFile = (name: string): string => join(bench.folder(), name);

function makeKey(name: string, passphrase: string, type = 'ed25519'): string {
  execFileSync('ssh-keygen', ['-q', '-t', type, '-N', passphrase, '-C', name, '-f', keyFile(name)]);
  return keyFile(name);
}

describe('join, before the host was added', () => {
  test('with keys and no mesh, everything else says what comes next', async () => {
    for (const args of [['status'], ['lesson', 'lesson/x', 'x'], ['verify'], ['index'], ['fetch']]) {
      expect(await beta.refused(1, args)).toMatchObject({
        code: 'NOT_ENROLLED',
        hint: expect.stringContaining('memctl join'),
      });
    }
    await expect(beta.start()).rejects.toThrow(/has keys but no mesh yet/);
    const nobody = await bench.lay('nobody');
    expect(await nobody.refused(1, ['join', 'ssh://127.0.0.1:1', '--mesh', mesh])).toMatchObject({
      code: 'HOME_MISSING',
    });
  });

  test('asked again, it prints the same line: what somebody is about to sign stays good', async () => {
    const again = await beta.json<{ line: string }>('host', 'request', '--host', 'beta', '--listen', beta.address);
    expect(again.line).toBe(line);
  });

  test('not added yet: refused, and what to do', async () => {
    expect(await beta.refused(1, ['join', `ssh://${alpha.address}`, '--mesh', mesh])).toMatchObject({
      code: 'JOIN_REFUSED',
      hint: expect.stringContaining('memctl host add'),
    });
  });

  test('nothing listens there', async () => {
    const free = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => free.once('listening', resolve));
    const { port } = free.address() as { port: number };
    await new Promise((resolve) => free.close(resolve));
    expect(await beta.refused(1, ['join', `ssh://127.0.0.1:${port}`, '--mesh', mesh])).toMatchObject({
      code: 'JOIN_REFUSED',
      hint: expect.stringContaining('is memd running there'),
    });
  });

  test.each([
    ['http://127.0.0.1:1'],
    ['ssh://'],
    ['127.0.0.1:7422'],
    ['ssh://user@host:1/path'],
    ['ssh://host:99999'],
    [''],
  ])('an address that is none: %j', async (url) => {
    expect(await beta.refused(1, ['join', url, '--mesh', mesh])).toMatchObject({ code: 'JOIN_REFUSED' });
  });
});

describe('host add', () => {
  test('a private key, a damaged line, half a line: refused without ever being printed', async () => {
    const secret = readFileSync(makeKey('pasted', ''), 'utf8');
    const before = await trustHash();
    const pasted = [
      secret,
      `memd-host:beta:${Buffer.from(secret).toString('base64url')}`,
      line.slice(0, -10),
      line.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
      `${line}${line}`,
      line.replace('memd-host', 'memd-peer'),
      'memd-host:beta:',
      'memd-host:be\u202Eta:xyz',
      '',
    ];
    for (const text of pasted) {
      const { code, stdout, stderr } = await alpha.run(['host', 'add', text, '--yes', '--json']);
      expect({ text: text.slice(0, 30), code }).toEqual({ text: text.slice(0, 30), code: 2 });
      for (const part of [secret.slice(40, 80), secret.slice(200, 240)]) expect(stdout + stderr).not.toContain(part);
      expect(stdout + stderr).not.toContain('\u202E');
    }
    expect(await trustHash()).toBe(before);
  }, 40_000);

  test('nobody is there to compare the fingerprint: refused with exit 6, nothing is signed', async () => {
    const before = await trustHash();
    expect(await alpha.refused(6, ['host', 'add', line])).toMatchObject({
      code: 'SIGN_FAILED',
      hint: expect.stringContaining('--yes'),
    });
    expect(await trustHash()).toBe(before);
  });

  test('a key with a passphrase and no terminal: exit 6 in one sentence, at once, and no agent is asked', async () => {
    const before = await trustHash();
    const locked = makeKey('locked', 'correct horse');
    // A helper that would answer for the person, if it were asked.
    const askpass = join(bench.folder(), 'askpass');
    writeFileSync(askpass, `#!/bin/sh\necho asked >>"${bench.folder()}/asked"\necho correct horse\n`, { mode: 0o755 });
    const env = { SSH_ASKPASS: askpass, SSH_ASKPASS_REQUIRE: 'force', DISPLAY: ':0' };
    const start = performance.now();
    const error = await alpha.refused(6, ['host', 'add', line, '--yes', '--key', locked], { env });
    expect(performance.now() - start).toBeLessThan(15_000);
    expect(['NO_TERMINAL', 'SIGNER_UNKNOWN']).toContain(error.code);
    expect(existsSync(join(bench.folder(), 'asked'))).toBe(false);
    expect(await trustHash()).toBe(before);
    const founded = await bench.lay('locked-mesh');
    const init = await founded.refused(
      6,
      ['init', '--host', 'a', '--signer', `${locked}.pub`, '--as', 'craig', '--key', locked],
      { env },
    );
    expect(init).toMatchObject({
      code: 'NO_TERMINAL',
      message: expect.stringMatching(/signing with .*locked failed/),
      hint: expect.stringContaining('a key with a passphrase needs a terminal'),
    });
    expect(existsSync(join(bench.folder(), 'asked'))).toBe(false);
    await expect.poll(() => processesMentioning(locked)).toEqual([]);
    expect((await founded.json<{ host: string }>('init', '--host', 'a', '--listen', '127.0.0.1:0')).host).toBe('a');
  }, 40_000);

  test('a key that is no signer of the mesh, a file that is no key, a kind that is not supported', async () => {
    const stranger = makeKey('stranger', '');
    expect(await alpha.refused(6, ['host', 'add', line, '--yes', '--key', stranger])).toMatchObject({
      code: 'SIGNER_UNKNOWN',
      hint: expect.stringContaining('SHA256:'),
    });
    writeFileSync(keyFile('no-key'), 'hello\n', { mode: 0o600 });
    expect(await alpha.refused(6, ['host', 'add', line, '--yes', '--key', keyFile('no-key')])).toMatchObject({
      code: 'SIGN_FAILED',
    });
    expect(await alpha.refused(6, ['host', 'add', line, '--yes', '--key', '/nonexistent'])).toMatchObject({
      code: 'SIGN_FAILED',
    });
    const rsa = makeKey('rsa', '', 'rsa');
    const other = await bench.lay('rsa-mesh');
    writeFileSync(keyFile('dsa.pub'), 'ssh-dss AAAAB3NzaC1kc3M= old\n');
    expect(await other.refused(6, ['init', '--host', 'a', '--signer', keyFile('dsa.pub')])).toMatchObject({
      message: expect.stringMatching(/ssh-dss: DSA .*not supported/),
    });
    expect(await other.refused(6, ['init', '--host', 'a', '--signer', rsa])).toMatchObject({
      message: expect.stringMatching(/private key/),
    });
    expect(existsSync(other.home)).toBe(false);
    const named = ['--signer', `${rsa}.pub`, '--listen', '127.0.0.1:0'];
    expect(await other.json<{ host: string }>('init', '--host', 'a', ...named)).toMatchObject({ host: 'a' });
  }, 40_000);

  test('a machine without ssh-keygen, or without git: named, with what to install', async () => {
    const bare = join(bench.folder(), 'bare');
    mkdirSync(bare);
    symlinkSync(which('git'), join(bare, 'git'));
    const unsigned = await bench.lay('unsigned');
    const env = { PATH: bare, XDG_CONFIG_HOME: join(bench.folder(), 'no-config') };
    expect(await unsigned.refused(6, ['init', '--host', 'a'], { env })).toMatchObject({
      code: 'SIGN_FAILED',
      message: expect.stringContaining('ssh-keygen'),
      hint: expect.stringContaining('install OpenSSH'),
    });
    expect(existsSync(unsigned.home)).toBe(false);
    const empty = join(bench.folder(), 'bare-of-all');
    mkdirSync(empty);
    symlinkSync(which('ssh-keygen'), join(empty, 'ssh-keygen'));
    expect(await unsigned.refused(1, ['init', '--host', 'a'], { env: { ...env, PATH: empty } })).toMatchObject({
      code: 'PROGRAM_MISSING',
      hint: expect.stringContaining('install git'),
    });
    expect((await unsigned.json<{ host: string }>('init', '--host', 'a', '--listen', '127.0.0.1:0')).host).toBe('a');
  }, 30_000);

  test('the line as chat and mail wrap it is taken', async () => {
    const wrapped = `  ${line.slice(0, 60)}\r\n${line.slice(60, 130)}\n\t${line.slice(130)}\n`;
    expect(await alpha.json('host', 'add', wrapped, '--yes')).toMatchObject({ host: 'beta' });
  });

  test('a name that is taken, also the own one, with other keys or the same: refused with exit 6', async () => {
    const imposter = await bench.lay('imposter');
    for (const name of ['beta', 'alpha']) {
      const request = await imposter.json<{ line: string }>(
        'host',
        'request',
        '--host',
        name,
        '--listen',
        '127.0.0.1:0',
      );
      expect(await alpha.refused(6, ['host', 'add', request.line, '--yes'])).toMatchObject({ code: 'OP_REFUSED' });
    }
    expect(await alpha.refused(6, ['host', 'add', line, '--yes'])).toMatchObject({ code: 'OP_REFUSED' });
    const { hosts } = await alpha.json<{ hosts: { host: string }[] }>('charter');
    expect(hosts.map(({ host }) => host)).toEqual(['alpha', 'beta']);
  }, 30_000);
});

describe('join, after the host was added', () => {
  const servers: Server[] = [];
  afterAll(() => servers.forEach((server) => server.close()));

  test.each([
    ['another mesh', 'ab'.repeat(32)],
    ['something that is no id', 'my-mesh'],
    ['half an id', 'half'],
    ['an id and an op that nobody has', 'op'],
  ])('with %s in --mesh: refused, nothing of that mesh is kept', async (_, word) => {
    const id = word === 'half' ? mesh.slice(0, 32) : word === 'op' ? `${mesh}:${'cd'.repeat(32)}` : word;
    const error = await beta.refused(1, ['join', `ssh://${alpha.address}`, '--mesh', id]);
    expect(error.code).toBe('JOIN_REFUSED');
    expect(error.hint).toMatch(/mesh id|memctl/);
    expect(existsSync(join(beta.repository, 'refs', 'heads', 'trust'))).toBe(false);
  });

  test.each([
    ['a web server', 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'],
    ['text', 'hello\r\n'],
    ['an ssh server that stops after its name', 'SSH-2.0-other\r\n'],
    ['nothing at all', ''],
  ])('%s answers on that port: refused within the deadline', async (_, greeting) => {
    const server = createServer((socket) =>
      socket
        .on('error', () => undefined)
        .resume()
        .end(greeting),
    ).listen(0, '127.0.0.1');
    servers.push(server);
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    expect(await beta.refused(1, ['join', `ssh://127.0.0.1:${port}`, '--mesh', mesh])).toMatchObject({
      code: 'JOIN_REFUSED',
    });
  });

  test('a host of the same name with other keys is not the one that was added', async () => {
    const double = await bench.lay('double');
    await double.json('host', 'request', '--host', 'beta', '--listen', '127.0.0.1:0');
    expect(await double.refused(1, ['join', `ssh://${alpha.address}`, '--mesh', mesh])).toMatchObject({
      code: 'JOIN_REFUSED',
    });
  });

  test('after all that the right words work, once', async () => {
    expect(await beta.json('join', `ssh://${alpha.address}`, '--mesh', mesh)).toMatchObject({ mesh, host: 'beta' });
    expect(await beta.refused(1, ['join', `ssh://${alpha.address}`, '--mesh', mesh])).toMatchObject({
      code: 'MESH_EXISTS',
    });
    expect(await beta.refused(1, ['init', '--host', 'beta'])).toMatchObject({ code: 'MESH_EXISTS' });
    expect(await beta.refused(1, ['host', 'request', '--host', 'other'])).toMatchObject({ code: 'MESH_EXISTS' });
    expect(await beta.json('verify', '--deep')).toMatchObject({ ok: true });
  });
});

test('init over a mesh changes nothing, not even the operator key', async () => {
  const operator = join(bench.folder(), 'config', 'memd', 'operator_ed25519');
  const [key, before] = [readFileSync(operator, 'utf8'), await trustHash()];
  expect(await alpha.refused(1, ['init', '--host', 'alpha', '--key', operator])).toMatchObject({
    code: 'MESH_EXISTS',
    hint: expect.stringContaining('--home'),
  });
  expect([readFileSync(operator, 'utf8'), await trustHash()]).toEqual([key, before]);
});

test('trust ops that are signed at once are all in the charter, none is lost', async () => {
  const names = Array.from({ length: 5 }, (_, n) => `class-${n}`);
  await Promise.all(names.map((name) => alpha.json('class', 'add', name, '--description', 'x')));
  const listed = (await alpha.json<{ name: string }[]>('class', 'list')).map(({ name }) => name);
  expect(names.filter((name) => !listed.includes(name))).toEqual([]);
  await alpha.stop();
  await alpha.start();
  const again = (await alpha.json<{ name: string }[]>('class', 'list')).map(({ name }) => name);
  expect(again.toSorted()).toEqual(listed.toSorted());
}, 30_000);

test('the warning about a key without a passphrase follows the key, not what init found', async () => {
  const operator = join(bench.folder(), 'config', 'memd', 'operator_ed25519');
  const warnings = async (): Promise<string> =>
    (await alpha.json<{ warnings: string[] }>('status')).warnings.join('\n');
  expect(await warnings()).toContain('has no passphrase');
  execFileSync('ssh-keygen', ['-q', '-p', '-f', operator, '-P', '', '-N', 'correct horse']);
  expect(await warnings()).not.toContain('has no passphrase');
  execFileSync('ssh-keygen', ['-q', '-p', '-f', operator, '-P', 'correct horse', '-N', '']);
  expect(await warnings()).toContain('has no passphrase');
});

function which(program: string): string {
  return spawnSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).stdout.trim();
}
