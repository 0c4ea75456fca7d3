import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { segmentSealBytes } from '../../../../src/core/limits.ts';
import { childEnvironment } from '../../../../src/store/child.ts';
import { realDisk } from '../../../../src/store/disk.ts';
import {
  encodeCommit,
  encodeObject,
  encodeTree,
  type EncodedObject,
  type TreeEntry,
} from '../../../../src/store/git/object-id.ts';
import { writeObjects } from '../../../../src/store/git/objects.ts';
import { openReader } from '../../../../src/store/git/reader.ts';
import { compareAndSwapRef, logRef } from '../../../../src/store/git/refs.ts';
import { initRepository, type Repository } from '../../../../src/store/git/repository.ts';
import { createLogStore, readLog } from '../../../../src/store/logs/log-store.ts';
import { readLogLayout, readSegments } from '../../../../src/store/logs/log-tree.ts';
import { testLines } from '../../../lib/store-lines.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

const hastyDisk = { ...realDisk, syncFile: () => Promise.resolve(), syncDirectory: () => Promise.resolve() };
const meshId = '0'.repeat(64);

async function repositoryOf(): Promise<Repository> {
  return initRepository(path.join(temporaryFolder(), 'repo.git'), { host: 'alpha', disk: hastyDisk });
}

const full = `${'x'.repeat(segmentSealBytes)}\n`;

/** Files by path -> a commit, with whatever modes and names a hostile peer likes. */
async function plant(
  repository: Repository,
  files: Readonly<Record<string, string>>,
  change: (entry: TreeEntry & { mode?: string }) => TreeEntry = (entry) => entry,
): Promise<string> {
  const objects: EncodedObject[] = [];
  const folder = (prefix: string): string => {
    const names = new Set(
      Object.keys(files)
        .filter((name) => name.startsWith(prefix))
        .map((name) => name.slice(prefix.length).split('/')[0] ?? ''),
    );
    const entries = [...names].map((name): TreeEntry => {
      const content = files[prefix + name];
      if (content === undefined) return change({ name, oid: folder(`${prefix}${name}/`), folder: true });
      const blob = encodeObject('blob', Buffer.from(content, 'latin1'));
      objects.push(blob);
      return change({ name, oid: blob.oid, folder: false });
    });
    const tree = encodeTree(entries);
    objects.push(tree);
    return tree.oid;
  };
  const commit = encodeCommit({ tree: folder(''), parent: null, author: 'a <b>', seconds: 0, message: 'x\n' });
  await writeObjects(repository, [...objects, commit]);
  return commit.oid;
}

/** What reading the log at a commit ends with. */
async function verdict(repository: Repository, commit: string): Promise<string> {
  const reader = openReader(repository);
  try {
    const layout = await readLogLayout(reader, commit);
    if (!layout.ok) return `${layout.code}: ${layout.detail}`;
    let lines = 0;
    for await (const part of readSegments(reader, layout.value)) {
      if (!part.ok) return `${part.code}: ${part.detail}`;
      lines += part.value.lines.length;
    }
    return `${lines} lines`;
  } finally {
    await reader.close();
  }
}

describe('the tree of a log', () => {
  test('a sound one is read', async () => {
    const repository = await repositoryOf();
    expect(
      await verdict(repository, await plant(repository, { '00/00/00.jsonl': full, '00/00/01.jsonl': 'a\nb\n' })),
    ).toBe('3 lines');
  });

  test.each<[string, Record<string, string>, RegExp]>([
    ['another file name', { '00/00/00.txt': 'a\n' }, /^TREE_SHAPE: .*00\.jsonl was expected/],
    ['a gap', { '00/00/00.jsonl': full, '00/00/02.jsonl': 'a\n' }, /^TREE_SHAPE: .*01\.jsonl was expected/],
    ['an extra file beside the segments', { '00/00/00.jsonl': 'a\n', '00/00/README': 'x' }, /^TREE_SHAPE/],
    ['an extra file in the root', { '00/00/00.jsonl': 'a\n', '.gitattributes': '* text' }, /^TREE_SHAPE/],
    ['files where folders belong', { '00': 'a\n' }, /^TREE_SHAPE/],
    ['a fourth level', { '00/00/00.jsonl/x': 'a\n' }, /^TREE_SHAPE/],
    [
      'a later folder although the first is not full',
      { '00/00/00.jsonl': full, '00/01/00.jsonl': 'a\n' },
      /^TREE_SHAPE: 00\/00 is not full/,
    ],
    ['an empty segment', { '00/00/00.jsonl': '' }, /^TREE_SHAPE: 00\/00\/00\.jsonl is empty/],
    ['a torn last line', { '00/00/00.jsonl': 'a\n{"half":' }, /^TREE_SHAPE: .*its last line is torn/],
    [
      'a segment followed by another before it was full',
      { '00/00/00.jsonl': 'a\n', '00/00/01.jsonl': 'b\n' },
      /^TREE_SHAPE: .*is not full/,
    ],
    ['a segment that went on after its seal', { '00/00/00.jsonl': `${full}more\n` }, /^TREE_SHAPE: .*beyond its seal/],
    ['an oversized segment', { '00/00/00.jsonl': `${'x'.repeat(60_000)}\n` }, /^TOO_LARGE/],
  ])('%s is refused', async (_, files, expected) => {
    const repository = await repositoryOf();
    expect(await verdict(repository, await plant(repository, files))).toMatch(expected);
  });

  test('an empty tree, a blob and a tree in place of the commit are refused', async () => {
    const repository = await repositoryOf();
    const blob = encodeObject('blob', Buffer.from('x'));
    await writeObjects(repository, [blob, encodeTree([])]);
    expect(await verdict(repository, await plant(repository, {}))).toMatch(/^TREE_SHAPE/);
    expect(await verdict(repository, blob.oid)).toMatch(/^NOT_A_COMMIT/);
    expect(await verdict(repository, encodeTree([]).oid)).toMatch(/^NOT_A_COMMIT/);
    expect(await verdict(repository, '1'.repeat(40))).toMatch(/^OBJECT_MISSING/);
  });

  test.each(['100755', '120000', '160000', '100664', '040000'])('a file of mode %s is refused', async (mode) => {
    const repository = await repositoryOf();
    const blob = encodeObject('blob', Buffer.from('a\n'));
    const leaf = encodeObject('tree', Buffer.concat([Buffer.from(`${mode} 00.jsonl\0`), Buffer.from(blob.oid, 'hex')]));
    const middle = encodeTree([{ name: '00', oid: leaf.oid, folder: true }]);
    const root = encodeTree([{ name: '00', oid: middle.oid, folder: true }]);
    const commit = encodeCommit({ tree: root.oid, parent: null, author: 'a <b>', seconds: 0, message: 'x\n' });
    await writeObjects(repository, [blob, leaf, middle, root, commit]);
    expect(await verdict(repository, commit.oid)).toMatch(/^TREE_SHAPE: .*not a plain file/);
  });

  test('lines are split at 0x0A only, and bytes that are not UTF-8 come back as bytes', async () => {
    const repository = await repositoryOf();
    const commit = await plant(repository, { '00/00/00.jsonl': 'a\u0085b\nc\r\n\n\xff\xfe\n' });
    await compareAndSwapRef(repository, { ref: logRef('alpha'), expected: null, next: commit });
    const { lines } = await readLog(repository, 'alpha');
    expect(lines).toHaveLength(4);
    expect(lines[1]).toBe('c\r');
    expect(lines[2]).toBe('');
    expect(lines[0]).toBeInstanceOf(Uint8Array);
    expect([...(lines[3] as Uint8Array)]).toEqual([0xff, 0xfe]);
  });

  test('damage in our own branch names log, file and the next command', async () => {
    const repository = await repositoryOf();
    const store = createLogStore({ repository, meshId });
    await (await store.openWriter('alpha')).append(testLines(1, 60));
    const oid = execFileSync('git', ['--git-dir', repository.gitDir, 'rev-parse', 'log/alpha:00/00/01.jsonl'], {
      env: childEnvironment(),
      encoding: 'utf8',
    }).trim();
    const file = path.join(repository.objectDir, oid.slice(0, 2), oid.slice(2));
    fs.chmodSync(file, 0o600);
    fs.writeFileSync(file, '');
    await expect(store.readLog('alpha')).rejects.toMatchObject({
      code: 'OBJECT_DAMAGED',
      message: expect.stringMatching(/^log alpha: 00\/00\/01\.jsonl: .* is empty$/),
      hint: expect.stringContaining('memctl verify'),
    });
  });
});

describe('the layout of a log', () => {
  test('it depends on the lines alone: one by one, in pieces and in bulk give the same tree', async () => {
    const trees = new Set<string>();
    const lines = testLines(1, 150, 700);
    for (const sizes of [[150], [1, 2, 3, 5, 139], [25, 1, 124], 'bulk'] as const) {
      const repository = await repositoryOf();
      const writer = await createLogStore({ repository, meshId }).openWriter('alpha');
      let at = 0;
      for (const size of sizes === 'bulk' ? [] : sizes) {
        await writer.append(lines.slice(at, at + size));
        at += size;
      }
      if (sizes === 'bulk') await writer.appendBulk([lines.slice(0, 7), lines.slice(7)]);
      trees.add(
        execFileSync('git', ['--git-dir', repository.gitDir, 'rev-parse', 'log/alpha^{tree}'], {
          env: childEnvironment(),
          encoding: 'utf8',
        }),
      );
    }
    expect(trees.size).toBe(1);
  });

  test(
    'a log goes on over folder borders, in appends, in bulk, and after it is opened again',
    { timeout: 120_000 },
    async () => {
      const repository = await repositoryOf();
      const store = createLogStore({ repository, meshId });
      // One line fills one segment: 64 of them fill a folder.
      const lines = testLines(1, 4_110, segmentSealBytes + 10);
      const writer = await store.openWriter('alpha');
      await writer.append(lines.slice(0, 63));
      await writer.append(lines.slice(63, 64));
      await writer.append(lines.slice(64, 66));
      await (await store.openWriter('alpha')).append(lines.slice(66, 200));
      const third = await store.openWriter('alpha');
      await third.appendBulk([lines.slice(200, 4_095)]);
      await third.append(lines.slice(4_095, 4_096));
      await (await store.openWriter('alpha')).append(lines.slice(4_096, 4_110));
      expect((await store.readLog('alpha')).lines).toEqual(lines.map((line) => line.text));
      const names = execFileSync('git', ['--git-dir', repository.gitDir, 'ls-tree', '-r', '--name-only', 'log/alpha'], {
        env: childEnvironment(),
        encoding: 'utf8',
      })
        .trim()
        .split('\n');
      expect(names).toHaveLength(4_110);
      expect(names.at(-1)).toBe('01/00/13.jsonl');
      expect(
        execFileSync('git', ['--git-dir', repository.gitDir, 'fsck', '--strict'], {
          env: childEnvironment(),
          encoding: 'utf8',
          stdio: 'pipe',
        }),
      ).toBe('');
    },
  );

  test('commits are dated by the claimed time of their last line and name the host', async () => {
    const repository = await repositoryOf();
    const writer = await createLogStore({ repository, meshId }).openWriter('alpha');
    await writer.append(testLines(1, 2));
    await writer.append([
      { text: '{"x":1}', body: { at: '1931-01-01T00:00:00.000Z' } },
      { text: '{"x":2}', body: null },
    ]);
    const said = execFileSync(
      'git',
      ['--git-dir', repository.gitDir, 'log', '--format=%an <%ae>|%cI|%aI|%s', 'log/alpha'],
      { env: childEnvironment(), encoding: 'utf8' },
    );
    const who = `memd <alpha@${meshId}>`;
    expect(said).toBe(
      `${who}|1970-01-01T00:00:00+00:00|1970-01-01T00:00:00+00:00|log alpha: 2 lines\n${who}|2023-11-14T22:13:22+00:00|2023-11-14T22:13:22+00:00|log alpha: 2 lines\n`,
    );
  });

  test('a writer opens a log whose branch was packed away by another tool', async () => {
    const repository = await repositoryOf();
    const store = createLogStore({ repository, meshId });
    await (await store.openWriter('alpha')).append(testLines(1, 2));
    execFileSync('git', ['--git-dir', repository.gitDir, 'gc', '-q', '--prune=now'], { env: childEnvironment() });
    await (await store.openWriter('alpha')).append(testLines(3, 1));
    expect((await store.readLog('alpha')).lines).toEqual(testLines(1, 3).map((line) => line.text));
  });
});
