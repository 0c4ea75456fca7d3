import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { noteExport, readExportNotes } from '../../../../src/store/notes/export-note.ts';
import { createHome } from '../../../../src/store/home/home.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

const trust = 'ab'.repeat(32);

test('export notes: one for each folder, the newest last; a file that cannot be read names none, and is written anew', async () => {
  const home = createHome(path.join(temporaryFolder(), 'home'));
  expect(readExportNotes(home)).toEqual([]);
  await noteExport(home, { dir: '/backup/a', at: '1', trust });
  await noteExport(home, { dir: '/backup/b', at: '2', trust });
  await noteExport(home, { dir: '/backup/a', at: '3', trust });
  expect(readExportNotes(home).map(({ dir, at }) => `${dir} ${at}`)).toEqual(['/backup/b 2', '/backup/a 3']);
  for (const text of ['', 'null', '{"v":1,"exports":[{"dir":1}]}', '{"v":2,"exports":[]}', '\0'.repeat(40)]) {
    fs.writeFileSync(home.exports, text);
    expect(readExportNotes(home)).toEqual([]);
  }
  for (let n = 0; n < 70; n += 1) await noteExport(home, { dir: `/backup/${n}`, at: String(n), trust });
  expect(readExportNotes(home)).toHaveLength(64);
});
