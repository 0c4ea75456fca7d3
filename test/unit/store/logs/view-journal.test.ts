import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { viewNotesBytesMax } from '../../../../src/core/limits.ts';
import { realDisk } from '../../../../src/store/disk.ts';
import { encodeCommit, encodeObject, encodeTree } from '../../../../src/store/git/object-id.ts';
import { writeObjects } from '../../../../src/store/git/objects.ts';
import { compareAndSwapRef, viewBranch } from '../../../../src/store/git/refs.ts';
import { initRepository, runGit, type Repository } from '../../../../src/store/git/repository.ts';
import {
  openViewWriter,
  readNewestViewLine,
  readNotes,
  readViewLines,
} from '../../../../src/store/logs/view-journal.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';
import { nextViewLine, viewLines, viewMesh as meshId } from '../../../lib/view-lines.ts';

const hastyDisk = { ...realDisk, syncFile: () => Promise.resolve(), syncDirectory: () => Promise.resolve() };
const host = 'alpha';

function repositoryOf(): Promise<Repository> {
  return initRepository(path.join(temporaryFolder(), 'repo.git'), { host, disk: hastyDisk });
}

async function numbersIn(repository: Repository): Promise<number[]> {
  const numbers: number[] = [];
  for await (const line of readViewLines(repository, host)) numbers.push(line.n);
  return numbers;
}

async function plant(repository: Repository, text: string): Promise<void> {
  const blob = encodeObject('blob', Buffer.from(text));
  const leaf = encodeTree([{ name: '00.jsonl', oid: blob.oid, folder: false }]);
  const middle = encodeTree([{ name: '00', oid: leaf.oid, folder: true }]);
  const root = encodeTree([{ name: '00', oid: middle.oid, folder: true }]);
  const commit = encodeCommit({ tree: root.oid, parent: null, author: 'a <b>', seconds: 0, message: 'x\n' });
  await writeObjects(repository, [blob, leaf, middle, root, commit]);
  await compareAndSwapRef(repository, { ref: viewBranch(host).ref, expected: null, next: commit.oid });
}

describe('a view journal', () => {
  test('a host without one has no line and no notes', async () => {
    const repository = await repositoryOf();
    expect(await readNewestViewLine(repository, host)).toBeUndefined();
    expect(await readNotes(repository, host)).toBeUndefined();
    expect((await openViewWriter({ repository, host, meshId })).newest()).toBeNull();
  });

  test('lines are read back newest first, over segments, and by a writer that is opened anew', async () => {
    const repository = await repositoryOf();
    const lines = viewLines(host, 40);
    const writer = await openViewWriter({ repository, host, meshId });
    for (const line of lines) await writer.append(line);
    expect(await numbersIn(repository)).toEqual(lines.map(({ n }) => n).toReversed());
    const again = await openViewWriter({ repository, host, meshId });
    expect(again.newest()).toEqual(lines.at(-1));
    await again.append(nextViewLine(host, again.newest()));
    expect((await readNewestViewLine(repository, host))?.n).toBe(41);
    expect((await runGit(repository, { args: ['fsck', '--strict'] })).code).toBe(0);
    const files = await runGit(repository, { args: ['ls-tree', '-r', '--name-only', viewBranch(host).ref] });
    expect(files.stdout.toString().split('\n').slice(0, 2)).toEqual(['00/00/00.jsonl', '00/00/01.jsonl']);
  });

  test('notes stand beside the lines: each leaves the other as it is', async () => {
    const repository = await repositoryOf();
    const writer = await openViewWriter({ repository, host, meshId });
    await writer.append(nextViewLine(host, null));
    await writer.writeNotes('told PARKED ssh-route/mini\n');
    await writer.append(nextViewLine(host, writer.newest()));
    expect(await readNotes(repository, host)).toBe('told PARKED ssh-route/mini\n');
    expect(await numbersIn(repository)).toEqual([2, 1]);
    const again = await openViewWriter({ repository, host, meshId });
    await again.writeNotes('');
    expect(await readNotes(repository, host)).toBe('');
    expect(await numbersIn(repository)).toEqual([2, 1]);
    expect((await runGit(repository, { args: ['fsck', '--strict'] })).code).toBe(0);
  });

  test('notes without a line, and notes that are too long, are a mistake of the caller', async () => {
    const writer = await openViewWriter({ repository: await repositoryOf(), host, meshId });
    expect(() => writer.writeNotes('x')).toThrow('beside a line');
    await writer.append(nextViewLine(host, null));
    expect(() => writer.writeNotes('x'.repeat(viewNotesBytesMax + 1))).toThrow('bounded');
  });

  test('a line that is none, or of a later version, names the branch', async () => {
    for (const text of ['{}\n', nextViewLine(host, null).text.replace('"v":1', '"v":2') + '\n']) {
      const repository = await repositoryOf();
      await plant(repository, text);
      await expect(readNewestViewLine(repository, host)).rejects.toMatchObject({
        code: 'BRANCH_DAMAGED',
        message: expect.stringContaining('view alpha: a line cannot be read') as string,
      });
    }
  });
});
