import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { childEnvironment } from '../../../../src/store/child.ts';
import { dropUnreachable } from '../../../../src/store/git/drop-unreachable.ts';
import { logRef, readRef } from '../../../../src/store/git/refs.ts';
import { initRepository, type Repository } from '../../../../src/store/git/repository.ts';
import { rewriteLog } from '../../../../src/store/logs/log-rewrite.ts';
import { createLogStore, readLog } from '../../../../src/store/logs/log-store.ts';
import { findBytes } from '../../../lib/byte-search.ts';
import { bodyOf, lessons, logOf, mesh } from '../../../lib/events.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

const secret = 'the-word-that-must-go';
const lines = logOf([...lessons(3), bodyOf({ kind: 'lesson', subject: 'lesson/secret', content: secret }, 9)]);

function git(repository: Repository, args: readonly string[], input = ''): string {
  const options = { env: childEnvironment(), encoding: 'utf8', stdio: 'pipe', input } as const;
  return execFileSync('git', ['--git-dir', repository.gitDir, ...args], options).trim();
}

/** A repository whose log had the secret, and the commit in which it had. */
async function rewritten(): Promise<{ readonly repository: Repository; readonly old: string }> {
  const repository = await initRepository(path.join(temporaryFolder(), 'repo.git'), { host: 'alpha' });
  const writer = await createLogStore({ repository, meshId: mesh }).openWriter('alpha');
  for (const line of lines) await writer.append([line]);
  const old = readRef(repository, logRef('alpha')) ?? '';
  return { repository, old };
}

async function purge(repository: Repository): Promise<readonly string[]> {
  const purged = new Set([lines[3]?.id ?? '']);
  await rewriteLog({ repository, host: 'alpha', meshId: mesh, purged });
  return dropUnreachable(repository);
}

async function expectGone(repository: Repository): Promise<void> {
  expect(findBytes(repository.gitDir, secret, repository.gitDir)).toEqual([]);
  expect(git(repository, ['fsck', '--strict', '--full'])).toBe('');
  expect((await readLog(repository, 'alpha')).lines).toHaveLength(4);
  expect(git(repository, ['symbolic-ref', 'HEAD'])).toBe('refs/heads/log/alpha');
}

/** What may keep an old commit alive, by hand or by another program. */
const keepers: readonly (readonly [string, (repository: Repository, old: string) => unknown, readonly string[]])[] = [
  [
    'a branch and a tag',
    (at, old) => [git(at, ['branch', 'backup', old]), git(at, ['tag', 'v1', old])],
    ['refs/heads/backup', 'refs/tags/v1'],
  ],
  [
    'a ref of another kind, packed',
    (at, old) => [git(at, ['update-ref', 'refs/original/x', old]), git(at, ['pack-refs', '--all'])],
    ['refs/original/x'],
  ],
  [
    'a symbolic ref',
    (at, old) => [git(at, ['branch', 'backup', old]), git(at, ['symbolic-ref', 'refs/heads/way', 'refs/heads/backup'])],
    ['refs/heads/backup', 'refs/heads/way'],
  ],
  [
    'a branch under a name that no host has',
    (at, old) => git(at, ['update-ref', 'refs/heads/log/Old.Copy', old]),
    ['refs/heads/log/Old.Copy'],
  ],
  [
    'a reflog',
    (at, old) =>
      git(at, [
        '-c',
        'core.logAllRefUpdates=always',
        'update-ref',
        '-m',
        'x',
        '--create-reflog',
        'refs/heads/log/alpha',
        old,
        old,
      ]),
    ['logs'],
  ],
  ['a detached HEAD', (at, old) => fs.writeFileSync(path.join(at.gitDir, 'HEAD'), `${old}\n`), ['HEAD']],
  [
    'a work tree',
    (at, old) => git(at, ['worktree', 'add', '-q', '--detach', path.join(temporaryFolder(), 'tree'), old]),
    ['worktrees'],
  ],
  ['a pack that is kept', (at) => [git(at, ['repack', '-adq']), keepPacks(at)], []],
  ['a pack under another name', (at) => [git(at, ['repack', '-adq']), renamePacks(at)], []],
  ['bitmaps and an index over several packs', (at) => git(at, ['repack', '-adbmq']), []],
  [
    'a cruft pack',
    (at, old) => [
      git(at, ['update-ref', '-d', 'refs/heads/log/alpha']),
      git(at, ['repack', '-dq', '--cruft']),
      git(at, ['update-ref', 'refs/heads/log/alpha', old]),
    ],
    [],
  ],
  [
    'a folder of objects that a dead program left',
    (at) => fs.cpSync(objectsOf(at), path.join(at.gitDir, 'objects', 'incoming-x'), { recursive: true }),
    ['objects/incoming-x'],
  ],
  [
    'what git fsck found',
    (at, old) => [
      fs.mkdirSync(path.join(at.gitDir, 'lost-found/other'), { recursive: true }),
      fs.writeFileSync(path.join(at.gitDir, 'lost-found/other', old), secret),
    ],
    ['lost-found'],
  ],
];

function objectsOf({ objectDir }: Repository): string {
  const copy = path.join(temporaryFolder(), 'objects');
  fs.cpSync(objectDir, copy, { recursive: true });
  return copy;
}

function packsOf({ objectDir }: Repository): readonly string[] {
  const folder = path.join(objectDir, 'pack');
  return fs.readdirSync(folder).map((name) => path.join(folder, name));
}

function keepPacks(repository: Repository): void {
  for (const file of packsOf(repository).filter((name) => name.endsWith('.pack')))
    fs.writeFileSync(file.replace(/\.pack$/, '.keep'), '');
}

/** As `git maintenance run --task=loose-objects` calls them. */
function renamePacks(repository: Repository): void {
  for (const file of packsOf(repository)) fs.renameSync(file, file.replace('/pack/pack-', '/pack/loose-'));
}

describe('dropping what no branch reaches', () => {
  test.each(keepers)('%s keeps nothing', { timeout: 30_000 }, async (_, keep, told) => {
    const { repository, old } = await rewritten();
    keep(repository, old);
    expect(findBytes(repository.gitDir, secret, repository.gitDir)).not.toEqual([]);
    expect(await purge(repository)).toEqual(told);
    await expectGone(repository);
  });

  test('objects that another repository lends are not read through this one any more', async () => {
    const { repository, old } = await rewritten();
    const lent = path.join(temporaryFolder(), 'lent');
    fs.cpSync(repository.objectDir, lent, { recursive: true });
    fs.mkdirSync(path.join(repository.objectDir, 'info'), { recursive: true });
    fs.writeFileSync(path.join(repository.objectDir, 'info/alternates'), `${lent}\n`);
    await purge(repository);
    expect(() => git(repository, ['cat-file', '-e', old])).toThrow('Command failed');
    await expectGone(repository);
  });

  test('what lies in the place of loose objects goes by its own name, and nothing behind a link is touched', async () => {
    const { repository } = await rewritten();
    const outside = temporaryFolder();
    fs.writeFileSync(path.join(outside, 'kept'), 'of somebody else');
    const [linked, folder, file] = ['00', '01', '02', '03', '04', '05', '06', '07', '08', '09', '0a', '0b', '0c']
      .map((fan) => path.join(repository.objectDir, fan))
      .filter((name) => !fs.existsSync(name));
    fs.symlinkSync(outside, linked ?? '');
    fs.mkdirSync(path.join(folder ?? '', 'sub'), { recursive: true });
    fs.writeFileSync(path.join(folder ?? '', 'sub', 'note'), secret);
    fs.writeFileSync(file ?? '', secret);
    await purge(repository);
    expect(fs.readdirSync(outside)).toEqual(['kept']);
    expect(fs.existsSync(linked ?? '')).toBe(false);
    await expectGone(repository);
  });

  test('an object of a branch that is missing: nothing goes', async () => {
    const { repository, old } = await rewritten();
    const before = fs.readdirSync(repository.objectDir, { recursive: true });
    fs.writeFileSync(path.join(repository.gitDir, 'refs/heads/view/alpha'), `${'1'.repeat(40)}\n`);
    await expect(dropUnreachable(repository)).rejects.toMatchObject({ code: 'CHILD_FAILED' });
    expect(fs.readdirSync(repository.objectDir, { recursive: true })).toEqual(before);
    expect(git(repository, ['cat-file', '-t', old])).toBe('commit');
  });
});
