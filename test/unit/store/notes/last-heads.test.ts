import fs from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  checkLastHead,
  checkLastTrust,
  readLastHeads,
  writeLastHeads,
  type LastHead,
} from '../../../../src/store/notes/last-heads.ts';
import { temporaryHome } from '../../../lib/temporary.ts';

const oid = (digit: string): string => digit.repeat(40);
const link = (digit: string): string => digit.repeat(64);
const last: LastHead = { oid: oid('a'), seq: 5, link: link('5') };
const links =
  (...digits: string[]): ((seq: number) => string | undefined) =>
  (seq) =>
    digits[seq - 1] === undefined ? undefined : link(digits[seq - 1] ?? '');

describe('last heads', () => {
  test('what was written is read back, and the file is closed to others', async () => {
    const home = temporaryHome();
    const heads = { logs: { alpha: last }, trust: { oid: oid('c'), ops: 3 } };
    expect(readLastHeads(home)).toEqual({ heads: { logs: {}, trust: null }, state: 'missing' });
    await writeLastHeads(home, heads);
    expect(readLastHeads(home)).toEqual({ heads, state: 'read' });
    expect(fs.statSync(home.lastHeads).mode & 0o777).toBe(0o600);
    await writeLastHeads(home, { logs: {}, trust: null });
    expect(readLastHeads(home).heads).toEqual({ logs: {}, trust: null });
  });

  test.each([
    '',
    '\0\0\0\0',
    '{"v":1,"logs":{"alpha":{"oid":',
    '[]',
    '{"v":2,"logs":{},"trust":null}',
    '{"v":1,"logs":{"../x":{"oid":"a","seq":1,"link":"b"}},"trust":null}',
    '{"v":1,"logs":{"a":{"seq":1.5}},"trust":null}',
  ])('a file that a crash left unreadable (%j) proves nothing, and says so', (text) => {
    const home = temporaryHome();
    fs.writeFileSync(home.lastHeads, text);
    expect(readLastHeads(home)).toEqual({ heads: { logs: {}, trust: null }, state: 'damaged' });
  });

  test('the same commit, a longer log and an unknown log pass', () => {
    checkLastHead('alpha', undefined, { oid: null, lines: 0, linkAt: links() });
    checkLastHead('alpha', last, { oid: oid('a'), lines: 0, linkAt: links() });
    checkLastHead('alpha', last, { oid: oid('b'), lines: 6, linkAt: links('1', '2', '3', '4', '5', '6') });
  });

  test.each([
    ['gone', { oid: null, lines: 0, linkAt: links() }, /the branch is gone/],
    ['shorter', { oid: oid('b'), lines: 4, linkAt: links('1', '2', '3', '4') }, /ends at line 4/],
    [
      'rewritten',
      { oid: oid('b'), lines: 6, linkAt: links('1', '2', '3', '4', '9', '6') },
      /line 5 of the branch has link 999999999999/,
    ],
  ])('a branch that is %s is refused, naming both', (_, current, message) => {
    expect(() => checkLastHead('alpha', last, current)).toThrow(
      expect.objectContaining({
        code: 'BRANCH_REWOUND',
        message: expect.stringMatching(message),
        hint: expect.stringContaining('restore'),
      }),
    );
    expect(() => checkLastHead('alpha', last, current)).toThrow(/line 5 \(link 555555555555, commit aaaaaaaaaaaa\)/);
  });

  test('the trust branch only grows', () => {
    checkLastTrust(null, { oid: null, ops: 0 });
    checkLastTrust({ oid: oid('a'), ops: 3 }, { oid: oid('b'), ops: 4 });
    expect(() => checkLastTrust({ oid: oid('a'), ops: 3 }, { oid: oid('b'), ops: 2 })).toThrow(
      expect.objectContaining({ code: 'BRANCH_REWOUND' }),
    );
    expect(() => checkLastTrust({ oid: oid('a'), ops: 3 }, { oid: null, ops: 0 })).toThrow(
      expect.objectContaining({ code: 'BRANCH_REWOUND' }),
    );
  });
});
