/**
 * The fault table of the real store: every disk operation of an append fails, fails although it persisted, or is the last
 * thing that the process does, with and without a power cut. After each the whole invariant is checked.
 */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { childEnvironment } from '../../src/store/child.ts';
import { realDisk } from '../../src/store/disk.ts';
import { initRepository, openRepository, prepareRepository } from '../../src/store/git/repository.ts';
import { lockHome } from '../../src/store/home/home-lock.ts';
import { createHome, homePaths, type Home } from '../../src/store/home/home.ts';
import { createLogStore, type LogStore } from '../../src/store/logs/log-store.ts';
import { sweepHome } from '../../src/store/home/sweep.ts';
import { addTrustOps, readTrust } from '../../src/store/trust-store.ts';
import { droppingDisk } from '../lib/dropping-disk.ts';
import { faultDisk, faultModes, type FaultDisk, type FaultMode } from '../lib/fault-disk.ts';
import { createRandom } from '../lib/random.ts';
import { testLine, testLines } from '../lib/store-lines.ts';
import { temporaryFolder } from '../lib/temporary.ts';

const meshId = '0'.repeat(64);

/** A "new process": takes the lock, sweeps, prepares, opens. */
async function restart(home: Home): Promise<LogStore> {
  const lock = lockHome(home, { program: 'test', now: new Date(0) });
  try {
    sweepHome(lock);
    const repository = openRepository(home.repository);
    await prepareRepository(repository);
    return createLogStore({ repository, meshId });
  } finally {
    lock.release();
  }
}

function fsck(home: Home): string {
  return execFileSync('git', ['--git-dir', home.repository, 'fsck', '--strict', '--full', '--no-dangling'], {
    env: childEnvironment(),
    encoding: 'utf8',
    stdio: 'pipe',
  });
}

async function expectLines(store: LogStore, possible: readonly number[]): Promise<number> {
  const { lines } = await store.readLog('alpha');
  expect(possible).toContain(lines.length);
  expect(lines).toEqual(testLines(1, lines.length).map((line) => line.text));
  return lines.length;
}

/** Homes with so many lines, made once and copied: hundreds of them are needed. */
const templates = new Map<number, Home>();

async function templateOf(lines: number): Promise<Home> {
  const known = templates.get(lines);
  if (known !== undefined) return known;
  const home = createHome(path.join(templateFolder, String(lines)));
  const repository = await initRepository(home.repository, { host: 'alpha' });
  const store = createLogStore({ repository, meshId });
  if (lines > 0) await (await store.openWriter('alpha')).append(testLines(1, lines));
  templates.set(lines, home);
  return home;
}

const templateFolder = fs.mkdtempSync(path.join(tmpdir(), 'memd-test-'));
afterAll(() => fs.rmSync(templateFolder, { recursive: true, force: true }));

async function prepare(lines: number): Promise<{ home: Home; disk: FaultDisk; store: LogStore }> {
  const home = homePaths(path.join(temporaryFolder(), 'home'));
  fs.cpSync((await templateOf(lines)).dir, home.dir, { recursive: true });
  fs.chmodSync(home.dir, 0o700);
  const disk = faultDisk(realDisk);
  const store = createLogStore({ repository: openRepository(home.repository, { disk }), meshId });
  return { home, disk, store };
}

/** Runs one append with a fault at operation `at`; false when the append has fewer operations than that. */
async function faultAt(options: { at: number; mode: FaultMode; before: number; count: number }): Promise<boolean> {
  const { at, mode, before, count } = options;
  const { home, disk, store } = await prepare(before);
  const writer = await store.openWriter('alpha');
  disk.arm(at, mode);
  const acknowledged = await writer.append(testLines(before + 1, count)).then(
    () => true,
    () => false,
  );
  if (disk.operations.length <= at) return false;
  disk.disarm();
  const again = await restart(home);
  const held = await expectLines(again, acknowledged ? [before + count] : [before, before + count]);
  await (await again.openWriter('alpha')).append([testLine(held + 1)]);
  await expectLines(again, [held + 1]);
  if (at % 10 === 0) expect(fsck(home)).toBe('');
  return true;
}

describe('log store: fault table', () => {
  test.each(faultModes)(
    'a fault (%s) at every disk operation of an append loses nothing acknowledged and tears nothing',
    { timeout: 120_000 },
    async (mode) => {
      // The first append of a log makes folders; 26 lines end in a second segment.
      for (const [before, count] of [
        [0, 1],
        [26, 5],
      ] as const) {
        let at = 0;
        while (await faultAt({ at, mode, before, count })) at += 1;
        expect(at).toBeGreaterThan(20);
      }
    },
  );

  test(
    'a bulk append that fails at any operation is there as a whole or not at all',
    { timeout: 120_000 },
    async () => {
      for (const mode of ['failed', 'crash after'] as const) {
        for (let at = 0; ; at += 1) {
          const { home, disk, store } = await prepare(3);
          const writer = await store.openWriter('alpha');
          disk.arm(at, mode);
          await writer.appendBulk([testLines(4, 200)]).catch(() => undefined);
          if (disk.operations.length <= at) break;
          disk.disarm();
          const again = await restart(home);
          await expectLines(again, [3, 203]);
          expect(fsck(home)).toBe('');
        }
      }
    },
  );

  test(
    'a trust append that fails at any operation leaves the old set or the new one',
    { timeout: 120_000 },
    async () => {
      const op = (digit: string): { id: string; text: string } => ({ id: digit.repeat(64), text: `{"op":"${digit}"}` });
      for (const mode of faultModes) {
        for (let at = 0; at < 100; at += 1) {
          const { home, disk } = await prepare(0);
          const repository = openRepository(home.repository, { disk });
          await addTrustOps(repository, { ops: [op('a')], author: 'memd <a@b>', seconds: 1 });
          disk.arm(at, mode);
          await addTrustOps(repository, { ops: [op('a'), op('b')], author: 'memd <a@b>', seconds: 2 }).catch(
            () => undefined,
          );
          if (disk.operations.length <= at) break;
          disk.disarm();
          await restart(home);
          const { ops } = await readTrust(openRepository(home.repository));
          expect(ops.map((held) => held.text)).toEqual(
            ops.length === 1 ? [op('a').text] : [op('a').text, op('b').text],
          );
        }
      }
    },
  );
});

describe('log store: power cut (dropping layer)', () => {
  /** Appends until the "power goes" at disk operation `at`, opens what the disk kept, and gives what git fsck says. */
  async function cut(options: { at: number; seed: number | undefined }): Promise<string> {
    const root = temporaryFolder();
    fs.cpSync((await templateOf(0)).dir, path.join(root, 'home'), { recursive: true });
    const dropping = droppingDisk(realDisk, root);
    const disk = faultDisk(dropping);
    const repository = openRepository(path.join(root, 'home', 'repo.git'), { disk });
    dropping.settle();
    const writer = await createLogStore({ repository, meshId }).openWriter('alpha');
    disk.arm(options.at, 'crash before');
    let acknowledged = 0;
    try {
      for (; acknowledged < 12; acknowledged += 1) await writer.append([testLine(acknowledged + 1)]);
    } catch {
      // The power is gone.
    }
    const kept = path.join(temporaryFolder(), 'kept');
    dropping.cutPower(kept, options.seed === undefined ? undefined : createRandom(options.seed));
    const left = homePaths(path.join(kept, 'home'));
    const again = await restart(left);
    const held = await expectLines(again, [acknowledged, acknowledged + 1]);
    await (await again.openWriter('alpha')).append([testLine(held + 1)]);
    await expectLines(again, [held + 1]);
    return fsck(left);
  }

  test('nothing acknowledged is lost when only flushed bytes and names survive', { timeout: 120_000 }, async () => {
    for (let at = 1; at < 260; at += 11) expect(await cut({ at, seed: undefined })).toBe('');
  });

  test('nothing acknowledged is lost when the rest survives by chance', { timeout: 120_000 }, async () => {
    for (let seed = 1; seed <= 24; seed += 1) expect(await cut({ at: seed * 10, seed })).toBe('');
  });

  test('the layer itself drops what was not flushed: a writer without folder flushes loses its commits', async () => {
    const root = temporaryFolder();
    const home = createHome(path.join(root, 'home'));
    const dropping = droppingDisk({ ...realDisk }, root);
    const careless = { ...dropping, syncDirectory: () => Promise.resolve() };
    const repository = await initRepository(home.repository, { host: 'alpha', disk: careless });
    dropping.settle();
    const writer = await createLogStore({ repository, meshId }).openWriter('alpha');
    await writer.append([testLine(1)]);
    const kept = path.join(temporaryFolder(), 'kept');
    dropping.cutPower(kept);
    expect(fs.existsSync(path.join(kept, 'home/repo.git/refs/heads/log/alpha'))).toBe(false);
    const left = await restart(homePaths(path.join(kept, 'home')));
    expect((await left.readLog('alpha')).lines).toEqual([]);
  });

  test('a bulk append survives a power cut right after its acknowledgement', async () => {
    const root = temporaryFolder();
    const home = createHome(path.join(root, 'home'));
    const dropping = droppingDisk(realDisk, root);
    const repository = await initRepository(home.repository, { host: 'alpha', disk: dropping });
    dropping.settle();
    const writer = await createLogStore({ repository, meshId }).openWriter('alpha');
    await writer.appendBulk([testLines(1, 3_000)]);
    const kept = path.join(temporaryFolder(), 'kept');
    dropping.cutPower(kept);
    const left = homePaths(path.join(kept, 'home'));
    await expectLines(await restart(left), [3_000]);
    expect(fsck(left)).toBe('');
  });
});
