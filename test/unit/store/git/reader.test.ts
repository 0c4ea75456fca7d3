import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { childEnvironment } from '../../../../src/store/child.ts';
import { realDisk } from '../../../../src/store/disk.ts';
import { encodeObject } from '../../../../src/store/git/object-id.ts';
import { writeObjects } from '../../../../src/store/git/objects.ts';
import { openReader, type ObjectReader } from '../../../../src/store/git/reader.ts';
import {
  initRepository,
  throughQuarantine,
  type ObjectView,
  type Repository,
} from '../../../../src/store/git/repository.ts';
import { createRandom } from '../../../lib/random.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

const limits = { type: 'blob', bytesMax: 1_000_000 } as const;

/** Nothing is flushed: these tests are about reading. */
const hastyDisk = { ...realDisk, syncFile: () => Promise.resolve(), syncDirectory: () => Promise.resolve() };

function reading(view: ObjectView): ObjectReader {
  const reader = openReader(view);
  onTestFinished(() => reader.close());
  return reader;
}

async function withBlobs(
  contents: readonly string[],
  packed: boolean,
): Promise<{ repository: Repository; oids: string[] }> {
  const repository = await initRepository(path.join(temporaryFolder(), 'repo.git'), { host: 'alpha' });
  const objects = contents.map((content) => encodeObject('blob', Buffer.from(content)));
  await writeObjects({ ...repository, disk: hastyDisk }, objects);
  const oids = objects.map((object) => object.oid);
  if (packed) {
    const pack = path.join(repository.objectDir, 'pack', 'pack');
    execFileSync('git', ['--git-dir', repository.gitDir, 'pack-objects', '-q', pack], {
      input: oids.join('\n'),
      env: childEnvironment(),
    });
    execFileSync('git', ['--git-dir', repository.gitDir, 'prune-packed', '-q'], { env: childEnvironment() });
  }
  return { repository, oids };
}

test.each([
  ['a pack has it: it is read', true, ['ok']],
  ['nothing has it: it is damaged, as git says', false, ['DAMAGED']],
])('a folder in the place of a loose object; %s', async (_, packed, expected) => {
  const { repository, oids } = await withBlobs(['one'], packed);
  const [oid = ''] = oids;
  const file = path.join(repository.objectDir, oid.slice(0, 2), oid.slice(2));
  fs.rmSync(file, { force: true });
  fs.mkdirSync(file, { recursive: true });
  const answers = await reading(repository).read(oids, limits);
  expect(answers.map((answer) => (answer.ok ? 'ok' : answer.code))).toEqual(expected);
});

describe.each([
  ['loose', false],
  ['packed', true],
] as const)('reading %s objects', (_, packed) => {
  test('contents come back in the order asked, also empty, large and binary ones', async () => {
    const contents = ['a\n', '', 'x'.repeat(300_000), '\u0000\n\nblob 3\n', 'flush\n'];
    const { repository, oids } = await withBlobs(contents, packed);
    const reader = reading(repository);
    const asked = [...oids, ...oids.toReversed()];
    const answers = await reader.read(asked, limits);
    expect(answers.map((answer) => (answer.ok ? answer.content.toString() : answer.code))).toEqual([
      ...contents,
      ...contents.toReversed(),
    ]);
    expect((await reader.info(oids)).map((info) => info?.bytes)).toEqual(
      contents.map((content) => Buffer.byteLength(content)),
    );
  });

  test('a missing object, a wrong type and an oversized one are told apart, and the others still come', async () => {
    const { repository, oids } = await withBlobs(['small', 'y'.repeat(2_000)], packed);
    const reader = reading(repository);
    const [small = '', large = ''] = oids;
    const answers = await reader.read([small, '0'.repeat(40), large, 'HEAD', '../../etc/passwd'], {
      type: 'blob',
      bytesMax: 100,
    });
    expect(answers.map((answer) => (answer.ok ? 'ok' : answer.code))).toEqual([
      'ok',
      'MISSING',
      'TOO_LARGE',
      'MISSING',
      'MISSING',
    ]);
    const [asTree] = await reader.read([small], { type: 'tree', bytesMax: 100 });
    expect(asTree).toMatchObject({ ok: false, code: 'WRONG_TYPE' });
  });

  test('more objects than fit into one round', async () => {
    const contents = Array.from({ length: 1_100 }, (_, index) => `blob number ${index}\n`);
    const { repository, oids } = await withBlobs(contents, packed);
    const answers = await reading(repository).read(oids, limits);
    expect(answers.every((answer, index) => answer.ok && answer.content.toString() === contents[index])).toBe(true);
  });
});

describe('damage', () => {
  const looseFile = (repository: Repository, oid: string): string =>
    path.join(repository.objectDir, oid.slice(0, 2), oid.slice(2));

  test.each([
    ['empty', (): Buffer => Buffer.alloc(0)],
    ['NUL bytes', (bytes: Buffer): Buffer => Buffer.alloc(bytes.length)],
    ['cut off', (bytes: Buffer): Buffer => bytes.subarray(0, bytes.length / 2)],
    [
      'one byte flipped',
      (bytes: Buffer): Buffer => Buffer.from(bytes.map((byte, index) => (index === 12 ? byte ^ 1 : byte))),
    ],
    ['another object under its name', (): Buffer => encodeObject('blob', Buffer.from('other')).data],
  ])('a loose object (%s) is damaged, not missing, and its file is named', async (_, spoil) => {
    const { repository, oids } = await withBlobs(['the quick brown fox jumps over the lazy dog\n'.repeat(20)], false);
    const file = looseFile(repository, oids[0] ?? '');
    const bytes = fs.readFileSync(file);
    fs.rmSync(file);
    fs.writeFileSync(file, spoil(bytes));
    const [answer] = await reading(repository).read(oids, limits);
    expect(answer).toMatchObject({ ok: false, code: 'DAMAGED', detail: expect.stringContaining(file) });
  });

  test('a flipped byte in a pack is damage of the objects that it hits; the others still come', async () => {
    const contents = Array.from({ length: 300 }, (_, index) => `${index} ${createRandom(index).next()}`.repeat(20));
    const { repository, oids } = await withBlobs(contents, true);
    const folder = path.join(repository.objectDir, 'pack');
    const pack = path.join(folder, fs.readdirSync(folder).find((name) => name.endsWith('.pack')) ?? '');
    const bytes = fs.readFileSync(pack);
    fs.rmSync(pack);
    const at = Math.floor(bytes.length / 2);
    bytes[at] = (bytes[at] ?? 0) ^ 0x10;
    fs.writeFileSync(pack, bytes);
    const answers = await reading(repository).read(oids, limits);
    const damaged = answers.filter((answer) => !answer.ok);
    expect(damaged.length).toBeGreaterThan(0);
    expect(damaged.every((answer) => !answer.ok && answer.code === 'DAMAGED')).toBe(true);
    const good = answers.flatMap((answer, index) => (answer.ok ? [[answer.content.toString(), contents[index]]] : []));
    expect(good.length).toBeGreaterThan(100);
    expect(good.every(([read, wrote]) => read === wrote)).toBe(true);
  });

  test('a zip bomb is stopped at the limit', async () => {
    const { repository } = await withBlobs([], false);
    const bomb = encodeObject('blob', Buffer.alloc(50_000_000));
    await writeObjects(repository, [bomb]);
    const [answer] = await reading(repository).read([bomb.oid], { type: 'blob', bytesMax: 10_000 });
    expect(answer).toMatchObject({ ok: false, code: 'TOO_LARGE' });
  });
});

describe('through a quarantine', () => {
  test('a path with a colon or a quote in it works', async () => {
    const dir = path.join(temporaryFolder(), 'a:b "c" \\d');
    fs.mkdirSync(dir);
    const repository = await initRepository(path.join(dir, 'repo.git'), { host: 'alpha' });
    const blob = encodeObject('blob', Buffer.from('ours'));
    await writeObjects(repository, [blob]);
    const view = throughQuarantine(repository, path.join(repository.gitDir, 'quarantine'));
    expect((await reading(view).info([blob.oid]))[0]).toEqual({ type: 'blob', bytes: 4 });
  });

  test('objects of the quarantine and ours are both seen, and ours stay untouched', async () => {
    const { repository, oids } = await withBlobs(['ours'], false);
    const quarantine = path.join(repository.gitDir, 'quarantine', 'q1');
    fs.mkdirSync(quarantine, { recursive: true });
    const theirs = encodeObject('blob', Buffer.from('theirs'));
    const view = throughQuarantine(repository, quarantine);
    execFileSync('git', ['--git-dir', repository.gitDir, 'hash-object', '-w', '--stdin'], {
      input: 'theirs',
      env: childEnvironment({
        GIT_OBJECT_DIRECTORY: quarantine,
        GIT_ALTERNATE_OBJECT_DIRECTORIES: repository.objectDir,
      }),
    });
    const answers = await reading(view).read([theirs.oid, oids[0] ?? ''], limits);
    expect(answers.map((answer) => answer.ok && answer.content.toString())).toEqual(['theirs', 'ours']);
    expect((await reading(view).info([theirs.oid]))[0]).toEqual({ type: 'blob', bytes: 6 });
    expect((await reading(repository).read([theirs.oid], limits))[0]).toMatchObject({ code: 'MISSING' });
  });

  test('a git that is missing is an operating failure with a hint', async () => {
    const { repository } = await withBlobs([], false);
    const before = process.env['PATH'];
    process.env['PATH'] = '/nonexistent';
    try {
      await expect(openReader(repository).read(['0'.repeat(40)], limits)).rejects.toMatchObject({
        code: 'PROGRAM_MISSING',
      });
    } finally {
      process.env['PATH'] = before;
    }
  });
});
