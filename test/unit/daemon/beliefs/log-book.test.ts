/** Where a log is cut, and whether good lines may stand behind that. */
import { expect, test } from 'vitest';
import type { LogFault } from '../../../../src/core/log.ts';
import { cutOf, mayHoldMore, type ReadLog } from '../../../../src/daemon/beliefs/log-book.ts';
import { OperatingError } from '../../../../src/store/errors.ts';

const tip = { host: 'beta', seq: 1, link: 'a'.repeat(64) };

function read(code: LogFault | undefined, damage?: OperatingError): ReadLog {
  const fault = code === undefined ? {} : { fault: { code, seq: 2, detail: 'why' } };
  return { oid: 'c', held: 3, extension: { lines: [], tip, ...fault }, bounds: { upto: 0 }, damage };
}

const damage = new OperatingError('OBJECT_DAMAGED', 'a file is torn');

test('a log that was read to its end is cut at its first bad line', () => {
  expect(cutOf('beta', read('SIGNATURE'))).toMatchObject({ seq: 2, code: 'SIGNATURE' });
  expect(cutOf('beta', read('SEQ'))).toMatchObject({ seq: 2, code: 'SEQ' });
  expect(cutOf('beta', read(undefined))).toBeUndefined();
});

test('lines without a signature before damage hide no damage: what vouches for them may stand behind it', () => {
  for (const code of ['SIGNATURE', 'KEY_SPAN'] as const) {
    expect(cutOf('beta', read(code, damage))).toMatchObject({ seq: 4, code: 'OBJECT_DAMAGED' });
    expect(mayHoldMore({ code })).toBe(false);
  }
  expect(mayHoldMore({ code: 'OBJECT_DAMAGED' })).toBe(true);
});

test('a line that does not follow is told before damage that comes later', () => {
  expect(cutOf('beta', read('SEQ', damage))).toMatchObject({ seq: 2, code: 'SEQ' });
  expect(mayHoldMore({ code: 'SEQ' })).toBe(true);
});
