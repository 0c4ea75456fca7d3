import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { listAsideObjects, openDamagedFolder } from '../../../../src/store/home/damaged-folder.ts';
import { gitsAtWork, holdersOf } from '../../../../src/store/home/file-holders.ts';
import { createHome } from '../../../../src/store/home/home.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

test('damaged/: nothing is made before something goes there; paths, reasons and two things of one name are kept', () => {
  const home = createHome(path.join(temporaryFolder(), 'home'));
  const aside = openDamagedFolder(home, new Date(0));
  aside.moveAside(path.join(home.dir, 'not there'), 'why');
  expect([aside.dir(), fs.existsSync(home.damaged)]).toEqual([null, false]);
  const file = path.join(home.repository, 'objects/ab/', 'c'.repeat(38));
  for (const text of ['one', 'two']) {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
    aside.moveAside(file, `is ${text}\nline`);
  }
  const kept = path.join(aside.dir() ?? '', path.relative(home.dir, file));
  expect([fs.existsSync(file), fs.readFileSync(kept, 'utf8'), fs.readFileSync(`${kept}~2`, 'utf8')]).toEqual([
    false,
    'one',
    'two',
  ]);
  const note = fs.readFileSync(path.join(aside.dir() ?? '', 'NOTE.txt'), 'utf8');
  expect(note.split('\n')).toEqual([`${path.relative(home.dir, file)}: is one line`, expect.any(String), '']);
  expect(listAsideObjects(home)).toEqual({ names: [`ab${'c'.repeat(38)}`, `ab${'c'.repeat(38)}`], packs: 0 });
});

test('damaged/: a link in its place is moved, not followed', () => {
  const home = createHome(path.join(temporaryFolder(), 'home'));
  const elsewhere = temporaryFolder();
  fs.symlinkSync(elsewhere, home.damaged);
  openDamagedFolder(home, new Date(0)).keepBytes('a', Buffer.from('x'), 'why');
  expect(fs.readdirSync(elsewhere)).toEqual([]);
  expect(fs.lstatSync(home.damaged).isDirectory()).toBe(true);
});

test.skipIf(!fs.existsSync('/proc/self/fd'))('holders: this process counts for none of them (needs /proc)', () => {
  const file = path.join(temporaryFolder(), 'open.lock');
  const descriptor = fs.openSync(file, 'w');
  expect(holdersOf([file])?.get(file)).toEqual([]);
  expect(gitsAtWork(path.dirname(file))).toEqual([]);
  fs.closeSync(descriptor);
});
