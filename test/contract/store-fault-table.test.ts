/**
 * The fault table of everything that writes into a home: each change that a write makes fails, fails although it happened,
 * finds the disk full from then on, or is the last thing that the process does, with and without a power cut. After each:
 * what is there is the old or the new, never half; what was acknowledged is there; a process that lives on makes it good
 * without help, one that starts anew too; nothing is left behind; git fsck is clean.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { storeFaults } from '../lib/fault-fs.ts';
import { backupRows } from '../lib/fault-rows-backup.ts';
import { derivedRows } from '../lib/fault-rows-derived.ts';
import { fileRows } from '../lib/fault-rows-files.ts';
import { repositoryRows } from '../lib/fault-rows-logs.ts';
import { runRow } from '../lib/fault-rows.ts';

const rows = [...fileRows, ...backupRows, ...derivedRows, ...repositoryRows];
/** Lines of src/ from which something was changed while the table ran. */
const reached = new Set<string>();
let runs = 0;

describe('fault table of the store', () => {
  test.each(rows)('$name', { timeout: 300_000 }, async (row) => {
    const report = await runRow(row, storeFaults);
    expect(report.operations.length).toBeGreaterThan(0);
    for (const { places } of report.operations) for (const place of places) reached.add(place);
    runs += report.runs;
  });

  test('no line of the store that writes is without a row', () => {
    expect(runs).toBeGreaterThan(storeFaults.length * rows.length);
    const missing = writingLines().filter(({ place, code }) => !reached.has(place) && !isExempt(place, code));
    expect(missing.map(({ place, code }) => `${place} ${code}`)).toEqual([]);
  });
});

const root = path.dirname(path.dirname(path.dirname(fileURLToPath(import.meta.url))));
const store = 'src/store';
const files = ['src/daemon/backup/export.ts', 'src/mesh/fetch/take-over.ts', 'src/mesh/fetch/quarantine.ts'];

/** A call of `node:fs`, under whatever name it was imported. */
const anyCall = /\bfs\.(?:promises\.)?(\w+)\(|\b(\w+Sync)\(/g;
/** Those that change nothing, of zlib too. Every other one is taken to write, so that none is forgotten. */
const readers: ReadonlySet<string> = new Set(
  (
    'accessSync closeSync createReadStream existsSync fstatSync lstatSync readFileSync readSync readdir readdirSync ' +
    'readlinkSync realpathSync statSync statfsSync spawnSync inflateSync deflateSync'
  ).split(' '),
);
const readsOnly = /O_RDONLY|'r'/;
const throughDisk = /\b(?:disk|realDisk)\.(?:createFile|rename|makeDirectory|removeFile|syncFile|syncDirectory)\(/;

/** What no fault of a write leads to, and why it is safe. */
const exempt: readonly (readonly [file: string, code: RegExp, why: string])[] = [
  ['src/store/target-file.ts', /removeFile\(temporary\);$/, 'somebody else writes the target meanwhile: its own test'],
  [
    'src/store/home/damaged-folder.ts',
    /renameSync\(damaged,/,
    'a link in the place of the folder: tests of doctor --repair',
  ],
  [
    'src/store/git/repack.ts',
    /'multi-pack-index'/,
    'other programs make it; it is a hint, and what it names is durable',
  ],
  ['src/store/home/read-only-home.ts', /./, 'writes into a temporary folder of its own, never into a home'],
  ['src/store/private-folder.ts', /./, 'below the folder for temporary files, never in a home'],
];

function isExempt(place: string, code: string): boolean {
  return exempt.some(([file, pattern]) => place.startsWith(`${file}:`) && pattern.test(code));
}

interface WritingLine {
  /** `src/store/home/keys.ts:58` */
  readonly place: string;
  readonly code: string;
}

function writingLines(): readonly WritingLine[] {
  const inStore = readdirSync(path.join(root, store), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${store}/${name}`);
  return [...inStore, ...files].flatMap((file) => {
    const lines = readFileSync(path.join(root, file), 'utf8').split('\n');
    return lines.flatMap((line, index) => (writes(line) ? { place: `${file}:${index + 1}`, code: line.trim() } : []));
  });
}

function writes(line: string): boolean {
  const code = line.replace(/^\s*(?:\*|\/\/).*$/, '');
  const calls = [...code.matchAll(anyCall)].map(([, ofFs, sync]) => ofFs ?? sync ?? '');
  if (calls.includes('openSync')) return !readsOnly.test(code);
  return calls.some((name) => !readers.has(name)) || throughDisk.test(code);
}
