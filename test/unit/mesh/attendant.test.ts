import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { ok } from '../../../src/crypto/result.ts';
import { createAttendant } from '../../../src/mesh/attendant.ts';
import type { RoutedConnection } from '../../../src/mesh/ssh/routes.ts';

/** A live connection whose watches are the streams that it was asked for. */
function connection(): { readonly live: RoutedConnection; readonly streams: PassThrough[] } {
  const streams: PassThrough[] = [];
  const live = {
    isOpen: () => true,
    route: () => undefined,
    start: () => {
      const stream = new PassThrough();
      streams.push(stream);
      return Promise.resolve(ok({ stream, said: () => '' }));
    },
  };
  return { live: live as unknown as RoutedConnection, streams };
}

function attendant(): { readonly ended: string[]; readonly attendant: ReturnType<typeof createAttendant> } {
  const ended: string[] = [];
  return {
    ended,
    attendant: createAttendant({
      onNews: () => undefined,
      onAlarm: () => undefined,
      onUnwatched: (peer) => ended.push(peer),
      onLost: (peer) => ended.push(`${peer} lost`),
      serve: () => undefined,
    }),
  };
}

test('attendant: a watch over a connection that was replaced is over at once, and its end is not told a second time', async () => {
  const { ended, attendant: one } = attendant();
  const { live, streams } = connection();
  one.renewed('beta');
  expect(ended).toEqual([]);
  one.attend('beta', live);
  one.renewed('beta');
  expect(ended).toEqual(['beta']);
  // The next watch is there before the old channel has noticed anything.
  one.attend('beta', live);
  await Promise.resolve();
  streams[0]?.destroy();
  streams[1]?.destroy();
  await one.ended();
  expect(ended).toEqual(['beta', 'beta']);
});

test('attendant: a watch that ends by itself is told once', async () => {
  const { ended, attendant: one } = attendant();
  const { live, streams } = connection();
  one.attend('beta', live);
  await Promise.resolve();
  streams[0]?.destroy();
  await one.ended();
  expect(ended).toEqual(['beta']);
  one.renewed('beta');
  expect(ended).toEqual(['beta']);
});
