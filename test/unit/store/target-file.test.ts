import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { realDisk } from '../../../src/store/disk.ts';
import {
  isAsWritten,
  keptEdits,
  markedText,
  targetFault,
  targetMark,
  targetState,
  writeTarget,
} from '../../../src/store/target-file.ts';
import { temporaryFolder } from '../../lib/temporary.ts';

function place() {
  const folder = temporaryFolder();
  return { folder, file: join(folder, 'MEMORY.md') };
}
const write = (file: string, text: string, closed: readonly string[] = []) => writeTarget(file, { text, closed });

describe('target files: writing', () => {
  test('it begins with a mark that holds the hash of the rest', async () => {
    const { file } = place();
    expect(await write(file, '# Index\n')).toEqual({ state: 'written' });
    const text = readFileSync(file, 'utf8');
    expect(text).toBe(markedText('# Index\n'));
    expect(isAsWritten(text)).toBe(true);
    expect(Buffer.byteLength(text)).toBe(Buffer.byteLength('# Index\n') + targetMark.bytes);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test('the same again touches nothing; another text replaces it and keeps its mode', async () => {
    const { folder, file } = place();
    await write(file, 'one\n');
    chmodSync(file, 0o640);
    const { ino } = statSync(file);
    expect(await write(file, 'one\n')).toEqual({ state: 'unchanged' });
    expect(statSync(file).ino).toBe(ino);
    expect(await write(file, 'two\n')).toEqual({ state: 'written' });
    expect(statSync(file).mode & 0o777).toBe(0o640);
    expect(readdirSync(folder)).toEqual(['MEMORY.md']);
  });
});

describe('target files: what somebody else wrote', () => {
  test('a file that was there before, and an edit of any kind, are kept beside', async () => {
    const { file } = place();
    const edits = ['my own notes\n', `${markedText('one\n')}added\n`, markedText('one\n').replace('one', 'two')];
    for (const edit of edits) {
      writeFileSync(file, edit);
      expect(targetState(file)).toBe('foreign');
      const done = await write(file, 'one\n');
      expect(done.state).toBe('written');
      const kept = done.state === 'written' ? (done.keptAs ?? '') : '';
      expect(readFileSync(kept, 'utf8')).toBe(edit);
      expect(targetState(file)).toBe('as written');
    }
    expect(keptEdits(file)).toHaveLength(3);
  });

  test('the same edit twice is one file', async () => {
    const { file } = place();
    for (let time = 0; time < 2; time += 1) {
      writeFileSync(file, 'mine\n');
      await write(file, 'one\n');
    }
    expect(keptEdits(file)).toHaveLength(1);
  });

  test('a kept file with the same first digits and another text is not taken for it', async () => {
    const { file } = place();
    writeFileSync(file, 'mine\n');
    const first = await write(file, 'one\n');
    const kept = first.state === 'written' ? (first.keptAs ?? '') : '';
    writeFileSync(kept, 'changed since\n');
    writeFileSync(file, 'mine\n');
    await write(file, 'two\n');
    expect(
      keptEdits(file)
        .map((one) => readFileSync(one, 'utf8'))
        .toSorted(),
    ).toEqual(['changed since\n', 'mine\n']);
  });

  test('an empty file and bytes that are no text', async () => {
    const { file } = place();
    writeFileSync(file, '');
    expect(await write(file, 'one\n')).toEqual({ state: 'written' });
    writeFileSync(file, Buffer.from([0xff, 0xfe, 0x00]));
    const done = await write(file, 'one\n');
    expect(done.state === 'written' && readFileSync(done.keptAs ?? '')).toEqual(Buffer.from([0xff, 0xfe, 0x00]));
  });

  test('when too many edits wait, the file is left alone', async () => {
    const { file } = place();
    for (let edit = 0; edit < 16; edit += 1) {
      writeFileSync(file, `edit ${edit}\n`);
      await write(file, 'one\n');
    }
    writeFileSync(file, 'one more\n');
    expect(await write(file, 'two\n')).toMatchObject({ state: 'refused' });
    expect(readFileSync(file, 'utf8')).toBe('one more\n');
  });

  test('what a killed memd left beside it is removed, what a running one writes is not', async () => {
    const { folder, file } = place();
    // No system gives a process the first number; somebody else's names look alike.
    const names = ['4194305', String(process.pid), String(process.ppid), '0', 'notes'].map(
      (end) => `.MEMORY.md.memd-${end}`,
    );
    for (const name of names) writeFileSync(join(folder, name), 'half of an ind');
    await write(file, 'one\n');
    expect(readdirSync(folder).toSorted()).toEqual([...names.slice(2), 'MEMORY.md'].toSorted());
    writeFileSync(join(folder, names[0] ?? ''), 'half of an ind');
    expect(await write(file, 'one\n')).toEqual({ state: 'unchanged' });
    expect(readdirSync(folder)).not.toContain(names[0]);
  });

  test('a write that fails half way leaves nothing beside it', async () => {
    const { folder, file } = place();
    await write(file, 'one\n');
    const full = () => Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' }));
    const done = await writeTarget(file, { text: 'two\n', closed: [], disk: { ...realDisk, syncFile: full } });
    expect(done).toEqual({ state: 'refused', reason: 'it cannot be written (ENOSPC)' });
    expect(readdirSync(folder)).toEqual(['MEMORY.md']);
    expect(readFileSync(file, 'utf8')).toBe(markedText('one\n'));
  });

  test('an edit while it is being written is not lost', async () => {
    const { file } = place();
    await write(file, 'one\n');
    const disk = {
      ...realDisk,
      syncFile: async (descriptor: number, name: string) => {
        await realDisk.syncFile(descriptor, name);
        writeFileSync(file, 'just now\n');
      },
    };
    expect(await writeTarget(file, { text: 'two\n', closed: [], disk })).toMatchObject({ state: 'refused' });
    expect(readFileSync(file, 'utf8')).toBe('just now\n');
    expect(await write(file, 'two\n')).toMatchObject({ state: 'written' });
    expect(readdirSync(join(file, '..')).filter((name) => name.startsWith('.'))).toEqual([]);
  });
});

describe('target files: where nothing is written', () => {
  test('a missing folder, a link, a folder behind a link, a folder as the file', async () => {
    const { folder, file } = place();
    mkdirSync(join(folder, 'real'));
    symlinkSync('real', join(folder, 'link'));
    writeFileSync(join(folder, 'other.md'), 'mine\n');
    symlinkSync('other.md', file);
    const refused = ['none/x.md', 'link/x.md', 'MEMORY.md', 'real'];
    const reasons = await Promise.all(refused.map((name) => write(join(folder, name), 'one\n')));
    expect(reasons.map((done) => done.state === 'refused' && done.reason)).toEqual([
      `there is no folder ${join(folder, 'none')}`,
      expect.stringContaining('through a symbolic link'),
      'it is a symbolic link',
      'it is not a plain file',
    ]);
    expect(readFileSync(join(folder, 'other.md'), 'utf8')).toBe('mine\n');
  });

  test('the home folder, also by another name, and a git folder', () => {
    const { folder } = place();
    mkdirSync(join(folder, 'home/views'), { recursive: true });
    mkdirSync(join(folder, 'web/.git'), { recursive: true });
    symlinkSync('home', join(folder, 'alias'));
    for (const home of ['home', 'alias']) {
      expect(targetFault(join(folder, 'home/views/x.md'), [join(folder, home)])).toMatch(/home folder of memd/);
    }
    expect(targetFault(join(folder, 'web/.git/x.md'), [])).toMatch(/git folder/);
    expect(targetFault(join(folder, 'homework.md'), [join(folder, 'home')])).toBeUndefined();
  });

  test('a folder that everybody can write to, and a huge file', () => {
    const { folder, file } = place();
    mkdirSync(join(folder, 'open'));
    chmodSync(join(folder, 'open'), 0o777);
    expect(targetFault(join(folder, 'open/x.md'), [])).toMatch(/everybody can write/);
    writeFileSync(file, '');
    truncateSync(file, 2 * 1_024 ** 3);
    expect(targetFault(file, [])).toMatch(/no index/);
  });

  test('a file where the folder should be', async () => {
    const { file } = place();
    writeFileSync(file, 'mine\n');
    expect(await write(join(file, 'x.md'), 'one\n')).toMatchObject({ state: 'refused' });
    expect(keptEdits(join(file, 'x.md'))).toEqual([]);
  });

  test('a disk that refuses', async () => {
    const { file } = place();
    const disk = {
      ...realDisk,
      createFile: () => {
        throw Object.assign(new Error('full'), { code: 'ENOSPC' });
      },
    };
    expect(await writeTarget(file, { text: 'x', closed: [], disk })).toEqual({
      state: 'refused',
      reason: 'it cannot be written (ENOSPC)',
    });
  });
});
