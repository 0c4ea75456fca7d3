import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { childEnvironment } from '../../../../src/store/child.ts';
import { realDisk } from '../../../../src/store/disk.ts';
import {
  decodeCommit,
  decodeTree,
  encodeCommit,
  encodeObject,
  encodeTree,
  isOid,
} from '../../../../src/store/git/object-id.ts';
import { commitObjects, writeObjects } from '../../../../src/store/git/objects.ts';
import { readRef } from '../../../../src/store/git/refs.ts';
import { initRepository, type Repository } from '../../../../src/store/git/repository.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

const ref = 'refs/heads/log/alpha';
const author = `memd <alpha@${'0'.repeat(64)}>`;

async function repositoryOf(disk = realDisk): Promise<Repository> {
  return initRepository(path.join(temporaryFolder(), 'repo.git'), { host: 'alpha', disk });
}

function git(repository: Repository, ...args: string[]): string {
  return execFileSync('git', ['--git-dir', repository.gitDir, ...args], {
    env: childEnvironment(),
    encoding: 'utf8',
    stdio: 'pipe',
  });
}

describe('object encoding', () => {
  test('ids, trees and commits are those of stock git', async () => {
    const repository = await repositoryOf();
    const blob = encodeObject('blob', Buffer.from('héllo\n'));
    const tree = encodeTree([
      { name: 'b', oid: blob.oid, folder: false },
      { name: 'a.jsonl', oid: blob.oid, folder: false },
    ]);
    const top = encodeTree([
      { name: 'a.b', oid: blob.oid, folder: false },
      { name: 'a', oid: tree.oid, folder: true },
    ]);
    const commit = encodeCommit({ tree: top.oid, parent: null, author, seconds: 1_700_000_000.9, message: 'one\n' });
    await writeObjects(repository, [blob, tree, top, commit]);
    expect(git(repository, 'cat-file', 'blob', blob.oid)).toBe('héllo\n');
    expect(git(repository, 'ls-tree', '--name-only', top.oid)).toBe('a.b\na\n');
    expect(git(repository, 'log', '-1', '--format=%an <%ae> %ad %s', '--date=iso-strict', commit.oid)).toBe(
      `${author} 2023-11-14T22:13:20+00:00 one\n`,
    );
    expect(git(repository, 'fsck', '--strict', '--no-dangling')).toBe('');
  });

  test('a date before 1970 is written as 1970, which git accepts', async () => {
    const repository = await repositoryOf();
    const tree = encodeTree([]);
    const commit = encodeCommit({ tree: tree.oid, parent: null, author, seconds: -5, message: 'old\n' });
    await writeObjects(repository, [tree, commit]);
    expect(git(repository, 'fsck', '--strict', '--no-dangling')).toBe('');
  });

  test('decoding is the inverse, and nonsense is undefined', () => {
    const blob = encodeObject('blob', Buffer.from('x'));
    expect(decodeTree(Buffer.from('100644 a\0é'))).toBeUndefined();
    expect(decodeTree(Buffer.from('100644'))).toBeUndefined();
    expect(decodeTree(Buffer.concat([Buffer.from('100644 a\0'), Buffer.from(blob.oid, 'hex')]))).toEqual([
      { mode: '100644', name: 'a', oid: blob.oid },
    ]);
    const text = `tree ${blob.oid}\nparent ${blob.oid}\nparent ${'1'.repeat(40)}\nauthor x\n\nparent ${'2'.repeat(40)}\n`;
    expect(decodeCommit(Buffer.from(text))).toEqual({ tree: blob.oid, parents: [blob.oid, '1'.repeat(40)] });
    expect(decodeCommit(Buffer.from('parent x\n'))).toBeUndefined();
    expect(isOid(blob.oid)).toBe(true);
    expect(isOid(blob.oid.toUpperCase())).toBe(false);
  });
});

describe('object writer', () => {
  test('every file is flushed before its rename, and every folder that got a name afterwards', async () => {
    const steps: string[] = [];
    const disk = {
      ...realDisk,
      syncFile: (descriptor: number, file: string) => (
        steps.push(`flush ${path.basename(path.dirname(file))}`),
        realDisk.syncFile(descriptor, file)
      ),
      rename: (from: string, to: string) => (
        steps.push(`rename ${path.basename(path.dirname(to))}`),
        realDisk.rename(from, to)
      ),
      syncDirectory: (directory: string) => (
        steps.push(`folder ${path.basename(directory)}`),
        realDisk.syncDirectory(directory)
      ),
    };
    const repository = { ...(await repositoryOf()), disk };
    const blob = encodeObject('blob', Buffer.from('x'));
    const folder = blob.oid.slice(0, 2);
    await commitObjects(repository, {
      ref,
      expected: null,
      objects: [blob],
      tree: encodeTree([]).oid,
      author,
      seconds: 0,
      message: 'm\n',
    });
    const at = (step: string): number => steps.indexOf(step);
    expect(at(`flush ${folder}`)).toBeLessThan(at(`rename ${folder}`));
    expect(at(`rename ${folder}`)).toBeLessThan(at(`folder ${folder}`));
    expect(steps).toContain('folder objects');
    expect(steps.indexOf('flush log')).toBeLessThan(steps.indexOf('rename log'));
    expect(steps.slice(-2)).toEqual(['rename log', 'folder log']);
  });

  test('a damaged object of the same name, left by a crash, is replaced and not trusted', async () => {
    const repository = await repositoryOf();
    const blob = encodeObject('blob', Buffer.from('content\n'));
    const file = path.join(repository.objectDir, blob.oid.slice(0, 2), blob.oid.slice(2));
    fs.mkdirSync(path.dirname(file));
    fs.writeFileSync(file, '');
    await writeObjects(repository, [blob]);
    expect(git(repository, 'cat-file', 'blob', blob.oid)).toBe('content\n');
  });

  test('a write that fails leaves no temporary file and no lock', async () => {
    const disk = {
      ...realDisk,
      syncDirectory: () => Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' })),
    };
    const repository = { ...(await repositoryOf()), disk };
    await expect(
      commitObjects(repository, {
        ref,
        expected: null,
        objects: [],
        tree: encodeTree([]).oid,
        author,
        seconds: 0,
        message: 'm\n',
      }),
    ).rejects.toMatchObject({ code: 'DISK_FULL' });
    const left = fs
      .readdirSync(repository.gitDir, { recursive: true, encoding: 'utf8' })
      .filter((name) => /tmp_obj|\.lock$/.test(name));
    expect(left).toEqual([]);
    expect(readRef(repository, ref)).toBeNull();
  });

  test('objects are read-only files, as those of git', async () => {
    const repository = await repositoryOf();
    const blob = encodeObject('blob', Buffer.from('x'));
    await writeObjects(repository, [blob]);
    const file = path.join(repository.objectDir, blob.oid.slice(0, 2), blob.oid.slice(2));
    expect(fs.statSync(file).mode & 0o222).toBe(0);
  });
});

describe('beside git prune-packed, which removes folders that are empty', () => {
  /** A disk on which the folder of a new file is gone again, so many times. */
  async function sweptRepository(times: number): Promise<Repository> {
    const repository = await repositoryOf();
    let left = times;
    const createFile: typeof realDisk.createFile = (file, data, mode) => {
      if (left > 0) fs.rmdirSync(path.dirname(file));
      left -= 1;
      return realDisk.createFile(file, data, mode);
    };
    return { ...repository, disk: { ...realDisk, createFile } };
  }

  test('an object is written all the same, and its folder is durable', async () => {
    const repository = await sweptRepository(3);
    const blob = encodeObject('blob', Buffer.from('one\n'));
    await writeObjects(repository, [blob]);
    expect(git(repository, 'cat-file', 'blob', blob.oid)).toBe('one\n');
  });

  test('a folder that never stays is a failure of the disk', async () => {
    const repository = await sweptRepository(1_000);
    const writing = writeObjects(repository, [encodeObject('blob', Buffer.from('one\n'))]);
    await expect(writing).rejects.toMatchObject({ code: 'DISK_FAILED' });
  });
});
