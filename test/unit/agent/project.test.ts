import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { projectOf } from '../../../src/agent/project.ts';
import { commitFiles, git, makeRepository } from '../../lib/git.ts';
import { temporaryFolder } from '../../lib/temporary.ts';

const options = (scopes: Record<string, string> = {}) => ({
  scopes: new Map(Object.entries(scopes)),
  env: { XDG_CACHE_HOME: join(temporaryFolder(), 'cache') },
});

describe('projects: what names one', () => {
  test('the root commit of its repository, the same in every checkout and worktree', async () => {
    const folder = temporaryFolder();
    const first = join(folder, 'first');
    const root = makeRepository(first, { 'a.md': 'x' });
    commitFiles(first, { 'b.md': 'x' });
    git(folder, 'clone', '-q', first, 'second');
    git(first, 'worktree', 'add', '-q', '-b', 'side', join(folder, 'third'));
    mkdirSync(join(first, 'deep/down'), { recursive: true });
    const places = ['first', 'second', 'third', 'first/deep/down'].map((name) => join(folder, name));
    const projects = await Promise.all(places.map((place) => projectOf(place, options())));
    expect(projects.map((project) => project?.scope)).toEqual(Array(4).fill(`p-${root.slice(0, 12)}`));
    expect(projects[3]?.root).toBe(first);
    expect(projects[0]?.source).toBe('git');
  });

  test('a branch with its own beginning, and a history merged in, change nothing', async () => {
    const folder = temporaryFolder();
    const main = join(folder, 'main');
    const root = makeRepository(main, { 'a.md': 'x' });
    const other = join(folder, 'other');
    makeRepository(other, { 'o.md': 'x' });
    git(main, 'fetch', '-q', other, 'main');
    git(main, 'merge', '-q', '--allow-unrelated-histories', '-m', 'both', 'FETCH_HEAD');
    git(main, 'checkout', '-q', '--orphan', 'pages');
    commitFiles(main, { 'p.md': 'x' });
    expect((await projectOf(main, options()))?.scope).toBe(`p-${root.slice(0, 12)}`);
  });

  test('a .memd file comes before git, in the root or deeper', async () => {
    const web = join(temporaryFolder(), 'web');
    makeRepository(web, { '.memd': '# who we are\nweb-shop\n', 'api/.memd': 'api', 'api/x/a.md': 'x' });
    expect(await projectOf(web, options())).toEqual({ root: web, scope: 'web-shop', source: '.memd' });
    expect((await projectOf(join(web, 'api/x'), options()))?.scope).toBe('api');
  });

  test('the config, where nothing else says it; the longest path wins', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'notes/work'), { recursive: true });
    const said = options({ [folder]: 'all', [join(folder, 'notes')]: 'notes' });
    expect(await projectOf(join(folder, 'notes/work'), said)).toEqual({
      root: join(folder, 'notes'),
      scope: 'notes',
      source: 'config',
    });
    expect((await projectOf(folder, said))?.scope).toBe('all');
  });

  test('a path of the config that is a link means what it leads to', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'real'));
    symlinkSync('real', join(folder, 'link'));
    expect((await projectOf(join(folder, 'link'), options({ [join(folder, 'link')]: 'notes' })))?.scope).toBe('notes');
  });

  test('nothing', async () => {
    expect(await projectOf(temporaryFolder(), options())).toBeUndefined();
  });
});

describe('projects: what cannot be said', () => {
  test.each(['', 'Two Words', 'a\nb\n', '-x', 'x'.repeat(5_000)])('a .memd file that holds %j', async (text) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, '.memd'), text);
    const project = await projectOf(folder, options());
    expect(project).toMatchObject({ scope: null, root: folder });
    expect(project?.fault).toContain('.memd: ');
  });

  test('a shallow clone has no root commit; the config may say what it is', async () => {
    const folder = temporaryFolder();
    makeRepository(join(folder, 'full'), { 'a.md': 'x' });
    commitFiles(join(folder, 'full'), { 'b.md': 'x' });
    git(folder, 'clone', '-q', '--depth', '1', `file://${folder}/full`, 'short');
    const short = join(folder, 'short');
    expect(await projectOf(short, options())).toMatchObject({ scope: null, root: short });
    expect((await projectOf(short, options({ [short]: 'mine' })))?.scope).toBe('mine');
  });

  test('a repository without a commit, and one without git', async () => {
    const folder = temporaryFolder();
    git(folder, 'init', '-q', '-b', 'main');
    expect(await projectOf(folder, options())).toMatchObject({ scope: null });
    commitFiles(folder, { 'a.md': 'x' });
    vi.stubEnv('PATH', '/nonexistent');
    try {
      expect(await projectOf(folder, options())).toMatchObject({ scope: null });
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test('a folder that is gone', async () => {
    const folder = mkdtempSync(join(temporaryFolder(), 'gone-'));
    rmSync(folder, { recursive: true });
    expect(await projectOf(folder, options())).toBeUndefined();
  });
});

test('projects: the answer of git is kept; a cache that cannot be written or is damaged changes nothing', async () => {
  const folder = temporaryFolder();
  const root = makeRepository(join(folder, 'web'), { 'a.md': 'x' });
  const scope = `p-${root.slice(0, 12)}`;
  const said = { scopes: new Map<string, string>(), env: { XDG_CACHE_HOME: join(folder, 'cache') } };
  expect((await projectOf(join(folder, 'web'), said))?.scope).toBe(scope);
  vi.stubEnv('PATH', '/nonexistent');
  try {
    expect((await projectOf(join(folder, 'web'), said))?.scope).toBe(scope);
  } finally {
    vi.unstubAllEnvs();
  }
  const kept = join(folder, 'cache/memd/scopes');
  for (const name of readdirSync(kept)) writeFileSync(join(kept, name), '\0 not a scope');
  expect((await projectOf(join(folder, 'web'), said))?.scope).toBe(scope);
  writeFileSync(join(folder, 'file'), '');
  const nowhere = { ...said, env: { XDG_CACHE_HOME: join(folder, 'file') } };
  expect((await projectOf(join(folder, 'web'), nowhere))?.scope).toBe(scope);
});
