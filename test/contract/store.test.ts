/** What every `LogStore` must do: run on the fake and on the real one. */
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { realDisk } from '../../src/store/disk.ts';
import { initRepository, openRepository, prepareRepository } from '../../src/store/git/repository.ts';
import { createLogStore, type LogStore } from '../../src/store/logs/log-store.ts';
import { emptyMemory, fakeLogStore } from '../lib/fake-log-store.ts';
import { faultDisk, faultModes, type FaultMode } from '../lib/fault-disk.ts';
import { testLine, testLines } from '../lib/store-lines.ts';
import { temporaryFolder } from '../lib/temporary.ts';

interface Subject {
  readonly store: LogStore;
  /** Makes the next append meet a fault somewhere inside. */
  failNext(fault: FaultMode): void;
  /** A new process that finds what the old one left. */
  restart(): Promise<LogStore>;
}

const meshId = '0'.repeat(64);

async function realSubject(): Promise<Subject> {
  const dir = path.join(temporaryFolder(), 'repo.git');
  const disk = faultDisk(realDisk);
  const repository = await initRepository(dir, { host: 'alpha', disk });
  return {
    store: createLogStore({ repository, meshId }),
    // At the rename of the branch 'persisted' means that the append is in the log although it was reported failed.
    failNext: (fault) => disk.arm(branchMoves, fault),
    restart: async () => {
      const fresh = openRepository(dir);
      await prepareRepository(fresh);
      realDisk.removeFile(path.join(dir, 'refs/heads/log/alpha.lock'));
      return createLogStore({ repository: fresh, meshId });
    },
  };
}

const branchMoves = /^rename \S+\/refs\/heads\/log\/alpha\.lock /;

async function fakeSubject(): Promise<Subject> {
  const memory = emptyMemory();
  const store = fakeLogStore(memory);
  return { store, failNext: (fault) => store.failNext(fault), restart: async () => fakeLogStore(memory) };
}

const texts = async (store: LogStore, host: string): Promise<readonly (string | Uint8Array)[]> =>
  (await store.readLog(host)).lines;

describe.each([
  ['real', realSubject],
  ['fake', fakeSubject],
] as const)('log store (%s)', (_, subject) => {
  test('a log that was never written has no commit and no line', async () => {
    const { store } = await subject();
    expect(await store.readLog('alpha')).toEqual({ host: 'alpha', oid: null, lines: [] });
    expect([...store.logs()]).toEqual([]);
    expect((await store.openWriter('alpha')).head()).toBeNull();
  });

  test('what was appended is read back in order, also by a new process', async () => {
    const { store, restart } = await subject();
    const writer = await store.openWriter('alpha');
    await writer.append(testLines(1, 3));
    const { oid, lines } = await writer.append([testLine(4)]);
    expect(lines).toBe(1);
    expect(writer.head()).toBe(oid);
    const expected = testLines(1, 4).map((line) => line.text);
    expect(await texts(store, 'alpha')).toEqual(expected);
    const again = await restart();
    expect(await texts(again, 'alpha')).toEqual(expected);
    expect([...again.logs()]).toEqual([['alpha', oid]]);
  });

  test('appends made at once are done one after the other, none lost', async () => {
    const { store } = await subject();
    const writer = await store.openWriter('alpha');
    await Promise.all(Array.from({ length: 20 }, (_, index) => writer.append([testLine(index + 1)])));
    expect(await texts(store, 'alpha')).toEqual(testLines(1, 20).map((line) => line.text));
  });

  test('a bulk append is one commit, and appends go on after it', async () => {
    const { store } = await subject();
    const writer = await store.openWriter('alpha');
    await writer.append([testLine(1)]);
    const bulk = await writer.appendBulk([testLines(2, 500), [], testLines(502, 499)]);
    expect(bulk.lines).toBe(999);
    await writer.append([testLine(1_001)]);
    expect(await texts(store, 'alpha')).toEqual(testLines(1, 1_001).map((line) => line.text));
  });

  test('a bulk source that throws appends nothing, and the writer goes on', async () => {
    const { store } = await subject();
    const writer = await store.openWriter('alpha');
    await writer.append([testLine(1)]);
    const source = function* (): Generator<ReturnType<typeof testLines>> {
      yield testLines(2, 100);
      throw new Error('the secret gate refused line 150');
    };
    await expect(writer.appendBulk(source())).rejects.toThrow('the secret gate refused line 150');
    await writer.append([testLine(2)]);
    expect(await texts(store, 'alpha')).toEqual(testLines(1, 2).map((line) => line.text));
  });

  test('a second writer that built on an older commit is refused and changes nothing', async () => {
    const { store } = await subject();
    const first = await store.openWriter('alpha');
    const second = await store.openWriter('alpha');
    await first.append([testLine(1)]);
    await expect(second.append([testLine(1)])).rejects.toMatchObject({ code: 'REF_CHANGED' });
    expect(await texts(store, 'alpha')).toEqual([testLine(1).text]);
  });

  test('logs of several hosts stay apart and are listed by name', async () => {
    const { store } = await subject();
    for (const host of ['gamma', 'alpha', 'beta']) await (await store.openWriter(host)).append([testLine(1)]);
    expect([...store.logs().keys()]).toEqual(['alpha', 'beta', 'gamma']);
  });

  test.each(faultModes)(
    'after a fault (%s) the log holds all acknowledged lines, and of the failed append all or none',
    async (mode) => {
      const { store, failNext, restart } = await subject();
      const writer = await store.openWriter('alpha');
      await writer.append(testLines(1, 2));
      failNext(mode);
      await expect(writer.append([testLine(3)])).rejects.toMatchObject({ code: 'DISK_FAILED' });
      await expect(writer.append([testLine(3)])).rejects.toMatchObject({ code: 'WRITER_BROKEN' });
      const again = await restart();
      const expected = mode === 'failed' || mode === 'crash before' ? 2 : 3;
      expect(await texts(again, 'alpha')).toEqual(testLines(1, expected).map((line) => line.text));
      await (await again.openWriter('alpha')).append([testLine(expected + 1)]);
      expect(await texts(again, 'alpha')).toEqual(testLines(1, expected + 1).map((line) => line.text));
    },
  );
});
