import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { onSchedule, type CronSchedule } from '../../../src/daemon/cron-schedule.ts';

const everyHalfMinute = '*/30 * * * * *';
let runs = 0;
let task: CronSchedule | undefined;

function begin(schedule: string, spreadMs = 0): void {
  task = onSchedule(schedule, { work: () => void (runs += 1), spreadMs });
}

/** Sets the clock on the wall; timers run on as they did. */
async function setClock(at: string, thenMs: number): Promise<void> {
  vi.setSystemTime(at);
  await vi.advanceTimersByTimeAsync(thenMs);
}

beforeEach(() => {
  runs = 0;
  vi.useFakeTimers({ now: Date.parse('2026-07-27T12:00:10Z') });
});

afterEach(() => {
  task?.stop();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

test('work begins at each time of the schedule, and no more once it is stopped', async () => {
  begin(everyHalfMinute);
  await vi.advanceTimersByTimeAsync(19_000);
  expect(runs).toBe(0);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(runs).toBe(1);
  await vi.advanceTimersByTimeAsync(300_000);
  expect(runs).toBe(11);
  task?.stop();
  await vi.advanceTimersByTimeAsync(300_000);
  expect([runs, vi.getTimerCount()]).toEqual([11, 0]);
});

test('what a sleep or a clock set forward by a century missed runs once, at once', async () => {
  vi.setSystemTime('1975-01-01T00:00:10Z');
  begin(everyHalfMinute);
  const looked = vi.spyOn(Date, 'now');
  await setClock('2099-01-01T00:00:10Z', 20_001);
  expect(runs).toBe(1);
  // Not through sixty-five million half minutes.
  expect(looked.mock.calls.length).toBeLessThan(100);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(runs).toBe(3);
});

test('a clock that is set back puts nothing off', async () => {
  begin('0 17 * * * *');
  await setClock('2020-03-03T05:16:00Z', 90_000);
  expect(runs).toBe(1);
  await setClock('1969-06-01T00:10:00Z', 10 * 60_000);
  expect(runs).toBe(2);
});

test('times are spread; one that waits is not begun after the end', async () => {
  begin(everyHalfMinute, 5_000);
  await vi.advanceTimersByTimeAsync(25_001);
  expect(runs).toBe(1);
  vi.spyOn(Math, 'random').mockReturnValue(0.9);
  await vi.advanceTimersByTimeAsync(26_000);
  expect(runs).toBe(1);
  task?.stop();
  await vi.advanceTimersByTimeAsync(60_000);
  expect([runs, vi.getTimerCount()]).toEqual([1, 0]);
});
