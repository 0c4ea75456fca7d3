import path from 'node:path';
import { expect, test } from 'vitest';
import { createLinePool } from '../../../../src/daemon/repair/line-pool.ts';
import { initRepository } from '../../../../src/store/git/repository.ts';
import { openLogWriter } from '../../../../src/store/logs/log-writer.ts';
import { lessons, logOf, mesh } from '../../../lib/events.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

test('however many ends of a log there are, each of its lines is held once', async () => {
  const repository = await initRepository(path.join(temporaryFolder(), 'repo.git'), { host: 'alpha' });
  const writer = await openLogWriter({ repository, host: 'alpha', meshId: mesh });
  const lines = logOf(lessons(6));
  const oids: string[] = [];
  for (const line of lines) oids.push((await writer.append([line])).oid);
  const pool = createLinePool();
  const none = '0'.repeat(40);
  expect(await pool.addCommits(repository, [...oids, none, ...oids])).toEqual(
    [...oids, none, ...oids].map((oid) => ({ oid, lines: oids.indexOf(oid) + 1 })),
  );
  pool.add([...lines.map(({ text }) => text), Buffer.from([0xff])]);
  expect(pool.lines()).toEqual([...lines.map(({ text }) => text), Buffer.from([0xff])]);
});
