import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { BodyInput } from '../../core/event.ts';
import { importFilesMax, importNoteBytesMax } from '../../core/limits.ts';
import { refuse, type Result } from '../../crypto/result.ts';
import { printable } from '../../store/errors.ts';
import { importText, readImportFile } from './import-file.ts';
import { memoryIndexName, parseMemoryIndex, type MemoryIndex, type MemoryRow } from './memory-index.ts';
import { memoryNote, type MemoryNote } from './memory-note.ts';
import type { ImportPlan, ImportRemark } from './types.ts';

/** What one pass over the folder collects. Every row and every file ends in exactly one of events and skipped. */
interface Gathered {
  readonly events: BodyInput[];
  readonly skipped: ImportRemark[];
  readonly noted: ImportRemark[];
  /** File that gave a subject, and file that gave a name. */
  readonly subjects: Map<string, string>;
  readonly names: Map<string, string>;
}

interface Folder {
  /** Every name in it, notes or not, in NFC: an index written on another system may spell a name differently. */
  readonly names: ReadonlySet<string>;
  readonly notes: readonly string[];
  readonly skipped: readonly ImportRemark[];
}

/**
 * Reads a Claude Code memory folder: `MEMORY.md` with one row per note, and one file per note. Only regular files that
 * lie directly in the folder are opened; links are never followed, folders and other files are named. Returns undefined
 * for a folder with neither an index nor a note. Rejects when the folder cannot be listed.
 */
export async function readClaudeMemory(path: string): Promise<ImportPlan | undefined> {
  const folder = await listFolder(path);
  if (folder.notes.length === 0 && !folder.names.has(memoryIndexName)) return undefined;
  const index = await readIndex(path);
  const gathered: Gathered = {
    events: [],
    skipped: [...index.skipped, ...rowsWithoutFile(index.rows, folder), ...folder.skipped],
    noted: [],
    subjects: new Map(),
    names: new Map(),
  };
  const rows = new Map(index.rows.map((row) => [nfc(row.file), row]));
  for (const file of inIndexOrder(folder.notes, rows)) {
    const note = await readNote(path, file, rows.get(nfc(file)));
    if (note.ok) collectNote(file, note.value, gathered);
    else gathered.skipped.push({ what: file, why: note.detail });
  }
  const { events, skipped, noted } = gathered;
  return { kind: 'claude-memory', events, skipped: skipped.map(shown), noted: noted.map(shown) };
}

/** File names come from outside: none may write an escape sequence to the terminal that the remark is printed on. */
function shown({ what, why }: ImportRemark): ImportRemark {
  return { what: printable(what), why: printable(why) };
}

function nfc(name: string): string {
  return name.normalize('NFC');
}

async function listFolder(path: string): Promise<Folder> {
  const entries = await readdir(path, { withFileTypes: true, encoding: 'buffer' });
  entries.sort((a, b) => Buffer.compare(a.name, b.name));
  const names = new Set<string>();
  const notes: string[] = [];
  const skipped: ImportRemark[] = [];
  for (const entry of entries) {
    const name = Buffer.from(entry.name).toString('utf8');
    names.add(nfc(name));
    if (name === memoryIndexName) continue;
    const full = notes.length >= importFilesMax ? `more than ${importFilesMax} notes in one folder` : '';
    const why = notANote(entry, name) || full;
    if (why === '') notes.push(name);
    else skipped.push({ what: name, why });
  }
  return { names, notes, skipped };
}

interface FolderEntry {
  readonly name: Uint8Array;
  isFile(): boolean;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
}

/** Why an entry is no note, '' when it looks like one. */
function notANote(entry: FolderEntry, name: string): string {
  if (!Buffer.from(name, 'utf8').equals(entry.name)) return 'its name is not UTF-8';
  if (entry.isSymbolicLink()) return 'a symbolic link, which an import never follows';
  if (entry.isDirectory()) return 'a folder: import it by its own path';
  if (!entry.isFile()) return 'not a regular file';
  return /\.md$/i.test(name) ? '' : 'not a .md file';
}

async function readIndex(path: string): Promise<MemoryIndex> {
  const read = await readImportFile(join(path, memoryIndexName), importNoteBytesMax);
  const text = read.ok ? importText(read.value) : undefined;
  if (text !== undefined && text.trim() !== '') return parseMemoryIndex(text);
  const unread = read.ok ? 'not UTF-8 text' : read.detail;
  const why = text === undefined ? unread : 'the file is empty';
  return {
    rows: [],
    skipped: [{ what: memoryIndexName, why: `${why}; the notes are imported without their index rows` }],
  };
}

function rowsWithoutFile(rows: readonly MemoryRow[], folder: Folder): ImportRemark[] {
  return rows
    .filter((row) => !folder.names.has(nfc(row.file)))
    .map((row) => ({ what: `${memoryIndexName} line ${row.line}`, why: `its file ${row.file} does not exist` }));
}

/** Notes in the order of the index, then the ones that it does not list, by name. */
function inIndexOrder(notes: readonly string[], rows: ReadonlyMap<string, MemoryRow>): readonly string[] {
  const place = (name: string): number => rows.get(nfc(name))?.line ?? Number.MAX_SAFE_INTEGER;
  return [...notes].sort((a, b) => place(a) - place(b));
}

async function readNote(path: string, file: string, row: MemoryRow | undefined): Promise<Result<MemoryNote, string>> {
  const read = await readImportFile(join(path, file), importNoteBytesMax);
  if (!read.ok) return read;
  const text = importText(read.value);
  return text === undefined ? refuse('NOT_UTF8', 'not UTF-8 text') : memoryNote(file, text, row);
}

function collectNote(file: string, note: MemoryNote, gathered: Gathered): void {
  const { subject } = note.event;
  const earlier = gathered.subjects.get(subject);
  if (earlier !== undefined) {
    gathered.skipped.push({
      what: file,
      why: `it would be ${subject}, which ${earlier} already is: rename one of them`,
    });
    return;
  }
  gathered.subjects.set(subject, file);
  gathered.events.push(note.event);
  const twin = note.name === '' ? undefined : gathered.names.get(note.name);
  const odd = twin === undefined ? note.odd : [...note.odd, `its name "${note.name}" is also that of ${twin}`];
  if (note.name !== '' && twin === undefined) gathered.names.set(note.name, file);
  gathered.noted.push(...odd.map((why) => ({ what: file, why })));
}
