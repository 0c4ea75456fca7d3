import { expect, test } from 'vitest';
import { createSettler } from '../../../../src/daemon/beliefs/settler.ts';

/** Work that waits to be let go, and counts its runs. */
function heldWork() {
  const waiting: (() => void)[] = [];
  let runs = 0;
  return {
    runs: () => runs,
    letGo: () => waiting.shift()?.(),
    work: () => {
      runs += 1;
      return new Promise<void>((resolve) => {
        waiting.push(resolve);
      });
    },
  };
}

const noErrors = (error: unknown): void => {
  throw error;
};

/** Until every promise that can go on has gone on. */
const turns = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('settler: those who ask while a run is under way share the next one', async () => {
  const { work, letGo, runs } = heldWork();
  const settler = createSettler(work, noErrors);
  const first = settler.now();
  await turns();
  const later = Array.from({ length: 20 }, () => settler.now());
  letGo();
  await first;
  await turns();
  letGo();
  await Promise.all(later);
  expect(runs()).toBe(2);
});

test('settler: who asks while a run is under way is not answered by it', async () => {
  const { work, letGo } = heldWork();
  const settler = createSettler(work, noErrors);
  let answered = false;
  const first = settler.now();
  await turns();
  const second = settler.now().then(() => (answered = true));
  letGo();
  await first;
  await turns();
  expect(answered).toBe(false);
  letGo();
  await second;
});

test('settler: nothing runs beside what is done alone, and what was asked meanwhile runs after it', async () => {
  const order: string[] = [];
  const settler = createSettler(() => {
    order.push('run');
    return Promise.resolve();
  }, noErrors);
  let end = (): void => undefined;
  const alone = settler.alone(async () => {
    order.push('alone starts');
    await new Promise<void>((resolve) => (end = resolve));
    order.push('alone ends');
  });
  await turns();
  const run = settler.now();
  await turns();
  end();
  await Promise.all([alone, run]);
  expect(order).toEqual(['alone starts', 'alone ends', 'run']);
});

test('settler: a run that fails rejects for those who asked, and the next one runs', async () => {
  let fails = true;
  const settler = createSettler(() => (fails ? Promise.reject(new Error('disk')) : Promise.resolve()), noErrors);
  await expect(settler.now()).rejects.toThrow('disk');
  fails = false;
  await expect(settler.now()).resolves.toBeUndefined();
});
