import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createPace } from '../../../src/mesh/serve/pace.ts';
import { commandsBurst, commandsPerSecond, commandsWaitingMax } from '../../../src/core/limits.ts';

function bench(): { ask(host?: string, isOver?: () => boolean): boolean; pass(ms: number): void; done(): number } {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let now = 1_000;
  let done = 0;
  const pace = createPace(() => now);
  const ask = (host = 'gamma', isOver = (): boolean => false): boolean => pace.run(host, () => (done += 1), isOver);
  const pass = (ms: number): void => void ((now += ms), vi.advanceTimersByTime(ms));
  return { ask, pass, done: () => done };
}

describe('the commands of one host', () => {
  test('run at once up to what hosts do, then evenly, and those of another host as ever', () => {
    const { ask, pass, done } = bench();
    for (let at = 0; at < commandsBurst; at += 1) ask();
    expect(done()).toBe(commandsBurst);
    ask();
    expect(done()).toBe(commandsBurst);
    ask('beta');
    expect(done()).toBe(commandsBurst + 1);
    pass(1_000 / commandsPerSecond);
    expect(done()).toBe(commandsBurst + 2);
  });

  test('take their share of the time however fast they come, and few of them wait', () => {
    const { ask, pass, done } = bench();
    let refused = 0;
    for (let at = 0; at < 60_000; at += 1) {
      if (!ask()) refused += 1;
      pass(1);
    }
    expect(done()).toBeLessThanOrEqual(commandsBurst + 60 * commandsPerSecond + commandsWaitingMax);
    expect(done()).toBeGreaterThan(60 * commandsPerSecond);
    expect(refused).toBeGreaterThan(50_000);
  });

  test('are dropped when nobody waits for them any more', () => {
    const { ask, pass, done } = bench();
    for (let at = 0; at < commandsBurst; at += 1) ask();
    ask('gamma', () => true);
    pass(10_000);
    expect(done()).toBe(commandsBurst);
  });
});
