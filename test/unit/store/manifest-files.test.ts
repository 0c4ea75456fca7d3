/** Reading a manifest and the files beside it: bounded, and nothing but plain files. */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { manifestBytesMax } from '../../../src/core/limits.ts';
import { sha256Hex } from '../../../src/crypto/hash.ts';
import { hashFiles, readManifestFile } from '../../../src/store/manifest-files.ts';
import { readManifestFloor, writeManifestFloor } from '../../../src/store/notes/manifest-floor.ts';
import type { ManifestFloor } from '../../../src/core/manifest-floor.ts';
import { temporaryFolder, temporaryHome } from '../../lib/temporary.ts';

describe('files beside a manifest', () => {
  test('are hashed whole; what is missing, a link, a folder or a pipe is told apart', () => {
    const folder = temporaryFolder();
    const at = (name: string): string => path.join(folder, name);
    const large = Buffer.alloc(3_000_000, 'x');
    fs.writeFileSync(at('INDEX.md'), large);
    fs.writeFileSync(at('empty'), '');
    fs.symlinkSync(at('INDEX.md'), at('link'));
    fs.mkdirSync(at('folder'));
    execFileSync('mkfifo', [at('pipe')]);
    const names = ['INDEX.md', 'empty', 'gone', 'link', 'folder', 'pipe'];
    expect([...hashFiles(folder, names)]).toEqual([
      ['INDEX.md', sha256Hex(large)],
      ['empty', sha256Hex('')],
      ['gone', undefined],
      ['link', null],
      ['folder', null],
      ['pipe', null],
    ]);
    expect([...hashFiles(at('nowhere'), ['INDEX.md'])]).toEqual([['INDEX.md', undefined]]);
  });

  test('are never outside of the folder', () => {
    for (const name of ['../x', 'a/b', '.hidden', '..'])
      expect(() => hashFiles(temporaryFolder(), [name])).toThrow('plain name');
  });

  test('a huge sparse file is not read to its end', () => {
    const folder = temporaryFolder();
    const descriptor = fs.openSync(path.join(folder, 'INDEX.md'), 'w');
    fs.ftruncateSync(descriptor, 1_099_511_627_776);
    fs.closeSync(descriptor);
    expect([...hashFiles(folder, ['INDEX.md'])]).toEqual([['INDEX.md', null]]);
  });

  test('the manifest itself is read to its bound, through a link, and never from a pipe', () => {
    const folder = temporaryFolder();
    const file = path.join(folder, 'manifest.json');
    fs.writeFileSync(file, Buffer.alloc(10_000_000, 'x'));
    fs.symlinkSync(file, path.join(folder, 'link'));
    execFileSync('mkfifo', [path.join(folder, 'pipe')]);
    expect(readManifestFile(file)?.length).toBe(manifestBytesMax + 1);
    expect(readManifestFile(path.join(folder, 'link'))?.length).toBe(manifestBytesMax + 1);
    expect(readManifestFile(path.join(folder, 'pipe'))).toBeNull();
    expect(readManifestFile(folder)).toBeNull();
    expect(readManifestFile(path.join(folder, 'gone'))).toBeUndefined();
  });
});

describe('manifest-floor.json', () => {
  const hash = sha256Hex('x');
  const floor: ManifestFloor = {
    mesh: hash,
    trust: { hash, ops: 3 },
    hosts: new Map([
      ['alpha', { heads: new Map([['beta', { seq: 7, link: hash }]]), root: hash, rules: 1, trust: hash }],
    ]),
  };

  test('is read as it was written, and is nothing before that', async () => {
    const home = temporaryHome();
    expect(readManifestFloor(home)).toBeUndefined();
    await writeManifestFloor(home, floor);
    expect(readManifestFloor(home)).toEqual(floor);
  });

  test('that cannot be read says so, and is never half believed', async () => {
    const home = temporaryHome();
    await writeManifestFloor(home, floor);
    const text = fs.readFileSync(home.manifestFloor, 'utf8');
    const damaged = [
      '',
      '{',
      'null',
      '[]',
      text.slice(0, -9),
      text.replace('"seq":7', '"seq":"7"'),
      text.replace('"v":1', '"v":2'),
    ];
    for (const one of [...damaged, text.replace('beta', '__proto__'), text.replace('alpha', 'Alpha')]) {
      fs.writeFileSync(home.manifestFloor, one);
      expect(readManifestFloor(home)).toBe('damaged');
    }
  });

  test('a pipe or folder in its place is damage, and is not waited for', () => {
    const home = temporaryHome();
    execFileSync('mkfifo', [home.manifestFloor]);
    expect(readManifestFloor(home)).toBe('damaged');
    fs.rmSync(home.manifestFloor);
    fs.mkdirSync(home.manifestFloor);
    expect(readManifestFloor(home)).toBe('damaged');
  });
});
