import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { foreignNames } from '../../../../src/store/home/foreign-names.ts';
import { createHome, homePaths } from '../../../../src/store/home/home.ts';
import { initRepository } from '../../../../src/store/git/repository.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

test('foreign names: what memd, SQLite and git put into a home is not one; copies, editors and bundles are', async () => {
  const home = createHome(path.join(temporaryFolder(), 'home'));
  await initRepository(home.repository, { host: 'alpha' });
  for (const file of Object.values<string>({ ...homePaths(home.dir) }))
    if (!fs.existsSync(file)) fs.writeFileSync(file, '');
  for (const name of [
    'state.sqlite-wal',
    'state.sqlite-shm',
    'state.sqlite.damaged',
    'hooks.log.1',
    'peers.json.tmp-12',
  ])
    fs.writeFileSync(path.join(home.dir, name), '');
  fs.writeFileSync(path.join(home.repository, 'packed-refs'), '');
  expect(foreignNames(home)).toEqual([]);
  for (const name of ['repo.git.old', 'notes.txt', 'state.sqlite~', 'repo.git/old.bundle']) {
    fs.writeFileSync(path.join(home.dir, name), '');
  }
  expect(foreignNames(home)).toEqual(['notes.txt', 'repo.git.old', 'repo.git/old.bundle', 'state.sqlite~']);
});
