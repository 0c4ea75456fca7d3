/** Rows of the fault table: what follows from the logs and can be made again, and what a repair or a person leaves there. */
import fs from 'node:fs';
import path from 'node:path';
import { openDamagedFolder } from '../../src/store/home/damaged-folder.ts';
import { openDatabase } from '../../src/store/database/database.ts';
import type { Home } from '../../src/store/home/home.ts';
import { openPlainCopies } from '../../src/store/logs/plain-copies.ts';
import { purgePlainCopies, removeKeptFiles } from '../../src/store/purge-copies.ts';
import { isAsWritten, keptEdits, markedText, writeTarget } from '../../src/store/target-file.ts';
import { removeViewFile, writeViewFiles } from '../../src/store/view-files.ts';
import { bodyOf, lessons, logOf, mesh } from './events.ts';
import { read, some, textIs } from './fault-finds.ts';
import type { FaultRow, Found } from './fault-rows.ts';

const secret = 'the-word-that-must-go';
const copied = logOf([...lessons(2), bodyOf({ kind: 'lesson', subject: 'lesson/secret', content: secret }, 999)]);
const copiedTexts = copied.map(({ text }) => text);
const fileOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');
const copyFile = (home: Home): string => path.join(home.logs, 'alpha.jsonl');

/** A copy may end anywhere when a write was cut short: it is measured, and written anew. */
function copyState(home: Home): Found {
  const text = read(copyFile(home)) ?? '';
  if (text === fileOf(copiedTexts)) return 'new';
  if (!fileOf(copiedTexts).startsWith(text)) throw new Error('the copy holds what the log does not');
  return text === fileOf(copiedTexts.slice(0, 2)) || text === '' ? 'old' : 'between';
}

const copyRows: readonly FaultRow[] = [
  {
    name: 'a plain copy that gets a line',
    before: (home) => openPlainCopies(home).rewrite('alpha', copiedTexts.slice(0, 2)),
    write(home) {
      const copies = openPlainCopies(home);
      if (!copies.append('alpha', 3, copiedTexts.slice(2))) copies.rewrite('alpha', copiedTexts);
    },
    find: copyState,
    durable: false,
    mayBeBetween: true,
  },
  {
    name: 'a plain copy written anew',
    before: (home) => fs.writeFileSync(copyFile(home), fileOf(copiedTexts.slice(0, 2))),
    write: (home) => openPlainCopies(home).rewrite('alpha', copiedTexts),
    find: copyState,
    durable: false,
    // The power may go before its bytes are flushed: a shorter copy is measured, and written anew.
    mayBeBetween: true,
  },
  {
    name: 'a purge in the plain copies',
    before: (home) => fs.writeFileSync(copyFile(home), fileOf(copiedTexts)),
    write: (home) => purgePlainCopies(home, { meshId: mesh, purged: new Set([copied[2]?.id ?? '']) }),
    find(home) {
      const text = read(copyFile(home)) ?? '';
      return text.includes(secret) ? 'old' : 'new';
    },
    durable: false,
  },
  {
    name: 'files that a purge removes',
    before(home) {
      for (const name of keptFiles) {
        fs.mkdirSync(path.dirname(path.join(home.dir, name)), { recursive: true });
        fs.writeFileSync(path.join(home.dir, name), 'x');
      }
    },
    write: (home) => removeKeptFiles(home, new Set(['operator'])),
    find: (home) => some(keptFiles.filter((name) => fs.existsSync(path.join(home.dir, name))).length, keptFiles.length),
    durable: false,
    mayBeBetween: true,
  },
];

const keptFiles = ['state.sqlite.damaged', 'views/operator/INDEX.md.edited-01234567', 'views/gone/INDEX.md'];

const edit = 'somebody wrote this\n';

const viewFileRows: readonly FaultRow[] = [
  {
    name: 'the first view file of an audience',
    write: (home) => writeViewFiles(home, { audience: 'ops', files: new Map([['INDEX.md', 'first\n']]) }),
    find: (home) => textIs(path.join(home.views, 'ops', 'INDEX.md'), { old: undefined, now: 'first\n' }),
    durable: false,
  },
  {
    name: 'view files, one of them edited by hand',
    async before(home) {
      await writeViewFiles(home, {
        audience: 'operator',
        files: new Map([
          ['INDEX.md', 'first\n'],
          ['STALE.md', 'first\n'],
        ]),
      });
      fs.writeFileSync(path.join(home.views, 'operator', 'INDEX.md'), edit);
    },
    write: (home) =>
      writeViewFiles(home, {
        audience: 'operator',
        files: new Map([
          ['INDEX.md', 'second\n'],
          ['STALE.md', 'second\n'],
        ]),
      }),
    find(home) {
      const folder = path.join(home.views, 'operator');
      const texts = fs.readdirSync(folder).map((name) => read(path.join(folder, name)));
      if (!texts.includes(edit)) throw new Error('the edit is gone');
      const states = ['INDEX.md', 'STALE.md'].map((name) => read(path.join(folder, name)));
      if (!states.every((text) => text === undefined || ['first\n', 'second\n', edit].includes(text)))
        throw new Error(`a view is torn: ${states.join(' | ')}`);
      const now = states.filter((text) => text === 'second\n').length;
      return now === 2 ? 'new' : states[0] === edit && states[1] === 'first\n' ? 'old' : 'between';
    },
    durable: false,
    mayBeBetween: true,
  },
  {
    name: 'a manifest that is true no more',
    before: (home) =>
      writeViewFiles(home, { audience: 'operator', files: new Map([['manifest.json', 'signed\n']]) }).then(
        () => undefined,
      ),
    write: (home) => removeViewFile(home, { audience: 'operator', name: 'manifest.json' }),
    find: (home) => some(fs.existsSync(path.join(home.views, 'operator', 'manifest.json')) ? 1 : 0, 1),
    durable: false,
  },
  {
    name: 'a view target that somebody edited',
    before(home) {
      fs.mkdirSync(path.join(path.dirname(home.dir), 'elsewhere'));
      fs.writeFileSync(targetOf(home), edit);
    },
    async write(home) {
      const outcome = await writeTarget(targetOf(home), { text: 'index\n', closed: [home.dir] });
      if (outcome.state === 'refused') throw new Error(outcome.reason);
    },
    find(home) {
      const file = targetOf(home);
      const text = read(file);
      if (text !== edit && !keptEdits(file).some((kept) => read(kept) === edit)) throw new Error('the edit is gone');
      if (text !== undefined && text !== edit && !isAsWritten(text)) throw new Error('the target is torn');
      return textIs(file, { old: edit, now: markedText('index\n') });
    },
    durable: true,
  },
];

const targetOf = (home: Home): string => path.join(path.dirname(home.dir), 'elsewhere', 'MEMORY.md');

const found = (home: Home): string => path.join(home.dir, 'repo.git', 'odd');
const when = new Date(0);

/** Under whatever name: it is there whole, once more perhaps, or it was lost. */
function isAside(home: Home): boolean {
  if (!fs.existsSync(home.damaged)) return false;
  const names = fs.readdirSync(home.damaged, { recursive: true, encoding: 'utf8' });
  const files = names.map((name) => path.join(home.damaged, name)).filter((file) => fs.statSync(file).isFile());
  return files.some((file) => read(file) === edit);
}

function withOddFile(home: Home): void {
  fs.mkdirSync(path.dirname(found(home)));
  fs.writeFileSync(found(home), edit);
}

const asideRows: readonly FaultRow[] = [
  {
    name: 'what a repair moves aside',
    before: withOddFile,
    write: (home) => openDamagedFolder(home, when).moveAside(found(home), 'it is odd'),
    find(home) {
      const left = read(found(home));
      if (left !== edit && !isAside(home)) throw new Error('it is gone');
      return left === undefined ? 'new' : 'old';
    },
    durable: false,
  },
  {
    name: 'what a repair copies aside',
    before: withOddFile,
    write: (home) => openDamagedFolder(home, when).copyAside(found(home), 'it is mended'),
    find(home) {
      if (read(found(home)) !== edit) throw new Error('the original is gone');
      return isAside(home) ? 'new' : 'old';
    },
    durable: true,
  },
  {
    name: 'what a repair keeps',
    write: (home) => openDamagedFolder(home, when).keepBytes('odd', Buffer.from(edit), 'nobody else has it'),
    find: (home) => (isAside(home) ? 'new' : 'old'),
    durable: true,
  },
];

const databaseRows: readonly FaultRow[] = [
  { name: 'a new database', write: useDatabase, find: databaseState, durable: false },
  {
    name: 'a database in the place of a damaged one',
    before: (home) => fs.writeFileSync(home.database, 'no database at all'.repeat(100)),
    write: useDatabase,
    find: databaseState,
    durable: false,
  },
  {
    name: 'a database in the place of one that was purged',
    before: useDatabase,
    write(home) {
      const database = openDatabase(home.database, { anew: 'purged' });
      database.write({ meta: { word: 'there' } });
      database.close();
    },
    find: databaseState,
    durable: false,
  },
];

function useDatabase(home: Home): void {
  const database = openDatabase(home.database);
  database.write({ meta: { word: 'there' } });
  database.close();
}

/** It opens, whatever happened, and says all or nothing. */
function databaseState(home: Home): Found {
  const database = openDatabase(home.database);
  try {
    return database.meta()['word'] === 'there' ? 'new' : 'old';
  } finally {
    database.close();
  }
}

export const derivedRows: readonly FaultRow[] = [...copyRows, ...viewFileRows, ...asideRows, ...databaseRows];
