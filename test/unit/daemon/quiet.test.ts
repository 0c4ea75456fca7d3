import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { quietAfterMs } from '../../../src/core/limits.ts';
import { keepQuiet } from '../../../src/daemon/quiet.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('memory counts once nothing has stirred for a while, and speed again from the next change on', () => {
  const told: string[] = [];
  const quiet = keepQuiet({ favour: (what) => void told.push(what) });
  vi.advanceTimersByTime(quietAfterMs - 1);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(told).toEqual(['memory']);
  quiet.stir();
  expect(told).toEqual(['memory', 'speed']);
  vi.advanceTimersByTime(quietAfterMs);
  expect(told).toEqual(['memory', 'speed', 'memory']);
  quiet.close();
});

test('each change puts the quiet off, and the engine is told once, not at each of them', () => {
  const told: string[] = [];
  const quiet = keepQuiet({ favour: (what) => void told.push(what) });
  for (let n = 0; n < 10; n += 1) {
    vi.advanceTimersByTime(quietAfterMs - 1);
    quiet.stir();
  }
  expect(told).toEqual([]);
  vi.advanceTimersByTime(quietAfterMs);
  expect(told).toEqual(['memory']);
  quiet.close();
});

test('nothing is told after the end', () => {
  const told: string[] = [];
  const quiet = keepQuiet({ favour: (what) => void told.push(what) });
  quiet.close();
  vi.advanceTimersByTime(quietAfterMs * 2);
  expect(told).toEqual([]);
});

test('what is held is made smaller step by step, memory counts when that is done, and a stir ends it', () => {
  const told: string[] = [];
  let left = 3;
  const pack = (): boolean => {
    told.push(`pack ${left}`);
    left -= 1;
    return left > 0;
  };
  const quiet = keepQuiet({ pack, favour: (what) => void told.push(what) });
  vi.advanceTimersByTime(quietAfterMs);
  expect(told).toEqual(['pack 3']);
  quiet.stir();
  vi.advanceTimersByTime(quietAfterMs - 1);
  expect(told).toEqual(['pack 3']);
  vi.advanceTimersByTime(1);
  vi.runAllTicks();
  vi.runAllTimers();
  expect(told).toEqual(['pack 3', 'pack 2', 'pack 1', 'memory']);
  quiet.close();
});
