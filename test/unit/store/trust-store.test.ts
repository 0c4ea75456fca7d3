import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { childEnvironment } from '../../../src/store/child.ts';
import { encodeCommit, encodeObject, encodeTree, type TreeEntry } from '../../../src/store/git/object-id.ts';
import { writeObjects } from '../../../src/store/git/objects.ts';
import { trustRef } from '../../../src/store/git/refs.ts';
import { initRepository, type Repository } from '../../../src/store/git/repository.ts';
import { addTrustOps, readTrust, readTrustCommit, type StoredTrustOp } from '../../../src/store/trust-store.ts';
import { temporaryFolder } from '../../lib/temporary.ts';

const author = 'memd <alpha@mesh>';

async function repositoryOf(): Promise<Repository> {
  return initRepository(path.join(temporaryFolder(), 'repo.git'), { host: 'alpha' });
}

/** An op under a made-up id: the store does not look into its text. */
function op(start: string): StoredTrustOp {
  return { id: start.padEnd(64, '0'), text: `{"op":"${start}"}` };
}

function git(repository: Repository, ...args: string[]): string {
  return execFileSync('git', ['--git-dir', repository.gitDir, ...args], {
    env: childEnvironment(),
    encoding: 'utf8',
    stdio: 'pipe',
  });
}

describe('trust branch', () => {
  test('there is none at first, and adding nothing makes none', async () => {
    const repository = await repositoryOf();
    expect(await readTrust(repository)).toEqual({ oid: null, ops: [], dropped: 0 });
    expect(await addTrustOps(repository, { ops: [], author, seconds: 0 })).toBeNull();
  });

  test('ops are one file each, merged by union, one commit per change', async () => {
    const repository = await repositoryOf();
    const first = await addTrustOps(repository, { ops: [op('ab1'), op('ff2')], author, seconds: 1 });
    const second = await addTrustOps(repository, { ops: [op('ab3'), op('ab1')], author, seconds: 2 });
    expect(second).not.toBe(first);
    expect(await addTrustOps(repository, { ops: [op('ab3')], author, seconds: 3 })).toBe(second);
    const { oid, ops } = await readTrust(repository);
    expect(oid).toBe(second);
    expect(ops).toEqual([op('ab1'), op('ab3'), op('ff2')]);
    expect(git(repository, 'ls-tree', '-r', '--name-only', 'trust').trim().split('\n')).toEqual(
      [op('ab1'), op('ab3'), op('ff2')].map(({ id }) => `${id.slice(0, 2)}/${id}.json`),
    );
    expect(git(repository, 'rev-list', '--count', 'trust').trim()).toBe('2');
    expect(git(repository, 'cat-file', 'blob', `trust:ab/${op('ab1').id}.json`)).toBe(`${op('ab1').text}\n`);
    expect(git(repository, 'fsck', '--strict')).toBe('');
  });

  test('the order in which ops arrive does not show in the tree', async () => {
    const trees = new Set<string>();
    for (const order of [
      ['ab1', 'ab2', 'cd3'],
      ['cd3', 'ab2', 'ab1'],
    ]) {
      const repository = await repositoryOf();
      for (const start of order) await addTrustOps(repository, { ops: [op(start)], author, seconds: 0 });
      trees.add(git(repository, 'rev-parse', 'trust^{tree}'));
    }
    expect(trees.size).toBe(1);
  });

  test('files of ops that are not kept go, and how many there were in all still shows', async () => {
    const repository = await repositoryOf();
    await addTrustOps(repository, { ops: [op('ab1'), op('ff2')], author, seconds: 1 });
    const dropped = await addTrustOps(repository, {
      ops: [op('cd3')],
      drop: [op('ff2').id, 'e'.repeat(64)],
      author,
      seconds: 2,
    });
    expect(await readTrust(repository)).toEqual({ oid: dropped, ops: [op('ab1'), op('cd3')], dropped: 1 });
    const again = await addTrustOps(repository, { ops: [], drop: [op('ab1').id], author, seconds: 3 });
    expect(await readTrust(repository)).toEqual({ oid: again, ops: [op('cd3')], dropped: 2 });
    expect(await addTrustOps(repository, { ops: [], drop: [op('ab1').id], author, seconds: 4 })).toBe(again);
    await addTrustOps(repository, { ops: [op('ab1')], author, seconds: 5 });
    expect(await readTrust(repository)).toMatchObject({ ops: [op('ab1'), op('cd3')], dropped: 2 });
    expect(git(repository, 'fsck', '--strict')).toBe('');
  });

  test('known ops are left out without being read', async () => {
    const repository = await repositoryOf();
    const oid = await addTrustOps(repository, { ops: [op('ab1'), op('ab2')], author, seconds: 0 });
    const blob = git(repository, 'rev-parse', `trust:ab/${op('ab1').id}.json`).trim();
    fs.rmSync(path.join(repository.objectDir, blob.slice(0, 2), blob.slice(2)));
    const read = await readTrustCommit(repository, oid ?? '', (id) => id === op('ab1').id);
    expect(read).toEqual({ ok: true, value: { ops: [op('ab2')], dropped: 0 } });
    await expect(readTrust(repository)).rejects.toMatchObject({
      code: 'OBJECT_MISSING',
      message: expect.stringContaining(op('ab1').id),
    });
  });

  test('a damaged ref is not an empty trust set', async () => {
    const repository = await repositoryOf();
    await addTrustOps(repository, { ops: [op('ab1')], author, seconds: 0 });
    fs.writeFileSync(path.join(repository.gitDir, trustRef), '');
    await expect(readTrust(repository)).rejects.toMatchObject({ code: 'REF_DAMAGED' });
    await expect(addTrustOps(repository, { ops: [op('ab2')], author, seconds: 0 })).rejects.toMatchObject({
      code: 'REF_DAMAGED',
    });
  });
});

describe('trust trees of a peer', () => {
  const id = op('ab1').id;
  const file = (name: string, content = '{}\n'): { entry: TreeEntry; content: string } => ({
    entry: { name, oid: encodeObject('blob', Buffer.from(content)).oid, folder: false },
    content,
  });

  async function verdict(folder: string, files: ReturnType<typeof file>[]): Promise<string> {
    const repository = await repositoryOf();
    const inner = encodeTree(files.map(({ entry }) => entry));
    const root = encodeTree([{ name: folder, oid: inner.oid, folder: true }]);
    const commit = encodeCommit({ tree: root.oid, parent: null, author, seconds: 0, message: 'x\n' });
    await writeObjects(repository, [
      ...files.map(({ content }) => encodeObject('blob', Buffer.from(content))),
      inner,
      root,
      commit,
    ]);
    const read = await readTrustCommit(repository, commit.oid);
    return read.ok ? 'ok' : read.code;
  }

  test.each<[string, string, ReturnType<typeof file>[], string]>([
    ['sound', 'ab', [file(`${id}.json`)], 'ok'],
    ['a file in the wrong folder', 'cd', [file(`${id}.json`)], 'TREE_SHAPE'],
    ['another file name', 'ab', [file('README')], 'TREE_SHAPE'],
    ['another folder name', 'AB', [file(`${id}.json`)], 'TREE_SHAPE'],
    ['two lines', 'ab', [file(`${id}.json`, '{}\n{}\n')], 'TREE_SHAPE'],
    ['no newline', 'ab', [file(`${id}.json`, '{}')], 'TREE_SHAPE'],
    ['an op that is too large', 'ab', [file(`${id}.json`, `${'x'.repeat(70_000)}\n`)], 'TOO_LARGE'],
  ])('%s', async (_, folder, files, expected) => {
    expect(await verdict(folder, files)).toBe(expected);
  });

  test('a commit that is none and one that is missing', async () => {
    const repository = await repositoryOf();
    await writeObjects(repository, [encodeTree([])]);
    expect(await readTrustCommit(repository, encodeTree([]).oid)).toMatchObject({ ok: false, code: 'NOT_A_COMMIT' });
    expect(await readTrustCommit(repository, '1'.repeat(40))).toMatchObject({ ok: false, code: 'OBJECT_MISSING' });
  });
});
