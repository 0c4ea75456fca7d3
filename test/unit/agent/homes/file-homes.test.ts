import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readHome, type HomeLook } from '../../../../src/agent/homes/read-home.ts';
import { sha256Hex } from '../../../../src/crypto/hash.ts';
import { git, makeRepository } from '../../../lib/git.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

function lookAt(...roots: readonly string[]): HomeLook {
  return {
    roots: roots.map((path) => ({ path, scope: null })),
    closed: [],
    scope: '*',
    host: 'alpha',
    check: false,
    httpsHosts: [],
  };
}

function folderWith(files: Readonly<Record<string, string | Buffer>>): string {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

const services = '# Services\n\n## Grafana\nnas:3000\n\n## Loki\nnas:3100\n';

describe('file homes: what is read', () => {
  test('a section by its anchor, with its digest and where it was read', async () => {
    const root = folderWith({ 'infra/SERVICES.md': services });
    const reading = await readHome('file:infra/SERVICES.md#grafana', lookAt(root));
    expect(reading).toMatchObject({ checked: true, fresh: true, text: '## Grafana\nnas:3000' });
    expect(reading.from).toBe(join(root, 'infra/SERVICES.md'));
    expect(reading.digest).toBe(`sha256:${sha256Hex('## Grafana\nnas:3000')}`);
  });

  test('the whole file without an anchor; a long one is cut at a line and says so', async () => {
    const root = folderWith({ 'a.txt': 'short\n', 'long.txt': `${'x'.repeat(79)}\n`.repeat(1_000) });
    expect((await readHome('file:a.txt', lookAt(root))).text).toBe('short\n');
    const long = await readHome('file:long.txt', lookAt(root));
    expect(long.cut).toBe(true);
    expect(long.text?.length).toBeLessThanOrEqual(16_000);
    expect(long.text?.endsWith('x')).toBe(true);
  });

  test('a link that stays below the root is followed', async () => {
    const root = folderWith({ 'docs/real.md': 'here\n' });
    symlinkSync('docs/real.md', join(root, 'alias.md'));
    expect((await readHome('file:alias.md', lookAt(root))).text).toBe('here\n');
  });

  test('an absolute path of this host, below a root', async () => {
    const root = folderWith({ 'a.md': 'here\n' });
    expect((await readHome(`alpha:file:${root}/a.md`, lookAt(root))).text).toBe('here\n');
  });

  test('an anchor that occurs twice: the first, and it is said', async () => {
    const root = folderWith({ 'a.md': '# x\n1\n# x\n2\n' });
    const first = await readHome('file:a.md#x', lookAt(root));
    expect(first.text).toBe('# x\n1');
    expect(first.notes?.[0]).toMatch(/2 sections have this name/);
    expect((await readHome('file:a.md#x-1', lookAt(root))).text).toBe('# x\n2');
  });

  test('what this host observed and what is there now differ: not fresh', async () => {
    const root = folderWith({ 'a.md': 'new\n' });
    const observed = `sha256:${sha256Hex('old\n')}`;
    const reading = await readHome('file:a.md', { ...lookAt(root), observed });
    expect(reading).toMatchObject({ checked: true, fresh: false, text: 'new\n' });
    expect(reading.reason).toMatch(/changed since/);
  });

  test('the project of the claim comes before other folders', async () => {
    const web = folderWith({ 'README.md': 'web\n' });
    const api = folderWith({ 'README.md': 'api\n' });
    const roots = [
      { path: api, scope: 'api' },
      { path: web, scope: 'web' },
    ];
    expect((await readHome('file:README.md', { ...lookAt(), roots, scope: 'web' })).text).toBe('web\n');
  });

  test('a checkout of another branch than main is named', async () => {
    const root = temporaryFolder();
    makeRepository(join(root, 'web'), { 'a.md': 'x\n' });
    expect((await readHome('file:web/a.md', lookAt(root))).notes).toBeUndefined();
    git(join(root, 'web'), 'checkout', '-q', '-b', 'try-it');
    expect((await readHome('file:web/a.md', lookAt(root))).notes).toEqual([
      'read in a checkout of branch try-it, not of main',
    ]);
  });
});

describe('file homes: gone is not the same as not checked', () => {
  test('a section that went, and a file of this host that went, were checked', async () => {
    const root = folderWith({ 'a.md': services });
    expect(await readHome('file:a.md#tempo', lookAt(root))).toMatchObject({
      checked: true,
      fresh: false,
      reason: 'it has no section #tempo',
    });
    expect(await readHome(`alpha:file:${root}/b.md`, lookAt(root))).toMatchObject({ checked: true, fresh: false });
  });

  test('what this host observed to be missing, and still is, has not changed', async () => {
    const root = folderWith({ 'a.md': services });
    const look = { ...lookAt(root), observed: 'missing' };
    for (const ref of ['file:a.md#tempo', `alpha:file:${root}/b.md`]) {
      expect(await readHome(ref, look)).toMatchObject({ checked: true, fresh: true, notes: [expect.any(String)] });
    }
    expect(await readHome('file:a.md#loki', look)).toMatchObject({ checked: true, fresh: false });
  });

  test('a file that is below no root may be on another machine', async () => {
    const reading = await readHome('file:b.md', lookAt(folderWith({})));
    expect(reading).toMatchObject({ checked: false, fresh: false });
    expect(reading.reason).toMatch(/there is no b\.md below/);
  });

  test('a file of another host', async () => {
    const reading = await readHome('beta:file:a.md', lookAt(folderWith({ 'a.md': 'mine\n' })));
    expect(reading).toMatchObject({ checked: false, reason: 'it is a file of host beta' });
  });

  test('two different files of one name are no answer', async () => {
    const reading = await readHome('file:a.md', lookAt(folderWith({ 'a.md': '1' }), folderWith({ 'a.md': '2' })));
    expect(reading.checked).toBe(false);
    expect(reading.reason).toMatch(/two files/);
  });

  test('no roots at all, and a root that is gone', async () => {
    expect((await readHome('file:a.md', lookAt())).reason).toMatch(/no folder may be read/);
    expect((await readHome('file:a.md', lookAt('/nonexistent/x'))).checked).toBe(false);
  });
});

describe('file homes: what is never read', () => {
  const names = [
    '.env',
    'x/.git/config',
    'id_ed25519',
    'host_ed25519',
    'deploy.pem',
    'tls/server.KEY',
    'prod.env',
    'credentials',
    'secrets.yaml',
    'vault.kdbx',
  ];
  test.each(names)('%s, whether it is there or not', async (name) => {
    const root = folderWith({ [name]: 'secret' });
    const there = await readHome(`file:${name}`, lookAt(root));
    expect(there).toMatchObject({ checked: false });
    expect(there.text).toBeUndefined();
    expect(there.reason).toMatch(/not allowed/);
    expect((await readHome(`file:${name}`, lookAt(folderWith({})))).reason).toBe(there.reason);
  });

  test('a link out of the roots, of a file or of a folder on the way', async () => {
    const outside = folderWith({ 'a.md': 'outside\n', 'sub/b.md': 'outside\n' });
    const root = folderWith({});
    symlinkSync(join(outside, 'a.md'), join(root, 'a.md'));
    symlinkSync(join(outside, 'sub'), join(root, 'sub'));
    for (const path of ['a.md', 'sub/b.md']) {
      expect((await readHome(`file:${path}`, lookAt(root))).reason).toMatch(/out of .* through a symbolic link/);
    }
  });

  test('a harmless name that is a link to a dotfile below the root', async () => {
    const root = folderWith({ '.env': 'secret' });
    symlinkSync('.env', join(root, 'notes.md'));
    expect((await readHome('file:notes.md', lookAt(root))).reason).toMatch(/dotfiles/);
  });

  test('a link to itself', async () => {
    const root = folderWith({});
    symlinkSync('loop.md', join(root, 'loop.md'));
    expect(await readHome('file:loop.md', lookAt(root))).toMatchObject({ checked: false });
  });

  test('a folder whose name begins as the root does', async () => {
    const base = folderWith({ 'src/a.md': 'in', 'src-private/b.md': 'out' });
    const reading = await readHome(`alpha:file:${base}/src-private/b.md`, lookAt(join(base, 'src')));
    expect(reading.reason).toMatch(/outside the folders/);
  });

  test('the folder of memd itself, wherever the root is', async () => {
    const root = folderWith({ 'memd/logs/alpha.jsonl': '{}\n' });
    const look = { ...lookAt(root), closed: [join(root, 'memd')] };
    expect((await readHome('file:memd/logs/alpha.jsonl', look)).reason).toMatch(/folder of memd/);
  });

  test('a private key under a harmless name', async () => {
    const root = folderWith({ 'notes.txt': '-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n' });
    const reading = await readHome('file:notes.txt', lookAt(root));
    expect(reading.text).toBeUndefined();
    expect(reading.reason).toMatch(/private key/);
  });

  test('a folder, a pipe, a binary, 2 GB: at once', async () => {
    const root = folderWith({ 'sub/a.md': 'x', 'bin.md': Buffer.from([0x61, 0, 0x62]), 'bad.md': Buffer.from([0xff]) });
    execFileSync('mkfifo', [join(root, 'pipe.md')]);
    writeFileSync(join(root, 'big.md'), '');
    truncateSync(join(root, 'big.md'), 2 * 1_024 ** 3);
    const reasons = await Promise.all(
      ['sub', 'pipe.md', 'bin.md', 'bad.md', 'big.md'].map(async (name) => {
        const reading = await readHome(`file:${name}`, lookAt(root));
        expect(reading).toMatchObject({ checked: false, fresh: false });
        return reading.reason;
      }),
    );
    expect(reasons).toEqual([
      'it is a folder',
      'it is no plain file',
      'it is binary, not text',
      'it is binary, not text',
      'it has 2147483648 bytes, at most 1048576 are read',
    ]);
  });

  test('an anchor in what is not Markdown is not guessed', async () => {
    const root = folderWith({ 'run.sh': '# start\necho\n' });
    expect(await readHome('file:run.sh#start', lookAt(root))).toMatchObject({ checked: false });
  });

  test('what is no home at all', async () => {
    for (const ref of ['', 'http://x', 'file:../x', 'file:', 'git:x', 'ftp://x']) {
      expect(await readHome(ref, lookAt('/'))).toMatchObject({ checked: false, fresh: false });
    }
  });
});
