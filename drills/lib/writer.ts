/**
 * The smallest process that appends to a log: home lock, sweep, store, the same JSON-lines socket as memd. Drills of the
 * store run against it, so that a failure points at the store and not at the daemon around it.
 *
 * `node drills/lib/writer.ts --home DIR`: prints one `{"ready":true,…}` line. All requests that wait share a commit;
 * a request of 2 000 events and more goes through the bulk path.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { makeBody, type Body, type BodyInput } from '../../src/core/event.ts';
import { buildLine, type Line } from '../../src/core/line.ts';
import { extendLog, type Tip } from '../../src/core/log.ts';
import { signEd25519 } from '../../src/crypto/ed25519.ts';
import { initRepository, prepareRepository, openRepository } from '../../src/store/git/repository.ts';
import { lockHome } from '../../src/store/home/home-lock.ts';
import { createHome } from '../../src/store/home/home.ts';
import { createKeys } from '../../src/store/home/keys.ts';
import { createLogStore } from '../../src/store/logs/log-store.ts';
import type { LogWriter } from '../../src/store/logs/log-writer.ts';
import { sweepHome } from '../../src/store/home/sweep.ts';

export const writerMeshId = '5'.repeat(64);
export const writerHost = 'alpha';
const bulkEventsMin = 2_000;

interface Request {
  readonly id: number;
  readonly events: readonly BodyInput[];
  readonly socket: Socket;
}

async function main(dir: string): Promise<void> {
  const home = createHome(dir);
  const lock = lockHome(home, { program: 'writer', now: new Date() });
  const removed = sweepHome(lock);
  const repository = existsSync(home.repository)
    ? openRepository(home.repository)
    : await initRepository(home.repository, { host: writerHost });
  await prepareRepository(repository);
  const keys = await createKeys(home, { host: writerHost });
  const store = createLogStore({ repository, meshId: writerMeshId });

  const readTip = async (): Promise<Tip> => {
    const { lines } = await store.readLog(writerHost);
    const raw = keys.sign.publicKey.raw32;
    if (raw === undefined) throw new Error('the host key has no raw form');
    const from = { seq: 0, link: writerMeshId };
    const held = extendLog(
      { host: writerHost, mesh: writerMeshId, from, keys: [{ key: raw, from: 1, upto: null }] },
      lines,
    );
    if (held.fault !== undefined || held.tip.seq !== lines.length)
      throw new Error(`own log is damaged: ${JSON.stringify(held.fault)}`);
    return held.tip;
  };

  let tip = await readTip();
  let writer: LogWriter | undefined = await store.openWriter(writerHost);
  const sign = (message: string): Uint8Array => signEd25519(keys.sign.key, message);

  const makeBodies = (request: Request): Body[] =>
    request.events.map((event) => {
      const stamp = {
        mesh: writerMeshId,
        host: writerHost,
        session: 'drill',
        at: new Date().toISOString(),
        nonce: randomBytes(16).toString('hex'),
      };
      const body = makeBody(event, stamp);
      if (!body.ok) throw new Error(body.detail);
      return body.value;
    });

  const buildLines = (bodies: readonly Body[], from: Tip): Line[] => {
    const lines: Line[] = [];
    let last: { seq: number; link: string } = from;
    for (const body of bodies) {
      const line = buildLine({ body, auth: null, log: writerHost, seq: last.seq + 1, prev: last.link }, sign);
      lines.push(line);
      last = line;
    }
    return lines;
  };

  const commit = async (requests: readonly Request[]): Promise<void> => {
    try {
      writer ??= await reopen();
      const bodies = requests.map(makeBodies);
      const lines = buildLines(bodies.flat(), tip);
      if (lines.length >= bulkEventsMin) await writer.appendBulk([lines]);
      else await writer.append(lines);
      const last = lines.at(-1);
      if (last !== undefined) tip = { host: writerHost, seq: last.seq, link: last.link };
      answerAll(requests, bodies, lines);
    } catch (error) {
      writer = undefined;
      const message = error instanceof Error ? error.message : String(error);
      for (const { id, socket } of requests)
        socket.write(`${JSON.stringify({ id, error: { code: 'FAILED', message } })}\n`);
    }
  };
  const reopen = async (): Promise<LogWriter> => {
    tip = await readTip();
    return store.openWriter(writerHost);
  };

  let queue: Request[] = [];
  let running = false;
  const work = async (): Promise<void> => {
    if (running) return;
    running = true;
    while (queue.length > 0) {
      const batch = queue;
      queue = [];
      await commit(batch);
    }
    running = false;
  };

  rmSync(home.socket, { force: true });
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    createInterface({ input: socket }).on('line', (line) => {
      const { id, params } = JSON.parse(line) as { id: number; params: { events: BodyInput[] } };
      queue.push({ id, events: params.events, socket });
      void work();
    });
  });
  server.listen(home.socket, () =>
    console.log(JSON.stringify({ ready: true, host: writerHost, socket: home.socket, seq: tip.seq, swept: removed })),
  );
}

function answerAll(requests: readonly Request[], bodies: readonly (readonly Body[])[], lines: readonly Line[]): void {
  let at = 0;
  requests.forEach(({ id, socket }, index) => {
    const own = lines.slice(at, at + (bodies[index]?.length ?? 0));
    at += own.length;
    const results = own.map((line) => ({ id: line.id, host: line.log, seq: line.seq }));
    socket.write(`${JSON.stringify({ id, result: { results } })}\n`);
  });
}

if (process.argv[1]?.endsWith('writer.ts') === true) {
  const at = process.argv.indexOf('--home');
  await main(process.argv[at + 1] ?? '');
}
