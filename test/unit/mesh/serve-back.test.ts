import { PassThrough, duplexPair, type Duplex } from 'node:stream';
import { expect, test } from 'vitest';
import { createBackLines, serveWhenAsked, streamOver } from '../../../src/mesh/serve/serve-back.ts';

const closed = (stream: Duplex): Promise<void> => new Promise((resolve) => void stream.once('close', () => resolve()));

test('a stream over a channel is over at once when it is ended here, and the channel is told', async () => {
  const [here] = duplexPair();
  const stream = streamOver(here);
  stream.destroy();
  await closed(stream);
  expect([stream.destroyed, here.destroyed]).toEqual([true, true]);
});

test('nothing is served before the first word, and that word is not lost', async () => {
  const [here, there] = duplexPair();
  let served: Duplex | undefined;
  serveWhenAsked(here, (stream) => (served = stream));
  expect(served).toBeUndefined();
  there.write('hello');
  await expect.poll(() => served).toBeDefined();
  const word = await new Promise<string>((resolve) => served?.once('data', (chunk: Buffer) => resolve(String(chunk))));
  expect(word).toBe('hello');
});

test('a reader that stops reading holds the channel up', async () => {
  const channel = new PassThrough();
  const stream = streamOver(channel);
  let written = 0;
  while (channel.write(Buffer.alloc(65_536)) && written < 1_000) written += 1;
  await new Promise(setImmediate);
  expect(channel.isPaused()).toBe(true);
  stream.destroy();
});

test('the newest offer of a host counts, and each is taken once', async () => {
  const lines = createBackLines();
  const [[first], [second]] = [duplexPair(), duplexPair()];
  lines.offer('beta', first);
  lines.offer('beta', second);
  expect(lines.has('beta')).toBe(true);
  const taken = lines.take('beta');
  expect(taken?.destroyed).toBe(false);
  expect([lines.has('beta'), lines.take('beta')]).toEqual([false, undefined]);
});

test('an offer that ended is no way to a host, and one of a host that is none any more is ended', async () => {
  const lines = createBackLines();
  const [[here, there], [other]] = [duplexPair(), duplexPair()];
  lines.offer('beta', here);
  lines.offer('gamma', other);
  there.destroy();
  here.destroy();
  await expect.poll(() => lines.has('beta')).toBe(false);
  lines.drop((host) => host === 'gamma');
  await expect.poll(() => lines.has('gamma')).toBe(false);
});
