/** What is held of a log and the commit that holds it stay together, in whatever order readings of it end. */
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { runInit } from '../../../../src/cli/commands/init.ts';
import { handleRequest } from '../../../../src/daemon/api/handlers.ts';
import { readVerifiedLog, type ReadLog } from '../../../../src/daemon/beliefs/log-book.ts';
import { openEngine, type Engine } from '../../../../src/daemon/engine.ts';
import { compareAndSwapRef, logRef } from '../../../../src/store/git/refs.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

async function host(): Promise<{
  engine: Engine;
  say: (...subjects: string[]) => Promise<unknown>;
  read: () => Promise<ReadLog>;
}> {
  const folder = temporaryFolder();
  vi.stubEnv('XDG_CONFIG_HOME', join(folder, 'config'));
  await runInit(join(folder, 'home'), { host: 'alpha' });
  const engine = await openEngine({ home: join(folder, 'home'), daemon: false });
  onTestFinished(async () => {
    await engine.close();
    vi.unstubAllEnvs();
  });
  const event = (name: string): object => ({ kind: 'lesson', subject: `lesson/${name}`, content: 'x' });
  return {
    engine,
    say: (...names) => handleRequest(engine, 'append', { events: names.map(event) }, () => undefined),
    async read() {
      const member = engine.charter().hosts.get('alpha');
      if (member === undefined) throw new Error('alpha is not in the charter');
      const read = await readVerifiedLog(engine.repository, member, { meshId: engine.meshId, purged: new Set() });
      if (read === undefined) throw new Error('alpha has no log');
      return read;
    },
  };
}

test('lines that were read before others were said say nothing of where the log stands', async () => {
  const { engine, say, read } = await host();
  await say('one', 'two');
  const before = await read();
  await say('three');
  const { book, take } = engine.beliefs;
  const stands = book.tip('alpha');
  await take('alpha', before.extension.lines, before.oid);
  expect(book.tip('alpha')).toEqual(stands);
  await say('four');
  expect((await read()).extension).toMatchObject({ tip: { seq: 4 } });
});

test('a copy in the place of a damaged one that ends before what is held is read as what it is', async () => {
  const { engine, say, read } = await host();
  await say('one', 'two');
  const before = await read();
  await say('three');
  const { book, mend } = engine.beliefs;
  const next = before.oid;
  await compareAndSwapRef(engine.repository, { ref: logRef('alpha'), expected: undefined, next });
  await mend('alpha', [], { ...before.extension.tip, oid: next });
  expect(book.tip('alpha')).toEqual({ oid: next, seq: 2, link: before.extension.tip.link });
});
