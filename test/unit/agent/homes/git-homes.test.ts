import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { readHome, type HomeLook } from '../../../../src/agent/homes/read-home.ts';
import { commitFiles, git, makeRepository } from '../../../lib/git.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

const lookAt = (root: string, scope: string | null = null): HomeLook => ({
  roots: [{ path: root, scope }],
  closed: [],
  scope: '*',
  host: 'alpha',
  check: false,
  httpsHosts: [],
});

function checkout() {
  const root = temporaryFolder();
  const web = join(root, 'web');
  const commit = makeRepository(web, { 'docs/a.md': 'one\n', '.env': 'secret', 'keys/host.pem': 'secret' });
  return { root, web, commit };
}

describe('git homes: what is read', () => {
  test('a branch, and the commit that was read; the work tree does not matter', async () => {
    const { root, web, commit } = checkout();
    writeFileSync(join(web, 'docs/a.md'), 'edited, not committed\n');
    const reading = await readHome('git:web:docs/a.md@main', lookAt(root));
    expect(reading).toMatchObject({ checked: true, fresh: true, text: 'one\n', commit });
    expect(reading.notes).toBeUndefined();
  });

  test('a tag, a remote branch, a whole commit id', async () => {
    const { root, web, commit } = checkout();
    git(web, 'tag', '-a', '-m', 'x', 'v1');
    git(web, 'update-ref', 'refs/remotes/origin/main', commit);
    for (const ref of ['v1', 'origin/main', commit]) {
      expect(await readHome(`git:web:docs/a.md@${ref}`, lookAt(root))).toMatchObject({ text: 'one\n', commit });
    }
  });

  test('a branch that is not merged says so, unless main says the same', async () => {
    const { root, web } = checkout();
    git(web, 'checkout', '-q', '-b', 'feature/x');
    const commit = commitFiles(web, { 'docs/a.md': 'two\n', 'docs/b.md': 'new\n' });
    git(web, 'checkout', '-q', 'main');
    for (const path of ['docs/a.md', 'docs/b.md']) {
      const reading = await readHome(`git:web:${path}@feature/x`, lookAt(root));
      expect(reading.commit).toBe(commit);
      expect(reading.notes).toEqual(['on branch feature/x, not merged into main']);
    }
    const byId = await readHome(`git:web:docs/b.md@${commit}`, lookAt(root));
    expect(byId.notes).toEqual([`on commit ${commit.slice(0, 12)}, not merged into main`]);
    git(web, 'merge', '-q', 'feature/x');
    expect((await readHome('git:web:docs/a.md@feature/x', lookAt(root))).notes).toBeUndefined();
  });

  test('an old tag whose text main has changed says so', async () => {
    const { root, web } = checkout();
    git(web, 'tag', 'v1');
    commitFiles(web, { 'docs/a.md': 'two\n' });
    const reading = await readHome('git:web:docs/a.md@v1', lookAt(root));
    expect(reading).toMatchObject({ text: 'one\n', notes: ['main says something else by now'] });
  });

  test('a worktree is the same repository, under its name and under its scope', async () => {
    const { root, web } = checkout();
    const tree = join(root, 'somewhere');
    git(web, 'worktree', 'add', '-q', '-b', 'side', tree);
    const look = lookAt(tree, 'p-0123456789ab');
    expect((await readHome('git:web:docs/a.md@main', look)).text).toBe('one\n');
    expect((await readHome('git:p-0123456789ab:docs/a.md@main', look)).text).toBe('one\n');
  });
});

describe('git homes: what is not', () => {
  test('a ref or path that is not there was checked', async () => {
    const { root } = checkout();
    for (const home of ['git:web:docs/a.md@gone', 'git:web:docs/none.md@main']) {
      expect(await readHome(home, lookAt(root))).toMatchObject({ checked: true, fresh: false });
    }
  });

  test('folders, links, dotfiles, keys and binaries', async () => {
    const { root, web } = checkout();
    symlinkSync('../.env', join(web, 'docs/link.md'));
    writeFileSync(join(web, 'docs/bin.md'), Buffer.from([0, 1]));
    commitFiles(web, {});
    const reasons = await Promise.all(
      ['docs', 'docs/link.md', '.env', 'keys/host.pem', 'docs/bin.md'].map(
        async (path) => (await readHome(`git:web:${path}@main`, lookAt(root))).reason,
      ),
    );
    expect(reasons).toEqual([
      'it is a folder',
      'it is a symbolic link',
      'not allowed: dotfiles are never read',
      'not allowed: files named like keys or secrets are never read',
      'it is binary, not text',
    ]);
  });

  test('a path is never a pattern', async () => {
    const { root } = checkout();
    for (const path of ['docs/*', '*.md', '(glob)x', '!x']) {
      expect(await readHome(`git:web:${path}@main`, lookAt(root))).toMatchObject({ fresh: false });
    }
  });

  test('a folder that is no checkout, and one that is out of the roots', async () => {
    const { root } = checkout();
    mkdirSync(join(root, 'plain'));
    expect((await readHome('git:plain:a.md@main', lookAt(root))).reason).toMatch(/not the root of a git checkout/);
    expect((await readHome('git:other:a.md@main', lookAt(root))).reason).toMatch(/there is no other/);
    const outside = checkout();
    symlinkSync(outside.web, join(root, 'outside'));
    expect((await readHome('git:outside:docs/a.md@main', lookAt(root))).reason).toMatch(/symbolic link/);
  });

  test('a .git file that points to a repository elsewhere', async () => {
    const { web } = checkout();
    const root = temporaryFolder();
    mkdirSync(join(root, 'trap'));
    writeFileSync(join(root, 'trap/.git'), `gitdir: ${web}/.git\n`);
    expect((await readHome('git:trap:docs/a.md@main', lookAt(root))).reason).toMatch(/not allowed.*elsewhere/);
  });

  test('without git on PATH it could not be checked, and says why', async () => {
    const { root } = checkout();
    vi.stubEnv('PATH', '/nonexistent');
    try {
      const reading = await readHome('git:web:docs/a.md@main', lookAt(root));
      expect(reading).toMatchObject({ checked: false, fresh: false, reason: 'git is not on PATH' });
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test('a repository whose objects are gone', async () => {
    const { root, web } = checkout();
    const { rmSync } = await import('node:fs');
    rmSync(join(web, '.git/objects'), { recursive: true });
    mkdirSync(join(web, '.git/objects'));
    expect(await readHome('git:web:docs/a.md@main', lookAt(root))).toMatchObject({ fresh: false });
  });
});
