import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { noteAddressesMax, noteWindowMs } from '../../../../src/core/limits.ts';
import { createNoteLog, type LoggedNote } from '../../../../src/daemon/peers/ssh-notes.ts';
import type { ServerNote } from '../../../../src/mesh/ssh/ssh-server.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const refused = (address: string, detail = 'a key'): ServerNote => ({ code: 'LOGIN_REFUSED', address, detail });

function open(): { written: LoggedNote[]; log: ReturnType<typeof createNoteLog> } {
  const written: LoggedNote[] = [];
  return { written, log: createNoteLog((note) => void written.push(note)) };
}

test('the first of a code and address is logged at once, what follows within a minute once, with its count', () => {
  const { written, log } = open();
  for (let n = 1; n <= 500; n += 1) log.note(refused('192.0.2.1', `key ${n}`));
  log.note({ ...refused('192.0.2.1'), code: 'LOGIN_TIMEOUT' });
  log.note(refused('192.0.2.2'));
  expect(written.map(({ code, address, detail, count }) => [code, address, detail, count])).toEqual([
    ['LOGIN_REFUSED', '192.0.2.1', 'key 1', undefined],
    ['LOGIN_TIMEOUT', '192.0.2.1', 'a key', undefined],
    ['LOGIN_REFUSED', '192.0.2.2', 'a key', undefined],
  ]);
  vi.advanceTimersByTime(noteWindowMs);
  expect(written.slice(3)).toEqual([{ ...refused('192.0.2.1', 'key 500'), count: 499 }]);
  log.note(refused('192.0.2.1'));
  expect(written).toHaveLength(5);
});

test('strangers from any number of addresses do not fill the log', () => {
  const { written, log } = open();
  for (let n = 0; n < 10_000; n += 1) log.note(refused(`2001:db8::${n.toString(16)}`));
  expect(written).toHaveLength(noteAddressesMax + 1);
  log.close();
  expect(written.at(-1)).toMatchObject({ count: 10_000 - noteAddressesMax - 1 });
  vi.advanceTimersByTime(2 * noteWindowMs);
  expect(written).toHaveLength(noteAddressesMax + 2);
});
