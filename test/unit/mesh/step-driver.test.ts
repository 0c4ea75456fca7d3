import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createStepDriver, type StepMachine } from '../../../src/mesh/step-driver.ts';

/** A machine that counts, and asks for what it was told to ask for. */
function counting(
  carry: (effect: string) => void,
  onFault: (error: unknown) => void = () => undefined,
): StepMachine<number, string, string> {
  return {
    state: 0,
    step: (state, _, event) => ({ state: state + 1, effects: event.split(' ') }),
    nextTime: () => undefined,
    time: 'time',
    carry,
    onFault,
  };
}

describe('a step machine that is driven', () => {
  test('takes what an effect leads to after the event that is being done, never within it', () => {
    const carried: string[] = [];
    const driver = createStepDriver(
      counting((effect) => {
        carried.push(`${effect} at ${driver.state()}`);
        if (effect === 'a') driver.tell('c');
      }),
    );
    driver.tell('a b');
    expect(carried).toEqual(['a at 1', 'b at 1', 'c at 2']);
  });

  test('goes on when an effect cannot be carried out: the others are, and so is the next event', () => {
    const carried: string[] = [];
    const faults: unknown[] = [];
    const driver = createStepDriver(
      counting(
        (effect) => {
          if (effect === 'bad') throw new Error('no');
          carried.push(effect);
        },
        (error) => void faults.push(error),
      ),
    );
    driver.tell('bad good');
    driver.tell('next');
    expect(carried).toEqual(['good', 'next']);
    expect(faults).toHaveLength(1);
  });

  test('throws what a step throws, and takes the next event all the same', () => {
    const carried: string[] = [];
    const machine = counting((effect) => void carried.push(effect));
    const driver = createStepDriver({
      ...machine,
      step: (state, at, event) => {
        if (event === 'bad') throw new Error('no');
        return machine.step(state, at, event);
      },
    });
    driver.tell('one');
    expect(() => driver.tell('bad')).toThrow('no');
    driver.tell('two');
    expect(carried).toEqual(['one', 'two']);
    expect(driver.state()).toBe(2);
  });

  test('takes events after it was stopped, and is told no time', () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const carried: string[] = [];
    const driver = createStepDriver({ ...counting((effect) => void carried.push(effect)), nextTime: () => 0 });
    driver.stop();
    driver.tell('a');
    expect(carried).toEqual(['a']);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('is told the time when the machine wants it', async () => {
    const told = new Promise<void>((resolve) => {
      const driver = createStepDriver<number, string, string>({
        ...counting(() => resolve()),
        nextTime: (state) => (state === 1 ? performance.now() + 1 : undefined),
        step: (state, _, event) => ({ state: state + 1, effects: event === 'time' ? ['done'] : [] }),
      });
      driver.tell('start');
    });
    await expect(told).resolves.toBeUndefined();
  });
});
