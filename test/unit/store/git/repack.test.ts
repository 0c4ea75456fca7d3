import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { sha256Hex } from '../../../../src/crypto/hash.ts';
import { runChild } from '../../../../src/store/child.ts';
import { countLoose, removePackedLoose } from '../../../../src/store/git/loose-files.ts';
import { packHint } from '../../../../src/store/git/pack-hints.ts';
import { listPacks, uncoveredIds } from '../../../../src/store/git/pack-index.ts';
import { planRanges, readTips } from '../../../../src/store/git/pack-ranges.ts';
import { mergePacks, packLoose } from '../../../../src/store/git/repack.ts';
import {
  gitRequest,
  initRepository,
  openRepository,
  runGit,
  type Repository,
} from '../../../../src/store/git/repository.ts';
import { createLogStore } from '../../../../src/store/logs/log-store.ts';
import type { WritableLine } from '../../../../src/store/logs/log-append.ts';
import type { LogWriter } from '../../../../src/store/logs/log-writer.ts';
import { droppingDisk } from '../../../lib/dropping-disk.ts';
import { faultDisk, faultModes } from '../../../lib/fault-disk.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

const meshId = '0'.repeat(64);
const never = new AbortController().signal;
const nothing = { tips: {}, packs: [] };

interface World {
  readonly repository: Repository;
  readonly writers: readonly LogWriter[];
  /** Appends so many lines to each log, a commit each. */
  append(count: number): Promise<void>;
}

async function world(hosts: readonly string[] = ['alpha', 'beta']): Promise<World> {
  const repository = await initRepository(path.join(temporaryFolder(), 'repo.git'), { host: 'alpha' });
  const store = createLogStore({ repository, meshId });
  const writers = await Promise.all(hosts.map((host) => store.openWriter(host)));
  let next = 1;
  return {
    repository,
    writers,
    async append(count) {
      for (let n = 0; n < count; n += 1, next += 1)
        for (const writer of writers) await writer.append([lineOf(writer.host, next)]);
    },
  };
}

/** About as long as an event, and like no other. */
function lineOf(host: string, seq: number): WritableLine {
  const text = Array.from({ length: 9 }, (_, at) => sha256Hex(`${host} ${seq} ${at}`)).join(' ');
  return { text, body: { at: new Date(1_700_000_000_000 + seq * 1_000).toISOString() } };
}

/** Every object of the repository, in whatever it is. */
async function allObjects(repository: Repository): Promise<readonly string[]> {
  const args = ['cat-file', '--batch-all-objects', '--batch-check=%(objectname)'];
  const { stdout } = await runGit(repository, { args });
  return stdout.toString('latin1').trim().split('\n');
}

async function isSound(repository: Repository): Promise<boolean> {
  const { code } = await runChild(gitRequest(repository, { args: ['fsck', '--strict', '--full', '--no-dangling'] }));
  return code === 0;
}

/** An object that no branch reaches. */
async function addLost(repository: Repository, text: string): Promise<string> {
  const { stdout } = await runGit(repository, { args: ['hash-object', '-w', '--stdin'], input: text });
  return stdout.toString('latin1').trim();
}

describe('packing loose objects', () => {
  test('everything that a branch reaches is in one pack, and nothing of it is loose', async () => {
    const { repository, append } = await world();
    await append(12);
    const before = await allObjects(repository);
    const { tips, packs } = await packLoose(repository, {}, { signal: never });
    expect(packs).toHaveLength(1);
    expect(tips).toEqual(readTips(repository));
    expect(await countLoose(repository)).toBe(0);
    expect(await allObjects(repository)).toEqual(before);
    expect(await isSound(repository)).toBe(true);
  });

  test('the next time only what is new is packed', async () => {
    const { repository, append } = await world();
    await append(5);
    const first = await packLoose(repository, {}, { signal: never });
    await append(3);
    const objects = await countLoose(repository);
    const second = await packLoose(repository, first.tips, { signal: never });
    const made = listPacks(repository).find(({ name }) => name === second.packs[0]);
    expect(made?.objects).toBe(objects);
    expect(await packLoose(repository, second.tips, { signal: never })).toMatchObject({ packs: [] });
  });

  test('a history is packed in pieces, and a state that is not known any more hides nothing', async () => {
    const { repository, append } = await world();
    await append(10);
    const from = { 'refs/heads/log/alpha': 'ab'.repeat(20) };
    const { packs } = await packLoose(repository, from, { signal: never, commitsMax: 6 });
    expect(packs).toHaveLength(4);
    expect(await countLoose(repository)).toBe(0);
    expect(await isSound(repository)).toBe(true);
  });

  test('what no branch reaches stays as it is', async () => {
    const { repository, append } = await world();
    await append(2);
    await addLost(repository, 'lost');
    const before = await allObjects(repository);
    await packLoose(repository, {}, { signal: never });
    expect(await countLoose(repository)).toBe(1);
    expect(await allObjects(repository)).toEqual(before);
  });

  test('versions of one segment are stored as differences, also with many hosts', async () => {
    const hosts = Array.from({ length: 8 }, (_, at) => `host-${'abcdefgh'[at]}`);
    const { repository, append } = await world(hosts);
    await append(25);
    const [pack] = (await packLoose(repository, {}, { signal: never })).packs;
    const file = path.join(repository.objectDir, 'pack', `${pack}.idx`);
    const { stdout } = await runGit(repository, { args: ['verify-pack', '-v', file] });
    const blobs = stdout
      .toString('latin1')
      .split('\n')
      .filter((line) => / blob /.test(line));
    const whole = blobs.filter((line) => line.trim().split(/\s+/).length < 6);
    // One whole version of each segment; each host has one or two of them.
    expect(blobs).toHaveLength(8 * 25);
    expect(whole.length).toBeLessThanOrEqual(8 * 2);
  });

  test('a run that is stopped leaves every object where it was, and no file behind', async () => {
    const { repository, append } = await world();
    await append(6);
    const before = await allObjects(repository);
    const stop = new AbortController();
    stop.abort();
    await expect(packLoose(repository, {}, { signal: stop.signal })).rejects.toMatchObject({ code: 'CHILD_FAILED' });
    expect(await allObjects(repository)).toEqual(before);
    expect(fs.readdirSync(path.join(repository.gitDir, 'quarantine'))).toEqual([]);
    expect(listPacks(repository)).toEqual([]);
  });

  test('an object that is missing ends it with the name of the object, and nothing is removed', async () => {
    const { repository, append, writers } = await world(['alpha']);
    await append(4);
    const head = writers[0]?.head() ?? '';
    const { stdout } = await runGit(repository, { args: ['rev-parse', `${head}:00`] });
    const tree = stdout.toString('latin1').trim();
    fs.rmSync(path.join(repository.objectDir, tree.slice(0, 2), tree.slice(2)));
    const before = await countLoose(repository);
    await expect(packLoose(repository, {}, { signal: never })).rejects.toThrow(tree);
    expect(await countLoose(repository)).toBe(before);
  });

  test('appends that come meanwhile are neither lost nor in the way', async () => {
    const { repository, append, writers } = await world();
    await append(20);
    const packing = packLoose(repository, {}, { signal: never });
    await append(20);
    const { tips } = await packing;
    await packLoose(repository, tips, { signal: never });
    expect(await countLoose(repository)).toBe(0);
    expect(await isSound(repository)).toBe(true);
    const { stdout } = await runGit(repository, { args: ['rev-list', '--count', writers[0]?.head() ?? ''] });
    expect(stdout.toString('latin1').trim()).toBe('40');
  });
});

describe('merging packs', () => {
  async function severalPacks(): Promise<World> {
    const made = await world();
    for (let round = 0; round < 5; round += 1) {
      await made.append(3);
      await packLoose(made.repository, {}, { signal: never });
    }
    return made;
  }

  test('many packs become one, with every object of them, reached or not', async () => {
    const { repository } = await severalPacks();
    const lost = await addLost(repository, 'lost');
    await runGit(repository, {
      args: ['pack-objects', '-q', path.join(repository.objectDir, 'pack', 'pack')],
      input: `${lost}\n`,
    });
    await removePackedLoose(repository);
    const before = await allObjects(repository);
    expect(before).toContain(lost);
    await mergePacks(repository, nothing, { signal: never });
    // One for what branches reach, one for what they do not.
    expect(listPacks(repository)).toHaveLength(2);
    expect(await allObjects(repository)).toEqual(before);
    await mergePacks(repository, nothing, { signal: never });
    expect(await allObjects(repository)).toEqual(before);
    expect(await isSound(repository)).toBe(true);
  });

  test('full pieces are settled, and left alone from then on', async () => {
    const { repository, append } = await severalPacks();
    const first = await mergePacks(repository, nothing, { signal: never, commitsMax: 12 });
    expect(first.settled.packs).toHaveLength(2);
    await append(2);
    await packLoose(repository, {}, { signal: never });
    const second = await mergePacks(repository, first.settled, { signal: never, commitsMax: 100 });
    const names = listPacks(repository).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining([...first.settled.packs]));
    expect(names).toHaveLength(3);
    expect(second.settled.packs).toEqual(first.settled.packs);
    expect(await countLoose(repository)).toBe(0);
    expect(await isSound(repository)).toBe(true);
  });

  test('without a settled pack that was there nothing counts as settled', async () => {
    const { repository } = await severalPacks();
    const gone = { tips: readTips(repository), packs: [`pack-${'ab'.repeat(20)}`] };
    await mergePacks(repository, gone, { signal: never });
    expect(listPacks(repository)).toHaveLength(1);
    expect(await isSound(repository)).toBe(true);
  });

  test('a pack whose index cannot be read is not removed', async () => {
    const { repository } = await severalPacks();
    const [damaged] = listPacks(repository);
    const file = path.join(repository.objectDir, 'pack', `${damaged?.name}.idx`);
    fs.chmodSync(file, 0o600);
    fs.truncateSync(file, 100);
    await mergePacks(repository, nothing, { signal: never }).catch(() => undefined);
    expect(fs.existsSync(file)).toBe(true);
    expect(fs.existsSync(file.replace(/idx$/, 'pack'))).toBe(true);
  });
});

test('what one pack holds and another does not is told by their indexes', async () => {
  const { repository, append } = await world(['alpha']);
  await append(3);
  const first = await packLoose(repository, {}, { signal: never });
  await append(2);
  const second = await packLoose(repository, first.tips, { signal: never });
  const both = { of: second.packs, by: first.packs };
  const missing = (await uncoveredIds(repository, both)) ?? [];
  expect(missing).toHaveLength(listPacks(repository).find(({ name }) => name === second.packs[0])?.objects ?? 0);
  expect(await uncoveredIds(repository, { of: second.packs, by: second.packs })).toEqual([]);
});

test('a loose file of a packed object goes, others stay', async () => {
  const { repository, append } = await world(['alpha']);
  await append(3);
  const kept = path.join(temporaryFolder(), 'kept');
  fs.cpSync(repository.objectDir, kept, { recursive: true });
  await packLoose(repository, {}, { signal: never });
  await append(1);
  const left = await countLoose(repository);
  fs.cpSync(kept, repository.objectDir, { recursive: true });
  expect(await countLoose(repository)).toBeGreaterThan(left);
  expect(await removePackedLoose(repository)).toBe(left);
  expect(await countLoose(repository)).toBe(left);
});

test('plans no piece where nothing is new', async () => {
  const { repository, append } = await world(['alpha']);
  await append(1);
  const tips = readTips(repository);
  expect(await planRanges(repository, { from: tips, upto: tips })).toEqual([]);
});

test('no two places of a mesh of 256 branches have one hint', () => {
  const places = ['', '00', '00/01', '00/00/00.jsonl', '00/00/05.jsonl', '00/00/11.jsonl', '63/63/63.jsonl'];
  const hints = [0, 1, 2, 255].flatMap((branch) => places.slice(3).map((place) => packHint(branch, place)));
  expect(new Set(hints).size).toBe(hints.length);
  expect(hints.every((hint) => hint.length === 13)).toBe(true);
});

describe('whatever happens during maintenance', () => {
  async function prepared(): Promise<{ readonly made: World; readonly objects: readonly string[] }> {
    const made = await world(['alpha']);
    for (let round = 0; round < 2; round += 1) {
      await made.append(3);
      await packLoose(made.repository, {}, { signal: never });
    }
    await made.append(3);
    return { made, objects: await allObjects(made.repository) };
  }

  /** Everything that maintenance does, on this disk. */
  async function maintain(repository: Repository): Promise<void> {
    await packLoose(repository, {}, { signal: never });
    await mergePacks(repository, nothing, { signal: never });
  }

  test('a power cut afterwards finds every object, also where nothing survives that was not flushed', async () => {
    const { made, objects } = await prepared();
    const disk = droppingDisk(made.repository.disk, made.repository.gitDir);
    disk.settle();
    await maintain({ ...made.repository, disk });
    const target = path.join(temporaryFolder(), 'after.git');
    disk.cutPower(target);
    const after = openRepository(target);
    expect(await allObjects(after)).toEqual(objects);
    expect(await isSound(after)).toBe(true);
  });

  /** Everything that is done through the disk, but for flushes while a pack grows, which nothing depends on. */
  const steps = [
    /^syncFile .*packing-.*\.pack$/,
    /^rename .*\.pack$/,
    /^rename .*\.idx$/,
    /^syncDirectory .*objects\/pack$/,
    /^syncDirectory .*objects$/,
    /^removeFile .*\.idx$/,
  ];

  test.each(faultModes)(
    'with each step %s every object is there, and the next run does it all',
    async (mode) => {
      const { made, objects } = await prepared();
      for (const step of steps) {
        const copy = path.join(temporaryFolder(), 'repo.git');
        fs.cpSync(made.repository.gitDir, copy, { recursive: true });
        const real = openRepository(copy);
        const disk = faultDisk(real.disk);
        disk.arm(step, mode);
        await expect(maintain({ ...real, disk }), `${mode} at ${String(step)}`).rejects.toMatchObject({
          code: 'DISK_FAILED',
        });
        expect(await allObjects(real), `${mode} at ${String(step)}`).toEqual(objects);
        await maintain(real);
        expect(listPacks(real)).toHaveLength(1);
        expect(await countLoose(real)).toBe(0);
        expect(await allObjects(real)).toEqual(objects);
        expect(await isSound(real)).toBe(true);
      }
    },
    120_000,
  );
});
