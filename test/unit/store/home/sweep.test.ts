import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { initRepository } from '../../../../src/store/git/repository.ts';
import { lockHome } from '../../../../src/store/home/home-lock.ts';
import { createLogStore } from '../../../../src/store/logs/log-store.ts';
import { sweepHome } from '../../../../src/store/home/sweep.ts';
import { testLines } from '../../../lib/store-lines.ts';
import { temporaryFolder, temporaryHome } from '../../../lib/temporary.ts';

/** No system gives a process this number: Linux has 4 194 304 at most, macOS 99 999. */
const gone = 4_194_305;

const remains = [
  'keys/host_ed25519.tmp-12',
  'last-heads.json.tmp-12',
  'logs/.alpha.jsonl.tmp-12',
  `manifest-floor.json.tmp-${gone}`,
  'peers.json.tmp-12',
  'repo.git/HEAD.lock',
  'repo.git/config.lock',
  'repo.git/config.tmp-12',
  'repo.git/fast_import_crash_4242',
  'repo.git/gc.pid',
  'repo.git/objects/ab/tmp_obj_Xy12',
  'repo.git/objects/maintenance.lock',
  'repo.git/objects/pack/.tmp-123-pack-1.pack',
  'repo.git/objects/pack/tmp_idx_a1',
  'repo.git/objects/pack/tmp_pack_a1',
  'repo.git/objects/tmp_obj_99',
  'repo.git/objects/tmp_objdir-incoming-x/pack/p',
  'repo.git/packed-refs.lock',
  'repo.git/packed-refs.new',
  'repo.git/quarantine/q1/pack/tmp_pack_1',
  'repo.git/refs/heads/log/alpha.lock',
  'repo.git/refs/heads/trust.lock',
  'repo.git/refs/memd/bulk-1234',
  `unlock.json.tmp-${gone}`,
  'views/operator/.INDEX.md.tmp-12',
];

describe('start-up sweep', () => {
  test('everything that a crash can leave is removed and named; everything else stays', async () => {
    const home = temporaryHome();
    const repository = await initRepository(home.repository, { host: 'alpha' });
    const store = createLogStore({ repository, meshId: '0'.repeat(64) });
    const writer = await store.openWriter('alpha');
    await writer.append(testLines(1, 5));
    await writer.appendBulk([testLines(6, 200)]);
    const before = fs.readdirSync(home.dir, { recursive: true, encoding: 'utf8' }).toSorted();
    for (const name of remains) {
      fs.mkdirSync(path.dirname(path.join(home.dir, name)), { recursive: true });
      fs.writeFileSync(path.join(home.dir, name), '');
    }
    const lock = lockHome(home, { program: 'test', now: new Date(0) });
    const removed = sweepHome(lock);
    expect(removed).toEqual(remains.map((name) => name.replace(/(quarantine\/q1|tmp_objdir-incoming-x)\/.*/, '$1')));
    expect(sweepHome(lock)).toEqual([]);
    lock.release();
    const after = fs.readdirSync(home.dir, { recursive: true, encoding: 'utf8' });
    expect(after.filter((name) => !before.includes(name)).toSorted()).toEqual(
      ['memd.lock', 'repo.git/objects/ab', 'views/operator'].filter((name) => !before.includes(name)),
    );
    expect((await store.readLog('alpha')).lines).toHaveLength(205);
  });

  test('a symbolic link to another folder is not swept through', async () => {
    const home = temporaryHome();
    await initRepository(home.repository, { host: 'alpha' });
    const outside = temporaryFolder();
    fs.writeFileSync(path.join(outside, 'tmp_obj_precious'), '');
    fs.symlinkSync(outside, path.join(home.repository, 'objects', 'ab'));
    const lock = lockHome(home, { program: 'test', now: new Date(0) });
    sweepHome(lock);
    lock.release();
    expect(fs.existsSync(path.join(outside, 'tmp_obj_precious'))).toBe(true);
  });

  test('what memctl writes without the lock is left alone while its process runs', () => {
    const home = temporaryHome();
    const [left, written] = [gone, process.ppid].map((pid) => path.join(home.dir, `manifest-floor.json.tmp-${pid}`));
    for (const file of [left, written]) fs.writeFileSync(file ?? '', '');
    const lock = lockHome(home, { program: 'test', now: new Date(0) });
    expect(sweepHome(lock)).toEqual([path.basename(left ?? '')]);
    lock.release();
    expect(fs.existsSync(written ?? '')).toBe(true);
  });

  test('a home without a repository is no error', () => {
    const lock = lockHome(temporaryHome(), { program: 'test', now: new Date(0) });
    expect(sweepHome(lock)).toEqual([]);
    lock.release();
  });
});
