/** Many real processes on one home: the lock is between processes, and no append of any of them is lost or torn. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { initRepository } from '../../src/store/git/repository.ts';
import { readLog } from '../../src/store/logs/log-store.ts';
import { temporaryHome } from '../lib/temporary.ts';

const source = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../src/store');

/** Takes the lock (again and again until it is free), appends a few large lines, gives it back; many times. */
const script = (home: string, name: string): string => `
  const { lockHome } = await import(${JSON.stringify(`${source}/home/home-lock.ts`)});
  const { openHome } = await import(${JSON.stringify(`${source}/home/home.ts`)});
  const { openRepository, prepareRepository } = await import(${JSON.stringify(`${source}/git/repository.ts`)});
  const { openLogWriter } = await import(${JSON.stringify(`${source}/logs/log-writer.ts`)});
  const home = openHome(${JSON.stringify(home)});
  let tries = 0;
  for (let round = 0; round < 20; ) {
    let lock;
    try {
      lock = lockHome(home, { program: ${JSON.stringify(name)}, now: new Date() });
    } catch (error) {
      if (error.code !== 'HOME_LOCKED') throw error;
      await new Promise((resolve) => setTimeout(resolve, tries++ % 5));
      continue;
    }
    const repository = openRepository(home.repository);
    await prepareRepository(repository);
    const writer = await openLogWriter({ repository, host: 'alpha', meshId: '0'.repeat(64) });
    const lines = Array.from({ length: 5 }, (_, n) => ({ text: JSON.stringify({ by: ${JSON.stringify(name)}, n: round * 5 + n, pad: 'x'.repeat(20_000) }), body: null }));
    await writer.append(lines);
    lock.release();
    round += 1;
  }`;

test(
  'six processes append 600 events of 20 KB to one log: all there, whole, in order',
  { timeout: 120_000 },
  async () => {
    const home = temporaryHome();
    const repository = await initRepository(home.repository, { host: 'alpha' });
    const names = ['p1', 'p2', 'p3', 'p4', 'p5', 'p6'];
    const codes = await Promise.all(
      names.map(async (name) => {
        const child = spawn(process.execPath, ['--input-type=module', '-e', script(home.dir, name)], {
          stdio: ['ignore', 'inherit', 'inherit'],
        });
        onTestFinished(() => void child.kill('SIGKILL'));
        const [code] = (await once(child, 'exit')) as [number];
        return code;
      }),
    );
    expect(codes).toEqual(names.map(() => 0));
    const { lines } = await readLog(repository, 'alpha');
    const events = lines.map((line) => JSON.parse(String(line)) as { by: string; n: number });
    expect(events).toHaveLength(600);
    for (const name of names) {
      const own = events.filter((event) => event.by === name).map((event) => event.n);
      expect(own).toEqual(Array.from({ length: 100 }, (_, n) => n));
    }
  },
);
