import { describe, expect, test } from 'vitest';
import { createObjectGate } from '../../../src/mesh/object-gate.ts';

/** Work that ends when it is told to, and notes when it begins and ends. */
function worker(seen: string[], name: string): { work: () => Promise<string>; end: () => void } {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const work = async (): Promise<string> => {
    seen.push(`${name} begins`);
    await promise;
    seen.push(`${name} ends`);
    return name;
  };
  return { work, end: () => resolve(undefined) };
}

describe('the object gate', () => {
  test('dropping waits for who is at work, and who comes meanwhile waits for the dropping', async () => {
    const gate = createObjectGate();
    const seen: string[] = [];
    const [fetch, drop, late] = ['fetch', 'drop', 'late'].map((name) => worker(seen, name));
    const done = [gate.use(fetch!.work), gate.alone(drop!.work), gate.use(late!.work)];
    expect(gate.isClosed()).toBe(true);
    late!.end();
    drop!.end();
    fetch!.end();
    expect(await Promise.all(done)).toEqual(['fetch', 'drop', 'late']);
    expect(seen).toEqual(['fetch begins', 'fetch ends', 'drop begins', 'drop ends', 'late begins', 'late ends']);
    expect(gate.isClosed()).toBe(false);
  });

  test('two droppings follow each other, a failure of one stops neither the next nor who waits', async () => {
    const gate = createObjectGate();
    const first = gate.alone(() => Promise.reject(new Error('full disk')));
    const second = gate.alone(() => Promise.resolve('second'));
    const user = gate.use(() => Promise.resolve('user'));
    await expect(first).rejects.toThrow('full disk');
    expect(await Promise.all([second, user])).toEqual(['second', 'user']);
  });

  test('what may be ended is ended first, until it asks to be forgotten', async () => {
    const gate = createObjectGate();
    let stops = 0;
    const forget = gate.onClose(() => Promise.resolve(void (stops += 1)));
    await gate.alone(() => Promise.resolve(expect(stops).toBe(1)));
    forget();
    await gate.alone(() => Promise.resolve(undefined));
    expect(stops).toBe(1);
  });

  test('who was refused is told once it is open again: after the last of several droppings, also a failed one', async () => {
    const gate = createObjectGate();
    const opened: boolean[] = [];
    const forget = gate.onOpen(() => opened.push(gate.isClosed()));
    await Promise.all([gate.alone(() => Promise.resolve()), gate.alone(() => Promise.resolve())]);
    expect(opened).toEqual([false]);
    await expect(gate.alone(() => Promise.reject(new Error('full disk')))).rejects.toThrow('full disk');
    expect(opened).toEqual([false, false]);
    forget();
    await gate.alone(() => Promise.resolve());
    expect(opened).toHaveLength(2);
  });
});
