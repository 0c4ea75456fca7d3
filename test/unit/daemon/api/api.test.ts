/** Both ends of the local API over a real socket, with a handler of the test's own. */
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { apiLineBytesMax, apiRequestsMax } from '../../../../src/core/limits.ts';
import { connectApi, type ApiConnection } from '../../../../src/daemon/api/api-client.ts';
import { serveApi, type ApiServer, type Handle } from '../../../../src/daemon/api/api-server.ts';
import { lineSplitter } from '../../../../src/daemon/api/protocol.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

async function serve(handle: Handle): Promise<{ server: ApiServer; path: string; client: ApiConnection }> {
  const path = join(temporaryFolder(), 's');
  const describeError = (error: unknown) => ({ code: 'FAILED', message: String(error), exit: 1 }) as const;
  const server = await serveApi({ socketPath: path, handle, describe: describeError });
  const client = await connectApi(path);
  if (client === undefined) throw new Error('nobody listens');
  onTestFinished(async () => {
    client.close();
    await server.close();
  });
  return { server, path, client };
}

describe('line splitter', () => {
  const bytes = Buffer.from('eins\n\nzwei é 🙂\n');

  test('lines are the same wherever the stream is cut', () => {
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const splitter = lineSplitter(100);
      const lines = [bytes.subarray(0, cut), bytes.subarray(cut)].flatMap((part) => splitter.push(part));
      expect(lines).toEqual(['eins', '', 'zwei é 🙂']);
    }
  });

  test('a line that is not UTF-8 is null, and the next one is read', () => {
    expect(lineSplitter(100).push(Buffer.from([0xff, 0x0a, 0x61, 0x0a]))).toEqual([null, 'a']);
  });

  test('a line of the maximum passes, one byte more does not, finished or not', () => {
    expect(lineSplitter(3).push(Buffer.from('abc\n'))).toEqual(['abc']);
    expect(lineSplitter(3).push(Buffer.from('abcd\n'))).toBe('too-long');
    expect(lineSplitter(3).push(Buffer.from('abcd'))).toBe('too-long');
    const slow = lineSplitter(3);
    expect([slow.push(Buffer.from('ab')), slow.push(Buffer.from('cd'))]).toEqual([[], 'too-long']);
  });
});

describe('local API', () => {
  test('answers find their requests, whatever their order, and progress comes before', async () => {
    const { client } = await serve(async (method, _, progress) => {
      progress(`on ${method}`);
      if (method === 'slow') await new Promise((resume) => setImmediate(resume));
      if (method === 'bad') throw new Error('no');
      return method;
    });
    const heard: string[] = [];
    const answers = await Promise.allSettled(
      ['slow', 'bad', 'quick'].map((one) => client.call(one, {}, (text) => heard.push(text))),
    );
    expect(answers.map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason)))).toEqual([
      'slow',
      'ApiFailure: Error: no',
      'quick',
    ]);
    expect(heard.toSorted()).toEqual(['on bad', 'on quick', 'on slow']);
  });

  test('a server that closes finishes what runs, refuses what comes later, and takes no new client', async () => {
    const finish: (() => void)[] = [];
    const { server, client, path } = await serve(async () => {
      await new Promise<void>((resolve) => finish.push(resolve));
      return 'done';
    });
    const running = client.call('append', {});
    while (finish.length === 0) await new Promise((resume) => setImmediate(resume));
    const closing = server.close();
    await expect(client.call('append', {})).rejects.toMatchObject({ error: { code: 'STOPPING' } });
    finish[0]?.();
    expect(await running).toBe('done');
    await closing;
    expect(await connectApi(path)).toBeUndefined();
    await expect(client.call('append', {})).rejects.toMatchObject({ error: { code: 'DAEMON_LOST' } });
  });

  test('a client that does not read is not worked for: what it asks for is not begun', async () => {
    let begun = 0;
    const big = 'x'.repeat(100_000);
    const { path, client } = await serve((method) => {
      begun += method === 'big' ? 1 : 0;
      return Promise.resolve(method === 'big' ? big : 'small');
    });
    const deaf = connect(path);
    onTestFinished(() => void deaf.destroy());
    deaf.pause();
    await new Promise<void>((resolve) => deaf.once('connect', resolve));
    deaf.write(Array.from({ length: 1_000 }, (_, id) => `${JSON.stringify({ id, method: 'big' })}\n`).join(''));
    for (let n = 0; n < 50; n += 1) expect(await client.call('ping', {})).toBe('small');
    expect(begun).toBeGreaterThan(0);
    expect(begun).toBeLessThanOrEqual(apiRequestsMax);
    // It begins to read: the rest is done.
    let read = 0;
    deaf.resume();
    await new Promise<void>((resolve) => {
      deaf.on('data', (chunk: Buffer) => {
        read += chunk.filter((byte) => byte === 0x0a).length;
        if (read === 1_000) resolve();
      });
    });
    expect(begun).toBe(1_000);
  });

  test('a daemon that says nothing is given up, one that is still at work is not', async () => {
    const path = join(temporaryFolder(), 's');
    const mute = createServer((socket) => socket.resume());
    await new Promise<void>((resolve) => mute.listen(path, resolve));
    onTestFinished(() => void mute.close());
    const client = await connectApi(path, 60);
    await expect(client?.call('status', {})).rejects.toMatchObject({
      error: { code: 'DAEMON_LOST', message: expect.stringContaining('not a word') },
    });
    const working = join(temporaryFolder(), 's');
    const server = createServer((socket) => {
      let beats = 0;
      const timer = setInterval(() => {
        beats += 1;
        socket.write(beats < 8 ? '{"id":1,"progress":""}\n' : '{"id":1,"result":"at last"}\n');
        if (beats === 8) clearInterval(timer);
      }, 20);
      socket.on('close', () => clearInterval(timer)).resume();
    });
    await new Promise<void>((resolve) => server.listen(working, resolve));
    onTestFinished(() => void server.close());
    const patient = await connectApi(working, 60);
    const heard: string[] = [];
    expect(await patient?.call('rebuild', {}, (text) => heard.push(text))).toBe('at last');
    expect(heard).toEqual([]);
    patient?.close();
  });

  test.each([['text\n'], ['{"no":"id"}\n'], [Buffer.from([0xff, 0x0a])], ['null\n']])(
    'an answer that is none ends the connection: %j',
    async (said) => {
      const path = join(temporaryFolder(), 's');
      const server = createServer((socket) => socket.resume().end(said));
      await new Promise<void>((resolve) => server.listen(path, resolve));
      onTestFinished(() => void server.close());
      const client = await connectApi(path);
      await expect(client?.call('status', {})).rejects.toMatchObject({ error: { code: 'DAEMON_LOST' } });
    },
  );

  test('an answer that no line can hold is an error of that request alone', async () => {
    const huge = Array.from({ length: apiLineBytesMax / 1_048_576 + 1 }, () => 'x'.repeat(1_048_576));
    const { client } = await serve((method) => Promise.resolve(method === 'huge' ? huge : 'small'));
    const [first, second] = await Promise.allSettled([client.call('huge', {}), client.call('small', {})]);
    expect(first).toMatchObject({ status: 'rejected', reason: { error: { code: 'ANSWER_TOO_LARGE', exit: 2 } } });
    expect(second).toEqual({ status: 'fulfilled', value: 'small' });
  });
});
