import { expect, test } from 'vitest';
import type { VerifiedLine } from '../../../../src/core/log.ts';
import { createLogBook } from '../../../../src/daemon/beliefs/log-book.ts';
import { place } from '../../../../src/daemon/queries/place.ts';
import type { Engine } from '../../../../src/daemon/engine.ts';

const meshId = 'a'.repeat(64);

function linkAt(seq: number): string {
  return `${seq}`.repeat(64);
}

/** A host with five lines of beta, of which three are usable: a fork-proof cuts its log. */
function engine(): Engine {
  const book = createLogBook();
  const lines = [1, 2, 3, 4, 5].map((seq) => ({ seq, link: linkAt(seq) }) as VerifiedLine);
  book.extend('beta', lines, 'c'.repeat(40));
  book.bound('beta', 3);
  const hosts = new Map([
    ['alpha', {}],
    ['beta', {}],
  ]);
  return { meshId, charter: () => ({ hosts }), beliefs: { book, fold: () => Promise.resolve() } } as unknown as Engine;
}

test('a pin that nobody chose stands on the last usable line, not behind a fork', async () => {
  expect(await place(engine(), { host: 'beta' })).toEqual({ seq: 3, link: linkAt(3) });
  expect(await place(engine(), { host: 'alpha' })).toEqual({ seq: 0, link: meshId });
});

test('a line that is named may be any that is held', async () => {
  expect(await place(engine(), { host: 'beta', seq: 5 })).toEqual({ seq: 5, link: linkAt(5) });
  expect(await place(engine(), { host: 'beta', seq: 0 })).toEqual({ seq: 0, link: meshId });
  await expect(place(engine(), { host: 'beta', seq: 6 })).rejects.toThrow('the last one held is 5');
  await expect(place(engine(), { host: 'gamma' })).rejects.toThrow('there is no host gamma');
});
