import { describe, expect, test } from 'vitest';
import { createAppendQueue } from '../../../../src/daemon/own/append-queue.ts';

/** A queue of number lists whose commits are noted and end when they are told to. */
function watched(batchMax = 10) {
  const commits: number[][] = [];
  const ends: (() => void)[] = [];
  const queue = createAppendQueue<readonly number[], number>({
    sizeOf: (request) => request.length,
    batchMax,
    commit: async (requests) => {
      commits.push(requests.flat());
      await new Promise<void>((resolve) => ends.push(resolve));
      return requests.map((request) =>
        request.includes(13)
          ? { status: 'rejected', reason: new Error('thirteen') }
          : { status: 'fulfilled', value: request.length },
      );
    },
  });
  const begun = async (count: number): Promise<void> => {
    while (commits.length < count) await new Promise((resume) => setImmediate(resume));
  };
  return { queue, commits, begun, end: () => ends.shift()?.() };
}

describe('append queue', () => {
  test('what waits at one moment shares a commit, in order; what comes meanwhile is the next', async () => {
    const { queue, commits, begun, end } = watched();
    const first = [queue.submit([1]), queue.submit([2, 3])];
    await begun(1);
    const second = [queue.submit([4]), queue.submit([5])];
    end();
    expect(await Promise.all(first)).toEqual([1, 2]);
    await begun(2);
    end();
    expect(await Promise.all(second)).toEqual([1, 1]);
    expect(commits).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
  });

  test('a batch ends before it would hold too much, and a request is never split', async () => {
    const { queue, commits, begun, end } = watched(3);
    const replies = [[1, 2], [3], [4, 5], [6, 7, 8, 9], [10]].map((request) => queue.submit(request));
    for (let n = 1; n <= 4; n += 1) {
      await begun(n);
      end();
    }
    expect(await Promise.all(replies)).toEqual([2, 1, 2, 4, 1]);
    expect(commits).toEqual([[1, 2, 3], [4, 5], [6, 7, 8, 9], [10]]);
  });

  test('a refusal of one leaves the others of its batch alone', async () => {
    const { queue, begun, end } = watched();
    const replies = [queue.submit([1]), queue.submit([13]), queue.submit([2])];
    await begun(1);
    end();
    const outcomes = await Promise.allSettled(replies);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  test('a commit that fails fails its batch only, and the queue goes on', async () => {
    let failing = true;
    const queue = createAppendQueue<number, number>({
      sizeOf: () => 1,
      batchMax: 10,
      commit: async (requests) => {
        if (failing) throw new Error('disk');
        return requests.map((value) => ({ status: 'fulfilled', value }));
      },
    });
    await expect(queue.submit(1)).rejects.toThrow('disk');
    failing = false;
    expect(await queue.submit(2)).toBe(2);
    await queue.idle();
  });

  test('work that must be alone runs between two commits, and appends that come meanwhile wait', async () => {
    const { queue, commits, begun, end } = watched();
    const first = queue.submit([1]);
    await begun(1);
    const order: string[] = [];
    let finish = (): void => undefined;
    const alone = queue.alone(async () => {
      order.push('alone begins');
      await new Promise<void>((resolve) => (finish = resolve));
      order.push('alone ends');
    });
    const second = queue.submit([2]).then(() => order.push('second'));
    end();
    await first;
    while (order.length === 0) await new Promise((resume) => setImmediate(resume));
    expect(commits).toEqual([[1]]);
    finish();
    await alone;
    await begun(2);
    end();
    await second;
    expect(order).toEqual(['alone begins', 'alone ends', 'second']);
    await queue.idle();
  });

  test('work that fails alone holds nobody up', async () => {
    const { queue, begun, end } = watched();
    await expect(queue.alone(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    const reply = queue.submit([1]);
    await begun(1);
    end();
    expect(await reply).toBe(1);
  });
});
