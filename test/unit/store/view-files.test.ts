import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { realDisk } from '../../../src/store/disk.ts';
import type { Home } from '../../../src/store/home/home.ts';
import { viewFileState, writeViewFiles } from '../../../src/store/view-files.ts';
import { faultDisk } from '../../lib/fault-disk.ts';
import { temporaryFolder, temporaryHome } from '../../lib/temporary.ts';

const files = (entries: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(entries));
const write = (home: Home, entries: Readonly<Record<string, string>>): ReturnType<typeof writeViewFiles> =>
  writeViewFiles(home, { audience: 'operator', files: files(entries) });
const at = (home: Home, name: string): string => path.join(home.views, 'operator', name);

describe('view files', () => {
  test('only what differs is written, closed to others', async () => {
    const home = temporaryHome();
    expect(await write(home, { 'INDEX.md': 'one\n', 'index.json': '{}' })).toEqual({
      written: ['INDEX.md', 'index.json'],
      edited: [],
    });
    expect(await write(home, { 'INDEX.md': 'two\n', 'index.json': '{}' })).toEqual({
      written: ['INDEX.md'],
      edited: [],
    });
    expect(await write(home, { 'INDEX.md': 'two\n', 'index.json': '{}' })).toEqual({ written: [], edited: [] });
    expect(fs.readFileSync(at(home, 'INDEX.md'), 'utf8')).toBe('two\n');
    expect(fs.statSync(at(home, 'INDEX.md')).mode & 0o777).toBe(0o600);
    expect(fs.readdirSync(path.join(home.views, 'operator')).filter((name) => name.includes('.tmp-'))).toEqual([]);
  });

  test('a hand edit is kept beside, reported once, and the file is written again', async () => {
    const home = temporaryHome();
    await write(home, { 'INDEX.md': 'one\n' });
    fs.writeFileSync(at(home, 'INDEX.md'), 'one\n- my own note\n');
    expect(viewFileState(home, 'operator', 'INDEX.md')).toBe('edited');
    const { edited, written } = await write(home, { 'INDEX.md': 'two\n' });
    expect(written).toEqual(['INDEX.md']);
    expect(edited).toHaveLength(1);
    expect(fs.readFileSync(edited[0]?.keptAs ?? '', 'utf8')).toBe('one\n- my own note\n');
    expect(fs.readFileSync(at(home, 'INDEX.md'), 'utf8')).toBe('two\n');
    expect((await write(home, { 'INDEX.md': 'three\n' })).edited).toEqual([]);
  });

  test('an edit is noticed also when the view itself did not change', async () => {
    const home = temporaryHome();
    await write(home, { 'INDEX.md': 'one\n' });
    fs.appendFileSync(at(home, 'INDEX.md'), 'x');
    const { edited, written } = await write(home, { 'INDEX.md': 'one\n' });
    expect([edited.length, written.length]).toEqual([1, 1]);
    expect(viewFileState(home, 'operator', 'INDEX.md')).toBe('as written');
  });

  test('a deleted or emptied file is written again', async () => {
    const home = temporaryHome();
    await write(home, { 'INDEX.md': 'one\n' });
    fs.rmSync(at(home, 'INDEX.md'));
    expect(viewFileState(home, 'operator', 'INDEX.md')).toBe('missing');
    await write(home, { 'INDEX.md': 'one\n' });
    fs.truncateSync(at(home, 'INDEX.md'));
    expect(viewFileState(home, 'operator', 'INDEX.md')).toBe('edited');
    await write(home, { 'INDEX.md': 'one\n' });
    expect(fs.readFileSync(at(home, 'INDEX.md'), 'utf8')).toBe('one\n');
  });

  test.each(['views', 'views/operator'])('a symbolic link in place of %s is not followed', async (name) => {
    const home = temporaryHome();
    const outside = temporaryFolder();
    const place = path.join(home.dir, name);
    fs.rmSync(place, { recursive: true, force: true });
    fs.mkdirSync(path.dirname(place), { recursive: true });
    fs.symlinkSync(outside, place);
    await expect(write(home, { 'INDEX.md': 'one\n' })).rejects.toMatchObject({ code: 'FILE_UNSAFE' });
    expect(fs.readdirSync(outside)).toEqual([]);
  });

  test('a symbolic link in place of a file is not written through', async () => {
    const home = temporaryHome();
    const target = path.join(temporaryFolder(), 'precious');
    fs.writeFileSync(target, 'precious');
    await write(home, { 'index.json': '{}' });
    fs.symlinkSync(target, at(home, 'INDEX.md'));
    expect(viewFileState(home, 'operator', 'INDEX.md')).toBe('unsafe');
    await expect(write(home, { 'INDEX.md': 'one\n' })).rejects.toMatchObject({ code: 'FILE_UNSAFE' });
    expect(fs.readFileSync(target, 'utf8')).toBe('precious');
  });

  test('names that would leave the folder are refused', async () => {
    const home = temporaryHome();
    await expect(writeViewFiles(home, { audience: '../x', files: files({}) })).rejects.toThrow('slug');
    for (const name of ['../INDEX.md', 'a/b', '.hidden', ''])
      await expect(write(home, { [name]: 'x' })).rejects.toThrow('plain name');
  });

  test('writings that fail again and again, each of another text, are no hand edit and leave the file as it was', async () => {
    const home = temporaryHome();
    await write(home, { 'INDEX.md': 'old\n', 'STALE.md': 'old\n' });
    // No room for a view, but for the small file that remembers what is written.
    const syncFile = (descriptor: number, name: string): Promise<void> =>
      name.includes('.md.') ? Promise.reject(new Error('full')) : realDisk.syncFile(descriptor, name);
    for (const text of ['one\n', 'two\n', 'three\n']) {
      const given = { audience: 'operator', files: files({ 'INDEX.md': text, 'STALE.md': text }) };
      await expect(writeViewFiles(home, { ...given, disk: { ...realDisk, syncFile } })).rejects.toThrow('operator');
      expect(viewFileState(home, 'operator', 'INDEX.md')).toBe('as written');
    }
    expect((await write(home, { 'INDEX.md': 'four\n', 'STALE.md': 'four\n' })).edited).toEqual([]);
    expect(fs.readdirSync(path.join(home.views, 'operator')).toSorted()).toEqual([
      '.written.json',
      'INDEX.md',
      'STALE.md',
    ]);
  });

  test('an edited file stays where it is until there is room for what comes in its place', async () => {
    const home = temporaryHome();
    await write(home, { 'INDEX.md': 'old\n' });
    fs.writeFileSync(at(home, 'INDEX.md'), 'mine\n');
    const full = { ...realDisk, syncFile: () => Promise.reject(new Error('full')) };
    for (let time = 0; time < 2; time += 1) {
      const given = { audience: 'operator', files: files({ 'INDEX.md': 'new\n' }), disk: full };
      await expect(writeViewFiles(home, given)).rejects.toThrow('operator');
      expect(fs.readFileSync(at(home, 'INDEX.md'), 'utf8')).toBe('mine\n');
    }
    const { edited } = await write(home, { 'INDEX.md': 'new\n' });
    expect(edited.map(({ keptAs }) => fs.readFileSync(keptAs, 'utf8'))).toEqual(['mine\n']);
    expect(fs.readFileSync(at(home, 'INDEX.md'), 'utf8')).toBe('new\n');
  });

  test('a crash at any step leaves whole files, and is not taken for a hand edit', async () => {
    for (let step = 0; step < 40; step += 1) {
      const home = temporaryHome();
      await write(home, { 'INDEX.md': 'old\n', 'STALE.md': 'old\n' });
      const disk = faultDisk(realDisk);
      disk.arm(step, 'crash after');
      await writeViewFiles(home, {
        audience: 'operator',
        files: files({ 'INDEX.md': 'new\n', 'STALE.md': 'new\n' }),
        disk,
      }).catch(() => undefined);
      if (disk.operations.length <= step) break;
      for (const name of ['INDEX.md', 'STALE.md'])
        expect(['old\n', 'new\n']).toContain(fs.readFileSync(at(home, name), 'utf8'));
      expect((await write(home, { 'INDEX.md': 'newest\n', 'STALE.md': 'newest\n' })).edited).toEqual([]);
    }
  });
});
