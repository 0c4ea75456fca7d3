import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { openDamagedFolder } from '../../../src/store/home/damaged-folder.ts';
import { openDatabase } from '../../../src/store/database/database.ts';
import { createHome, type Home } from '../../../src/store/home/home.ts';
import { purgePlainCopies, removeKeptFiles } from '../../../src/store/purge-copies.ts';
import { readPurgeNote, writePurgeNote } from '../../../src/store/notes/purge-note.ts';
import { bodyOf, lessons, logOf, mesh } from '../../lib/events.ts';
import { temporaryFolder } from '../../lib/temporary.ts';

const secret = 'the-word-that-must-go';
const lines = logOf([...lessons(3), bodyOf({ kind: 'lesson', subject: 'lesson/secret', content: secret }, 9)]);
const gone = lines[3]?.id ?? '';

function newHome(): Home {
  return createHome(path.join(temporaryFolder(), 'home'));
}

function holds(folder: string): string[] {
  const names = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => {
    const file = path.join(folder, name);
    return fs.statSync(file).isFile() && fs.readFileSync(file).includes(secret);
  });
}

describe('plain copies', () => {
  test('lose the bodies and nothing else, whoever they are of; a torn end goes, since it cannot be told', () => {
    const home = newHome();
    const text = lines.map((line) => `${line.text}\n`).join('');
    fs.writeFileSync(path.join(home.logs, 'alpha.jsonl'), text);
    fs.writeFileSync(path.join(home.logs, 'gone-host.jsonl'), `{"no":"line"}\n${text}{"body":{"content":"${secret}`);
    purgePlainCopies(home, { meshId: mesh, purged: new Set([gone]) });
    expect(holds(home.dir)).toEqual([]);
    const after = fs.readFileSync(path.join(home.logs, 'alpha.jsonl'), 'utf8').split('\n');
    expect(after.slice(0, 3)).toEqual(lines.slice(0, 3).map((line) => line.text));
    expect(after[3]).toContain(`"body":"${gone}"`);
    expect(fs.readFileSync(path.join(home.logs, 'gone-host.jsonl'), 'utf8').split('\n')).toHaveLength(6);
    expect(fs.readdirSync(home.logs).toSorted((a, b) => (a < b ? -1 : 1))).toEqual(['alpha.jsonl', 'gone-host.jsonl']);
  });

  test('without such a body are not written', () => {
    const home = newHome();
    const file = path.join(home.logs, 'alpha.jsonl');
    fs.writeFileSync(file, `${lines[0]?.text}\n`);
    const { ino } = fs.statSync(file);
    purgePlainCopies(home, { meshId: mesh, purged: new Set([gone]) });
    expect(fs.statSync(file).ino).toBe(ino);
  });
});

describe('kept files', () => {
  test('go where nobody can tell what is in them; views of declared audiences stay', () => {
    const home = newHome();
    for (const [audience, name] of [
      ['operator', 'INDEX.md'],
      ['operator', 'INDEX.md.edited-0123abcd'],
      ['former', 'INDEX.md'],
    ] as const) {
      fs.mkdirSync(path.join(home.views, audience), { recursive: true });
      fs.writeFileSync(
        path.join(home.views, audience, name),
        name === 'INDEX.md' && audience === 'operator' ? '' : secret,
      );
    }
    fs.writeFileSync(path.join(home.dir, 'state.sqlite.damaged'), secret);
    openDamagedFolder(home, new Date(0)).keepBytes('log-alpha-other-lines.jsonl', Buffer.from(secret), 'why');
    const removed = removeKeptFiles(home, new Set(['operator']));
    expect(removed.toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
      'damaged',
      'state.sqlite.damaged',
      'views/former',
      'views/operator/INDEX.md.edited-0123abcd',
    ]);
    expect(holds(home.dir)).toEqual([]);
    expect(fs.existsSync(path.join(home.views, 'operator/INDEX.md'))).toBe(true);
    expect(removeKeptFiles(home, new Set(['operator']))).toEqual([]);
  });
});

describe('the note of what was carried out', () => {
  test('is read as it was written; one that cannot be read says that nothing was', async () => {
    const home = newHome();
    expect(readPurgeNote(home)).toEqual([]);
    await writePurgeNote(home, ['b'.repeat(64), 'a'.repeat(64)]);
    expect(readPurgeNote(home)).toEqual(['a'.repeat(64), 'b'.repeat(64)]);
    for (const text of ['', '{', 'null', '{"v":2,"done":[]}', '{"v":1,"done":"x"}', '{"v":1,"done":[1,"x"]}']) {
      fs.writeFileSync(home.purged, text);
      expect(readPurgeNote(home)).toEqual([]);
    }
  });
});

describe('a database that is given up for a purge', () => {
  test('leaves no byte of its rows, in whatever file, and keeps its idempotency keys', () => {
    const home = newHome();
    const database = openDatabase(home.database);
    const view = JSON.stringify({ by: [], lines: [], reason: null, signers: [], stale: false });
    const row = { id: gone, subject: 'lesson/secret', scope: '*', host: 'alpha', kind: 'lesson', level: 'unsigned' };
    const body = JSON.stringify({ content: secret });
    database.write({ events: [{ ...row, status: 'served', at: '', log: 'alpha', seq: 1, body, view }] });
    database.rememberOnce({ key: 'k', id: gone });
    expect(holds(home.dir)).not.toEqual([]);
    database.close();
    const anew = openDatabase(home.database, { anew: 'purged' });
    expect([anew.rebuilt, anew.event(gone), anew.once('k')]).toEqual(['purged', undefined, gone]);
    expect(holds(home.dir)).toEqual([]);
    expect(fs.existsSync(`${home.database}.damaged`)).toBe(false);
    anew.close();
  });
});
