import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { childEnvironment } from '../../../../src/store/child.ts';
import { encodeTree } from '../../../../src/store/git/object-id.ts';
import { commitObjects } from '../../../../src/store/git/objects.ts';
import {
  branchCommit,
  compareAndSwapRef,
  listLogs,
  logRef,
  readRef,
  syncRef,
  unreadableCommit,
  viewBranch,
  viewHosts,
} from '../../../../src/store/git/refs.ts';
import { initRepository, openRepository, type Repository } from '../../../../src/store/git/repository.ts';
import { realDisk } from '../../../../src/store/disk.ts';
import { droppingDisk } from '../../../lib/dropping-disk.ts';
import { faultDisk } from '../../../lib/fault-disk.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

async function withCommits(count: number): Promise<{ repository: Repository; oids: string[] }> {
  const repository = await initRepository(path.join(temporaryFolder(), 'repo.git'), { host: 'alpha' });
  const tree = encodeTree([]);
  const oids: string[] = [];
  for (let n = 0; n < count; n += 1) {
    oids.push(
      await commitObjects(repository, {
        ref: logRef('alpha'),
        expected: oids.at(-1) ?? null,
        objects: [tree],
        tree: tree.oid,
        author: 'a <b>',
        seconds: n,
        message: `${n}\n`,
      }),
    );
  }
  return { repository, oids };
}

const file = (repository: Repository): string => path.join(repository.gitDir, logRef('alpha'));

describe('reading a branch', () => {
  test('a branch that never was is null', async () => {
    const { repository } = await withCommits(0);
    expect(readRef(repository, logRef('alpha'))).toBeNull();
  });

  test.each([
    ['empty', ''],
    ['NUL bytes, as a crash leaves them', '\0'.repeat(41)],
    ['cut off', 'abc123\n'],
    ['a symbolic ref', 'ref: refs/heads/log/beta\n'],
    ['upper case', `${'A'.repeat(40)}\n`],
    ['two lines', `${'a'.repeat(40)}\n${'b'.repeat(40)}\n`],
  ])('a damaged ref (%s) is an error, never "no branch"', async (_, content) => {
    const { repository } = await withCommits(1);
    fs.writeFileSync(file(repository), content);
    expect(() => readRef(repository, logRef('alpha'))).toThrow(
      expect.objectContaining({
        code: 'REF_DAMAGED',
        message: expect.stringContaining(file(repository)),
        hint: expect.stringContaining('restore'),
      }),
    );
    expect(() => listLogs(repository)).toThrow(expect.objectContaining({ code: 'REF_DAMAGED' }));
  });

  test('a folder in its place is damage like any other: who passes over a damaged branch passes over it too', async () => {
    const { repository } = await withCommits(1);
    fs.rmSync(file(repository));
    fs.mkdirSync(file(repository));
    expect(() => readRef(repository, logRef('alpha'))).toThrow(expect.objectContaining({ code: 'REF_DAMAGED' }));
  });

  test('a branch that cannot be read may name anything; one that is overwritten names nothing', async () => {
    const { repository, oids } = await withCommits(1);
    expect(branchCommit(repository, 'beta')).toBe('');
    expect(branchCommit(repository, 'alpha')).toBe(oids[0]);
    fs.writeFileSync(file(repository), Buffer.alloc(41));
    expect(branchCommit(repository, 'alpha')).toBe('');
    fs.rmSync(file(repository));
    fs.mkdirSync(file(repository));
    expect(branchCommit(repository, 'alpha')).toBe(unreadableCommit);
  });

  test('journals are found by their names, also where a branch is damaged', async () => {
    const { repository, oids } = await withCommits(1);
    const [next = ''] = oids;
    await compareAndSwapRef(repository, { ref: viewBranch('beta').ref, expected: null, next });
    fs.writeFileSync(path.join(repository.gitDir, viewBranch('alpha').ref), '');
    expect(viewHosts(repository)).toEqual(['alpha', 'beta']);
  });

  test('packed refs count, and a loose ref beside them wins', async () => {
    const { repository, oids } = await withCommits(2);
    execFileSync('git', ['--git-dir', repository.gitDir, 'pack-refs', '--all', '--prune'], { env: childEnvironment() });
    expect(fs.existsSync(file(repository))).toBe(false);
    expect(readRef(repository, logRef('alpha'))).toBe(oids[1]);
    expect([...listLogs(repository)]).toEqual([['alpha', oids[1]]]);
    fs.mkdirSync(path.dirname(file(repository)), { recursive: true });
    fs.writeFileSync(file(repository), `${oids[0]}\n`);
    expect(readRef(repository, logRef('alpha'))).toBe(oids[0]);
  });

  test.each([
    ['NUL bytes', '\0'.repeat(200)],
    ['cut off', `${'a'.repeat(40)} refs/heads/log/al`],
    ['nonsense', 'hello\n'],
  ])('damaged packed refs (%s) are an error', async (_, content) => {
    const { repository } = await withCommits(0);
    fs.writeFileSync(path.join(repository.gitDir, 'packed-refs'), content);
    expect(() => readRef(repository, logRef('alpha'))).toThrow(
      expect.objectContaining({ code: 'REF_DAMAGED', message: expect.stringContaining('packed-refs') }),
    );
  });

  test('names from elsewhere cannot leave the folder of refs', async () => {
    const { repository } = await withCommits(0);
    for (const host of ['../../../etc', 'a/b', '', 'A', '.lock'])
      expect(() => readRef(repository, logRef(host))).toThrow('assertion failed');
  });
});

describe('moving a branch', () => {
  test('it moves only from the value that the write was built on', async () => {
    const { repository, oids } = await withCommits(2);
    const [first = '', second = ''] = oids;
    await expect(
      compareAndSwapRef(repository, { ref: logRef('alpha'), expected: first, next: second }),
    ).rejects.toMatchObject({
      code: 'REF_CHANGED',
      retry: 'now',
      message: expect.stringContaining(second),
    });
    await expect(
      compareAndSwapRef(repository, { ref: logRef('alpha'), expected: null, next: first }),
    ).rejects.toMatchObject({ code: 'REF_CHANGED' });
    expect(readRef(repository, logRef('alpha'))).toBe(second);
    expect(fs.existsSync(`${file(repository)}.lock`)).toBe(false);
    await compareAndSwapRef(repository, { ref: logRef('alpha'), expected: second, next: first });
    expect(readRef(repository, logRef('alpha'))).toBe(first);
  });

  test('it also compares with packed refs', async () => {
    const { repository, oids } = await withCommits(2);
    execFileSync('git', ['--git-dir', repository.gitDir, 'pack-refs', '--all', '--prune'], { env: childEnvironment() });
    await expect(
      compareAndSwapRef(repository, { ref: logRef('alpha'), expected: null, next: oids[0] ?? '' }),
    ).rejects.toMatchObject({ code: 'REF_CHANGED' });
    await compareAndSwapRef(repository, { ref: logRef('alpha'), expected: oids[1] ?? '', next: oids[0] ?? '' });
    expect(readRef(repository, logRef('alpha'))).toBe(oids[0]);
  });

  test('a lock that somebody holds is respected, not removed', async () => {
    const { repository, oids } = await withCommits(1);
    fs.writeFileSync(`${file(repository)}.lock`, '');
    await expect(
      compareAndSwapRef(repository, { ref: logRef('alpha'), expected: oids[0] ?? '', next: oids[0] ?? '' }),
    ).rejects.toMatchObject({ code: 'REF_LOCKED' });
    expect(fs.existsSync(`${file(repository)}.lock`)).toBe(true);
  });

  test('stock git honours our lock and we honour its value', async () => {
    const { repository, oids } = await withCommits(2);
    execFileSync('git', ['--git-dir', repository.gitDir, 'update-ref', logRef('alpha'), oids[0] ?? ''], {
      env: childEnvironment(),
    });
    await expect(
      compareAndSwapRef(repository, { ref: logRef('alpha'), expected: oids[1] ?? '', next: oids[1] ?? '' }),
    ).rejects.toMatchObject({ code: 'REF_CHANGED' });
  });

  test('of many moves at once from one value exactly one wins', async () => {
    const { repository, oids } = await withCommits(3);
    const from = oids[2] ?? '';
    const moves = Array.from({ length: 12 }, (_, index) =>
      compareAndSwapRef(repository, { ref: logRef('alpha'), expected: from, next: oids[index % 2] ?? '' }),
    );
    const results = await Promise.allSettled(moves);
    expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1);
  });
});

test('a move whose last flush failed is seen, and survives a power cut only once it was flushed', async () => {
  const { repository, oids } = await withCommits(2);
  const faults = faultDisk(realDisk);
  const disk = droppingDisk(faults, repository.gitDir);
  const shaky = { ...openRepository(repository.gitDir, { disk }), disk };
  disk.settle();
  const ref = logRef('alpha');
  const afterPowerCut = (): string | null => {
    const gitDir = path.join(temporaryFolder(), 'left.git');
    disk.cutPower(gitDir);
    return readRef({ ...shaky, gitDir }, ref);
  };
  faults.arm(/^syncDirectory/, 'failed');
  await expect(compareAndSwapRef(shaky, { ref, expected: oids[1], next: String(oids[0]) })).rejects.toThrow('EIO');
  faults.disarm();
  expect(readRef(shaky, ref)).toBe(oids[0]);
  expect(afterPowerCut()).toBe(oids[1]);
  await syncRef(shaky, ref);
  expect(afterPowerCut()).toBe(oids[0]);
});
