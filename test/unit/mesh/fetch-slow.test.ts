import { PassThrough } from 'node:stream';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { fetchPack } from '../../../src/mesh/fetch/fetch-pack.ts';
import { dataPacket } from '../../../src/mesh/fetch/pkt-line.ts';
import type { PeerConnection } from '../../../src/mesh/ssh/ssh-client.ts';
import { initRepository } from '../../../src/store/git/repository.ts';
import { temporaryFolder } from '../../lib/temporary.ts';

const greeting = [
  dataPacket('version 2\n'),
  dataPacket('fetch=shallow\n'),
  Buffer.from('0000'),
  dataPacket('packfile\n'),
];
const idleMs = 300;

/** A peer that says the greeting and a beginning, then these bytes every 20 ms, for as long as somebody listens. */
function trickle(begin: Uint8Array, bytes: Uint8Array): PeerConnection {
  const stream = Object.assign(new PassThrough(), { close: () => stream.destroy() });
  const answer = new PassThrough();
  answer.write(Buffer.concat([...greeting, begin]));
  const timer = setInterval(() => answer.write(bytes), 20);
  onTestFinished(() => clearInterval(timer));
  // What is asked goes nowhere; what is read is the answer.
  stream.write = (() => true) as typeof stream.write;
  answer.on('data', (chunk: Buffer) => void stream.push(chunk));
  const start = async (): Promise<unknown> => ({ ok: true, value: { stream, said: () => '' } });
  return { start } as unknown as PeerConnection;
}

async function fetched(begin: Uint8Array, bytes: Uint8Array): Promise<unknown> {
  const repository = await initRepository(join(temporaryFolder(), 'repo.git'), { host: 'alpha' });
  return fetchPack({
    connection: trickle(begin, bytes),
    repository,
    wants: ['1'.repeat(40)],
    haves: [],
    form: 'pack',
    bytesMax: 1_000_000,
    objectsMax: 1_000,
    deadlineMs: 20_000,
    idleMs,
    beginMs: 5 * idleMs,
  });
}

/** The beginning of a pack with one file of 65 535 bytes, stored as they are. */
const header = Buffer.concat([
  Buffer.from('PACK\0\0\0\u0002\0\0\0\u0001', 'latin1'),
  Uint8Array.of(0xbf, 0xff, 0x1f, 0x78, 0x01, 0x01, 0xff, 0xff, 0x00, 0x00),
]);
const band = (bytes: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from((bytes.length + 5).toString(16).padStart(4, '0')), Uint8Array.of(1), bytes]);

test('a pack that trickles is ended as silence is, long before the deadline', async () => {
  const started = performance.now();
  expect(await fetched(band(header), band(Uint8Array.of(0)))).toEqual({
    ok: false,
    code: 'TIMEOUT',
    detail: 'the peer stopped sending',
  });
  expect(performance.now() - started).toBeLessThan(10_000);
});

test('signs of life without a pack last only so long', async () => {
  const started = performance.now();
  expect(await fetched(new Uint8Array(), band(new Uint8Array()))).toEqual({
    ok: false,
    code: 'TIMEOUT',
    detail: 'the peer does not begin to send',
  });
  expect(performance.now() - started).toBeGreaterThan(4 * idleMs);
});
