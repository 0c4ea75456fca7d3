import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkPlainCopy, openPlainCopies } from '../../../../src/store/logs/plain-copies.ts';
import type { Home } from '../../../../src/store/home/home.ts';
import { temporaryFolder, temporaryHome } from '../../../lib/temporary.ts';

const copy = (home: Home): string => path.join(home.logs, 'alpha.jsonl');

describe('plain copies', () => {
  test('lines are added to a copy that is up to date', () => {
    const home = temporaryHome();
    const copies = openPlainCopies(home);
    expect(copies.append('alpha', 1, ['a', 'é'])).toBe(true);
    expect(copies.append('alpha', 3, [Buffer.from([0xff])])).toBe(true);
    expect(fs.readFileSync(copy(home))).toEqual(Buffer.concat([Buffer.from('a\né\n'), Buffer.from([0xff, 0x0a])]));
    expect(openPlainCopies(home).append('alpha', 4, ['d'])).toBe(true);
    expect(checkPlainCopy(home, 'alpha', ['a', 'é', Buffer.from([0xff]), 'd'])).toEqual([]);
  });

  test.each<[string, (file: string) => void]>([
    ['behind', (file) => fs.writeFileSync(file, 'a\n')],
    ['ahead', (file) => fs.writeFileSync(file, 'a\nb\nc\n')],
    ['torn: no newline at its end', (file) => fs.writeFileSync(file, 'a\nb')],
    ['gone', (file) => fs.rmSync(file)],
  ])('a copy that is %s is not added to; a rewrite heals it', (_, spoil) => {
    const home = temporaryHome();
    openPlainCopies(home).rewrite('alpha', ['a', 'b']);
    spoil(copy(home));
    const copies = openPlainCopies(home);
    expect(copies.append('alpha', 3, ['c'])).toBe(false);
    copies.rewrite('alpha', ['a', 'b', 'c']);
    expect(copies.append('alpha', 4, ['d'])).toBe(true);
    expect(fs.readFileSync(copy(home), 'utf8')).toBe('a\nb\nc\nd\n');
  });

  test('a copy that somebody else wrote to meanwhile is written anew', () => {
    const home = temporaryHome();
    const copies = openPlainCopies(home);
    copies.rewrite('alpha', ['a']);
    fs.appendFileSync(copy(home), 'mine\n');
    expect(copies.append('alpha', 2, ['b'])).toBe(false);
  });

  test('a copy is never written through a symbolic link', () => {
    const home = temporaryHome();
    const target = path.join(temporaryFolder(), 'precious');
    fs.writeFileSync(target, '');
    fs.symlinkSync(target, copy(home));
    expect(() => openPlainCopies(home).append('alpha', 1, ['a'])).toThrow(
      expect.objectContaining({ code: 'FILE_UNSAFE' }),
    );
    openPlainCopies(home).rewrite('alpha', ['a']);
    expect(fs.readFileSync(target, 'utf8')).toBe('');
    expect(fs.lstatSync(copy(home)).isFile()).toBe(true);
  });

  test('large copies are written in pieces', () => {
    const home = temporaryHome();
    const lines = Array.from({ length: 5_000 }, (_, index) => `${index} ${'x'.repeat(600)}`);
    openPlainCopies(home).rewrite('alpha', lines);
    expect(checkPlainCopy(home, 'alpha', lines)).toEqual([]);
  });

  test.each<[string, string, string, string]>([
    ['a flipped byte', 'a\nb\nc\n', 'a\nX\nc\n', 'log alpha, line 2: differs from the line in git'],
    ['a missing end', 'a\nb\nc\n', 'a\nb\n', 'log alpha, line 3: is missing, and all after it'],
    ['a torn end', 'a\nb\nc\n', 'a\nb\nc', 'log alpha, line 3: differs from the line in git'],
    ['an added line', 'a\nb\nc\n', 'a\nb\nc\nd\n', 'log alpha, line 4: is not in git'],
    ['an empty copy', 'a\nb\nc\n', '', 'log alpha, line 1: is missing, and all after it'],
  ])('verification names host and line: %s', (_, sound, spoiled, expected) => {
    const home = temporaryHome();
    const lines = sound.trim().split('\n');
    fs.writeFileSync(copy(home), spoiled);
    const [problem, second] = checkPlainCopy(home, 'alpha', lines);
    expect(second).toBeUndefined();
    expect(`${problem?.place}: ${problem?.detail}`).toBe(expected);
    expect(problem?.file).toBe(copy(home));
  });
});
