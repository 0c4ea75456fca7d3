import { getSystemErrorName } from 'node:util';
import { describe, expect, test } from 'vitest';
import {
  diskError,
  isDamage,
  isOperatingError,
  OperatingError,
  operatingCodes,
  printable,
  systemCode,
} from '../../../src/store/errors.ts';

describe('operating errors', () => {
  test('an error carries its code, the retry of that code and a hint', () => {
    const error = new OperatingError('REF_LOCKED', 'x.lock exists', { hint: 'restart memd' });
    expect(error).toMatchObject({ code: 'REF_LOCKED', retry: 'later', hint: 'restart memd', message: 'x.lock exists' });
    expect(isOperatingError(error, 'REF_LOCKED')).toBe(true);
    expect(isOperatingError(error, 'REF_CHANGED')).toBe(false);
    expect(isOperatingError(new Error('REF_LOCKED'))).toBe(false);
  });

  test('a full disk is told apart from other disk failures', () => {
    const full = Object.assign(new Error('no space'), { code: 'ENOSPC' });
    const broken = Object.assign(new Error('io'), { code: 'EIO' });
    expect(diskError(full, 'write', '/h/x')).toMatchObject({ code: 'DISK_FULL', cause: full });
    expect(diskError(broken, 'write', '/h/x')).toMatchObject({
      code: 'DISK_FAILED',
      message: 'cannot write /h/x: EIO',
    });
    const typed = new OperatingError('REF_CHANGED', 'moved');
    expect(diskError(typed, 'write', '/h/x')).toBe(typed);
  });

  test('what is stored is wrong, or it only could not be read', () => {
    for (const code of ['OBJECT_MISSING', 'OBJECT_DAMAGED', 'REF_DAMAGED', 'BRANCH_DAMAGED'] as const)
      expect(isDamage(new OperatingError(code, 'x'))).toBe(true);
    for (const code of ['CHILD_FAILED', 'CHILD_TIMEOUT', 'PROGRAM_MISSING', 'REF_LOCKED', 'DISK_FAILED'] as const)
      expect(isDamage(new OperatingError(code, 'x'))).toBe(false);
    const reading = (code: string): unknown => diskError(Object.assign(new Error(code), { code }), 'read', '/h/x');
    expect(
      ['EIO', 'EUCLEAN', 'EISDIR', 'ENOTDIR', 'ELOOP', 'EACCES', 'EPERM'].filter((code) => !isDamage(reading(code))),
    ).toEqual([]);
    expect(['EMFILE', 'ENFILE', 'ENOMEM', 'EINTR', 'ENOSPC'].filter((code) => isDamage(reading(code)))).toEqual([]);
    expect(isDamage(new Error('EIO'))).toBe(false);
  });

  test.runIf(process.platform === 'linux')(
    'errors of Linux that Node has no name for are known by their number',
    () => {
      const codes = [-122, -74, -117].map((number) => {
        const code = getSystemErrorName(number);
        return systemCode(Object.assign(new Error(code), { code, errno: number }));
      });
      expect(codes).toEqual(['EDQUOT', 'EBADMSG', 'EUCLEAN']);
    },
  );

  test('every code is an upper-case word, so that scripts can match it', () => {
    for (const code of Object.keys(operatingCodes)) expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
  });
});

describe('printable', () => {
  test.each([
    ['an escape sequence', 'a\u001b[31mred', 'a [31mred'],
    ['a newline and NUL', 'a\r\n\u0000b', 'a b'],
    ['controls U+0080 to U+009F', 'a\u009bb', 'a b'],
    ['bidirectional controls and line separators', 'a\u202e\u2028\u2066\u061cb', 'a b'],
    ['invisible characters', 'a\u200b\ufeff\u{e0041}\u2060b', 'a b'],
    ['ordinary text in other scripts', 'héllo мир', 'héllo мир'],
  ])('%s', (_, text, expected) => {
    expect(printable(text)).toBe(expected);
  });

  test('long text is cut', () => {
    expect(printable('x'.repeat(1_000), 10)).toBe(`${'x'.repeat(10)}…`);
    expect(printable('😀😀', 3)).toBe('😀…');
  });
});
