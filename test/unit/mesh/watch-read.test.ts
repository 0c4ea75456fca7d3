import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { headsBytesMax, watchHeedMs, watchLinesMax } from '../../../src/core/limits.ts';
import { parseHeads, printHeads, type Heads } from '../../../src/mesh/heads.ts';
import { readWatch, type WatchFault } from '../../../src/mesh/serve/watch-read.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const line = (version: string): string =>
  `${printHeads({
    mesh: '0'.repeat(64),
    host: 'beta',
    heads: {},
    trust: { oid: '1'.repeat(40), hash: '3'.repeat(64) },
    addresses: {},
    version,
  } satisfies Heads)}\n`;

function reading(): { send: (...chunks: (string | Buffer)[]) => void; heard: string[]; faults: WatchFault[] } {
  const stream = new PassThrough();
  const heard: string[] = [];
  const faults: WatchFault[] = [];
  readWatch(stream, { onHeads: ({ version }) => heard.push(version), onFault: (fault) => faults.push(fault) });
  // Handed over at once: how a stream schedules its data is not what is tested.
  const send = (...chunks: (string | Buffer)[]): void =>
    chunks.forEach((chunk) => stream.emit('data', Buffer.from(chunk)));
  return { send, heard, faults };
}

test('a line that is cut anywhere is read, and of several that came together the last', () => {
  const { send, heard, faults } = reading();
  const text = line('one');
  for (const byte of text) send(byte);
  vi.advanceTimersByTime(watchHeedMs);
  send(line('two') + line('three') + line('four').slice(0, 20), line('four').slice(20));
  vi.advanceTimersByTime(watchHeedMs);
  expect([heard, faults]).toEqual([['one', 'four'], []]);
});

test('news are heeded ten times a second at most, and the newest is not forgotten', () => {
  const { send, heard } = reading();
  for (let index = 0; index < 100; index += 1) {
    send(line(String(index)));
    vi.advanceTimersByTime(25);
  }
  vi.advanceTimersByTime(watchHeedMs);
  expect(heard.length).toBeLessThanOrEqual(27);
  expect(heard.at(-1)).toBe('99');
});

test('a line that takes long to read is followed by a rest', () => {
  const stream = new PassThrough();
  const heard: string[] = [];
  const clock = performance.now.bind(performance);
  let later = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => clock() + later);
  const slowly: typeof parseHeads = (text) => ((later += 12), parseHeads(text));
  readWatch(stream, { onHeads: ({ version }) => heard.push(version), onFault: () => undefined }, slowly);
  for (let index = 0; index < 400; index += 1) {
    stream.emit('data', Buffer.from(line(String(index))));
    vi.advanceTimersByTime(25);
  }
  vi.restoreAllMocks();
  expect(heard.length).toBeGreaterThan(12);
  expect(heard.length).toBeLessThan(19);
});

test('more lines than a host may send are a flood: it is told once, and nothing afterwards', () => {
  const { send, heard, faults } = reading();
  send('x\n'.repeat(watchLinesMax + 1));
  send(line('late'));
  vi.advanceTimersByTime(60_000);
  expect([heard, faults.map(({ code }) => code)]).toEqual([[], ['WATCH_FLOOD']]);
});

test('as many bytes of one line as make a flood are a line that is too long before', () => {
  const { send, faults } = reading();
  for (let sent = 0; sent <= headsBytesMax; sent += 65_536) send(Buffer.alloc(65_536, 0x20));
  expect(faults).toMatchObject([{ code: 'PROTOCOL', detail: /longer than/ }]);
});

test.each(['', '{}', 'heads', '\u0000', '{"a":'.repeat(2_000)])('%j is no news, and ends the watch', (text) => {
  const { send, heard, faults } = reading();
  send(`${text}\n`);
  vi.advanceTimersByTime(watchHeedMs);
  send(line('late'));
  vi.advanceTimersByTime(watchHeedMs);
  expect([heard, faults.map(({ code }) => code)]).toEqual([[], ['PROTOCOL']]);
});
