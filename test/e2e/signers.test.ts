/** Signers of a running mesh: added by keys as ssh-keygen makes them, listed, exported, and what is refused. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

interface Signer {
  readonly name: string;
  readonly status: string;
  readonly rank: number;
  readonly scopes: readonly string[];
  readonly op: string;
}

const bench = openBench();
let alpha: BenchHost;
let mesh: string;

const at = (name: string): string => join(bench.folder(), name);

/** Makes a key pair. @returns its private file. */
function makeKey(name: string, ...how: readonly string[]): string {
  const type = how.length === 0 ? ['-t', 'ed25519'] : how;
  execFileSync('ssh-keygen', ['-q', ...type, '-N', '', '-C', `${name}@example`, '-f', at(name)]);
  return at(name);
}

const trustHash = async (): Promise<string> => (await alpha.json<{ trust: string }>('charter')).trust;
const signers = (): Promise<Signer[]> => alpha.json<Signer[]>('signer', 'list');

/** Runs a command line exactly as it was printed. */
function shell(command: string): { code: number | null; said: string } {
  const done = spawnSync('sh', ['-c', command], { encoding: 'utf8', cwd: bench.folder() });
  return { code: done.status, said: `${done.stdout}${done.stderr}` };
}

beforeAll(async () => {
  alpha = await bench.lay('alpha');
  makeKey('craig');
  ({ mesh } = await alpha.json<{ mesh: string }>(
    'init',
    '--host',
    'alpha',
    '--signer',
    at('craig.pub'),
    '--as',
    'craig',
  ));
  await alpha.start();
});

/** Key types of signers, as ssh-keygen makes them, and the name that each gets here. */
const types = [
  ['dana', ['-t', 'ed25519']],
  ['erin', ['-t', 'ecdsa', '-b', '256']],
  ['frank', ['-t', 'ecdsa', '-b', '521']],
  ['gus', ['-t', 'rsa', '-b', '3072']],
] as const;

describe('signer add', () => {
  test.each(types)(
    '%s, a key of %j: added, and its signature of an event verifies with the printed command',
    async (name, how) => {
      const key = makeKey(name, ...how);
      const { code, stdout, stderr } = await alpha.ctl('signer', 'add', `${key}.pub`, '--as', name, '--yes');
      expect({ code, stdout }).toEqual({
        code: 0,
        stdout: expect.stringContaining(`signer ${name} added by trust op`),
      });
      expect(stderr).toMatch(/fingerprint SHA256:\S{43}/);
      expect(stderr).toMatch(/read aloud: [a-z]+( [a-z]+){5}/);
      expect(stderr, 'the private half lies beside it, open').toContain('no passphrase');
      const signed = await alpha.json<{ id: string; signer: string }>(
        'sign',
        `note/${name}`,
        '--value',
        'x',
        '--home-ref',
        'file:a.md',
        '--key',
        key,
        '--yes',
      );
      expect(signed.signer).toBe(name);
      const dir = at(`proof of ${name}`);
      const shown = await alpha.ctl('show', signed.id, '--sshsig', dir);
      const command = shown.stdout.split('\n').find((line) => line.startsWith('ssh-keygen')) ?? '';
      expect(shell(command)).toMatchObject({
        code: 0,
        said: expect.stringContaining(`Good "memd-event" signature for ${name}`),
      });
      writeFileSync(join(dir, 'message'), `${readFileSync(join(dir, 'message'), 'utf8')} `);
      expect(shell(command).code, 'one byte more, and it is another message').not.toBe(0);
    },
    60_000,
  );

  test('the charter has them by rank, with scopes that do not reach the charter, by whom and when', async () => {
    const list = await signers();
    expect(list.map(({ name, rank, status }) => [name, rank, status])).toEqual([
      ['craig', 0, 'active'],
      ...list.slice(1).map(({ name }) => [name, 1, 'active']),
    ]);
    expect(list.slice(1).every(({ scopes }) => scopes.join() === '*')).toBe(true);
    expect(list).toContainEqual(
      expect.objectContaining({ name: 'dana', by: { signer: 'craig', key: expect.stringMatching(/^SHA256:/) } }),
    );
    const { items, ops } = await alpha.json<{ items: { item: string; ops: string[] }[]; ops: { op: string }[] }>(
      'charter',
    );
    const item = items.find((one) => one.item === 'signer:dana');
    expect(item).toMatchObject({ value: { scopes: ['*'] }, origin: { by: { signer: 'craig' } }, conflicts: [] });
    expect(ops.map(({ op }) => op)).toContain(item?.ops[0]);
  });

  test('from stdin, and a pasted public key, count as well; a bare name of a scope does not', async () => {
    makeKey('hana');
    makeKey('ines');
    const scopes = ['--scopes', 'note/*, policy/*', '--yes'];
    const piped = await alpha.run(['signer', 'add', '-', '--as', 'hana', ...scopes], {
      input: readFileSync(at('hana.pub')),
    });
    expect(piped.code).toBe(0);
    await alpha.json('signer', 'add', readFileSync(at('ines.pub'), 'utf8').trim(), '--as', 'ines', '--yes');
    expect((await signers()).find(({ name }) => name === 'hana')?.scopes).toEqual(['note/*', 'policy/*']);
    makeKey('jim');
    const before = await trustHash();
    expect(
      await alpha.refused(6, ['signer', 'add', at('jim.pub'), '--as', 'jim', '--scopes', 'note', '--yes']),
    ).toMatchObject({
      code: 'OP_REFUSED',
      message: expect.stringContaining('scopes'),
    });
    expect(await trustHash()).toBe(before);
  });

  test('a signer without the scope charter adds nobody, and nobody grants what they have not', async () => {
    const key = makeKey('kim');
    await alpha.json('signer', 'add', `${key}.pub`, '--as', 'kim', '--scopes', 'note/*,charter', '--yes');
    makeKey('lena');
    const add = (scopes: string, by: string): string[] => [
      'signer',
      'add',
      at('lena.pub'),
      '--as',
      'lena',
      '--scopes',
      scopes,
      '--yes',
      '--key',
      at(by),
    ];
    const before = await trustHash();
    expect((await alpha.refused(6, add('note/*', 'dana'))).message).toContain('dana lacks the scope charter');
    expect((await alpha.refused(6, add('note/*,policy/*', 'kim'))).message).toContain('kim cannot grant policy/*');
    expect((await alpha.refused(6, add('note/*,purge', 'kim'))).message).toContain('kim cannot grant purge');
    expect(await trustHash()).toBe(before);
    await alpha.json(...add('note/a*', 'kim'));
    expect((await signers()).find(({ name }) => name === 'lena')?.rank).toBe(2);
  });

  test('a key in use, a name in use, a name that is none, a weak key, no key: refused, nothing is signed', async () => {
    const before = await trustHash();
    const add = (file: string, name: string): string[] => ['signer', 'add', file, '--as', name, '--yes'];
    expect((await alpha.refused(6, add(at('dana.pub'), 'dana-2'))).message).toContain(
      'a key of signer:dana-2 belongs to signer:dana',
    );
    const [host] = await alpha.json<{ signKey: string }[]>('host', 'list');
    writeFileSync(at('host.pub'), host?.signKey ?? '');
    expect((await alpha.refused(6, add(at('host.pub'), 'hostkey'))).message).toContain('belongs to host:alpha');
    makeKey('other');
    expect((await alpha.refused(6, add(at('other.pub'), 'dana'))).message).toContain('names are used once');
    expect(await alpha.refused(2, add(at('other.pub'), 'Dana!'))).toMatchObject({ code: 'BAD_REQUEST' });
    const weak = Buffer.concat([
      Buffer.from('0000000b7373682d6564323535313900000020', 'hex'),
      Buffer.from([1]),
      Buffer.alloc(31),
    ]);
    writeFileSync(at('weak.pub'), `ssh-ed25519 ${weak.toString('base64')} weak\n`);
    expect((await alpha.refused(6, add(at('weak.pub'), 'weak'))).message).toMatch(/full order/);
    makeKey('short', '-t', 'rsa', '-b', '1024');
    expect(await alpha.refused(6, add(at('short.pub'), 'short'))).toMatchObject({ code: 'SIGN_FAILED' });
    writeFileSync(at('text.pub'), 'hello\n');
    expect(await alpha.refused(6, add(at('text.pub'), 'text'))).toMatchObject({ code: 'SIGN_FAILED' });
    expect(await alpha.refused(2, add(at('missing.pub'), 'missing'))).toMatchObject({ code: 'INPUT_UNREADABLE' });
    expect(await trustHash()).toBe(before);
  });

  test('a private key, as file, on stdin or pasted: refused by name, and no part of it is said or kept', async () => {
    const key = makeKey('secret');
    const text = readFileSync(key, 'utf8');
    const lines = text.split('\n').filter((line) => line.length > 30 && !line.startsWith('---'));
    const before = await trustHash();
    const flags = ['--as', 'secret', '--yes'];
    const runs = [
      await alpha.run(['signer', 'add', key, ...flags]),
      await alpha.run(['signer', 'add', '-', ...flags], { input: text }),
      await alpha.run(['signer', 'add', text, ...flags]),
      await alpha.run(['signer', 'add', text.replaceAll('\n', ' '), ...flags]),
      await alpha.run(['signer', 'add', lines.join(''), ...flags]),
      await alpha.run(['signer', 'add', ...flags, '--', text]),
      await alpha.run(['signer', 'add', text, ...flags, '--json']),
    ];
    for (const { code, stdout, stderr } of runs) {
      expect([2, 6]).toContain(code);
      expect(stdout + stderr).toContain('private key');
      for (const line of lines) expect(stdout + stderr).not.toContain(line.slice(0, 30));
    }
    expect(await trustHash()).toBe(before);
  }, 60_000);

  test('without a terminal and without --yes nobody compares the words: exit 6, nothing is signed', async () => {
    makeKey('nina');
    const before = await trustHash();
    const { code, stderr } = await alpha.ctl('signer', 'add', at('nina.pub'), '--as', 'nina');
    expect(code).toBe(6);
    expect(stderr).toMatch(/nobody is there to compare the fingerprint; nothing was signed\n {2}next: /);
    expect(await trustHash()).toBe(before);
  });
});

describe('verified without us', () => {
  test('signer export is a file that stock ssh-keygen takes, for each signer and both namespaces', async () => {
    const file = at('allowed_signers');
    await alpha.json('signer', 'export', file);
    expect(readFileSync(file, 'utf8')).toContain(`# signers of memd mesh ${mesh}`);
    for (const name of ['craig', ...types.map(([one]) => one)]) {
      for (const namespace of ['memd-event', 'memd-trust']) {
        const message = at(`${name}-${namespace}`);
        writeFileSync(message, 'said');
        execFileSync('ssh-keygen', ['-q', '-Y', 'sign', '-f', at(name), '-n', namespace, message], { stdio: 'ignore' });
        expect(
          shell(`ssh-keygen -Y verify -f ${file} -I ${name} -n ${namespace} -s ${message}.sig < ${message}`).code,
        ).toBe(0);
      }
      expect(shell(`ssh-keygen -Y sign -q -f ${at(name)} -n file - < ${file} > ${at('other.sig')}`).code).toBe(0);
      expect(shell(`ssh-keygen -Y verify -f ${file} -I ${name} -n file -s ${at('other.sig')} < ${file}`).code).not.toBe(
        0,
      );
    }
    const printed = await alpha.ctl('signer', 'export');
    expect(printed.stdout).toBe(readFileSync(file, 'utf8'));
    await alpha.json('signer', 'export', file);
    const key = readFileSync(at('craig'));
    expect(await alpha.ctl('signer', 'export', at('craig'))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('nothing is overwritten'),
    });
    expect(readFileSync(at('craig'))).toEqual(key);
  }, 60_000);

  test('every trust op, the genesis too, verifies with the command that show prints', async () => {
    const { ops } = await alpha.json<{ ops: { op: string; by: { signer: string } }[] }>('charter');
    expect(ops.length).toBeGreaterThan(5);
    for (const { op, by } of ops) {
      const dir = at(`op-${op}`);
      const written = await alpha.json<{ approvals: { command: string }[] }>('show', op.slice(0, 12), '--sshsig', dir);
      expect(shell(written.approvals[0]?.command ?? '')).toMatchObject({
        code: 0,
        said: expect.stringContaining(`Good "memd-trust" signature for ${by.signer}`),
      });
    }
  }, 60_000);

  test('an unsigned event has nothing to verify, and a folder in use is left alone', async () => {
    const { id } = await alpha.json<{ id: string }>('lesson', 'lesson/x', 'unsigned');
    expect(await alpha.refused(7, ['show', id, '--sshsig', at('nothing')])).toMatchObject({ code: 'NOT_SIGNED' });
    expect(existsSync(at('nothing'))).toBe(false);
    expect(await alpha.refused(2, ['show', mesh, '--sshsig', bench.folder()])).toMatchObject({ code: 'FOLDER_IN_USE' });
  });
});
