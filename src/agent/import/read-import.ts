import { lstat, readdir, realpath } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { importFileBytesMax, importFilesMax, importGraphLineBytesMax, importNoteBytesMax } from '../../core/limits.ts';
import { refuse, type Result } from '../../crypto/result.ts';
import { OperatingError, printable, systemCode } from '../../store/errors.ts';
import { readRules, ruleFileNames } from './agents-md.ts';
import { readClaudeMemory } from './claude-memory.ts';
import { importText, readImportFile } from './import-file.ts';
import { readJsonLines, readObjects } from './json-lines.ts';
import { readMcpMemory } from './mcp-memory.ts';
import { memoryIndexName } from './memory-index.ts';
import { readMemoryMesh } from './memory-mesh.ts';
import type { ImportKind, ImportPlan, ImportRemark } from './types.ts';

/** Name that the MCP memory server gives its file. */
const graphFileNames = ['memory.jsonl', 'memory.json'] as const;

/**
 * Reads what is at `path` and says what an import of it holds; appends nothing. What it is, is told by what is in it:
 * a folder with MEMORY.md or notes, with AGENTS.md or CLAUDE.md, with `events/*.ndjson`, with a memory.jsonl; a file of
 * rules, of a graph, of a log, of plain events. `kind` says it instead. `path` itself may be a symbolic link: the person
 * named it. Throws `IMPORT_UNREADABLE` when there is nothing that can be read.
 */
export async function readImport(path: string, kind?: ImportKind): Promise<ImportPlan> {
  const target = await realpath(path).catch((error: unknown) => {
    throw unreadable(path, systemCode(error) === 'ENOENT' ? 'it does not exist' : systemCode(error));
  });
  const folder = (await lstat(target)).isDirectory();
  const plan = folder ? await readFolder(target, kind) : await readNamedFile(target, path, kind);
  return { ...plan, skipped: plan.skipped.map(shown), noted: plan.noted.map(shown) };
}

/** Names and ids come from outside: none may write an escape sequence to the terminal that a remark is printed on. */
function shown({ what, why }: ImportRemark): ImportRemark {
  return { what: printable(what), why: printable(why) };
}

async function readFolder(folder: string, kind: ImportKind | undefined): Promise<ImportPlan> {
  const names = await readdir(folder).catch((error: unknown) => {
    throw unreadable(folder, `the folder cannot be listed (${systemCode(error)})`, error);
  });
  const found = kind ?? (await kindOfFolder(folder, names));
  switch (found) {
    case 'memory-mesh':
      return readMesh(folder);
    case 'agents-md':
      return readRuleFiles(
        folder,
        ruleFileNames.filter((name) => names.includes(name)),
      );
    case 'claude-memory':
      return readNotes(folder);
    case 'mcp-memory':
    case 'jsonl': {
      const name = graphFileNames.find((one) => names.includes(one));
      if (name === undefined) throw unreadable(folder, `it holds no ${graphFileNames.join(' and no ')}: name the file`);
      return readNamedFile(join(folder, name), join(folder, name), kind);
    }
  }
}

async function kindOfFolder(folder: string, names: readonly string[]): Promise<ImportKind> {
  if (names.includes(memoryIndexName)) return 'claude-memory';
  const logs = await readdir(join(folder, 'events')).catch(() => []);
  if ([...names, ...logs].some(isLogName)) return 'memory-mesh';
  if (ruleFileNames.some((name) => names.includes(name))) return 'agents-md';
  return graphFileNames.some((name) => names.includes(name)) ? 'mcp-memory' : 'claude-memory';
}

function byUnits(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

function isLogName(name: string): boolean {
  return name.endsWith('.ndjson');
}

async function readNotes(folder: string): Promise<ImportPlan> {
  const plan = await readClaudeMemory(folder).catch((error: unknown) => {
    throw unreadable(folder, `the folder cannot be listed (${systemCode(error)})`, error);
  });
  if (plan === undefined) throw unreadable(folder, `it holds no ${memoryIndexName} and no note`);
  return plan;
}

async function readRuleFiles(folder: string, names: readonly string[]): Promise<ImportPlan> {
  const files: { name: string; text: string }[] = [];
  const skipped: ImportRemark[] = [];
  for (const name of names) {
    const text = await readText(join(folder, name));
    if (text.ok) files.push({ name, text: text.value });
    else skipped.push({ what: name, why: text.detail });
  }
  if (names.length === 0) throw unreadable(folder, `it holds no ${ruleFileNames.join(' and no ')}`);
  const plan = readRules(files);
  return { ...plan, skipped: [...skipped, ...plan.skipped] };
}

async function readText(path: string): Promise<Result<string, string>> {
  const read = await readImportFile(path, importNoteBytesMax);
  if (!read.ok) return read;
  const text = importText(read.value);
  if (text === undefined) return refuse('NOT_UTF8', 'not UTF-8 text');
  return text.trim() === '' ? refuse('EMPTY', 'the file is empty') : { ok: true, value: text };
}

/** Every log of the folder, or of `events` in it. Only regular files that lie directly there are opened. */
async function readMesh(folder: string): Promise<ImportPlan> {
  const inner = join(folder, 'events');
  const nested = (await readdir(inner).catch(() => [])).filter(isLogName);
  const [place, prefix] = nested.length > 0 ? [inner, 'events/'] : [folder, ''];
  const names = (nested.length > 0 ? nested : (await readdir(folder)).filter(isLogName)).sort(byUnits);
  if (names.length === 0) throw unreadable(folder, 'it holds no .ndjson log');
  const files: { name: string; bytes: Uint8Array }[] = [];
  const skipped: ImportRemark[] = [];
  for (const name of names.slice(0, importFilesMax)) {
    const read = await readImportFile(join(place, name), importFileBytesMax);
    if (read.ok) files.push({ name: `${prefix}${name}`, bytes: read.value });
    else skipped.push({ what: `${prefix}${name}`, why: read.detail });
  }
  const plan = readMemoryMesh(files);
  return { ...plan, skipped: [...skipped, ...plan.skipped] };
}

async function readNamedFile(target: string, path: string, kind: ImportKind | undefined): Promise<ImportPlan> {
  if (kind === undefined && basename(target) === memoryIndexName) return readNotes(dirname(target));
  const read = await readImportFile(target, importFileBytesMax);
  if (!read.ok) throw unreadable(path, read.detail);
  const name = printable(basename(target));
  const found = kind ?? kindOfFile(name, read.value);
  switch (found) {
    case 'claude-memory':
      return readNotes(dirname(target));
    case 'agents-md': {
      const text = importText(read.value);
      if (text === undefined) throw unreadable(path, 'it is not UTF-8 text');
      const plan = readRules([{ name, text }]);
      if (kind === undefined && plan.events.length === 0) throw unreadable(path, neither);
      return plan;
    }
    case 'mcp-memory':
      return readMcpMemory(read.value, name);
    case 'memory-mesh':
      return readMemoryMesh([{ name, bytes: read.value }]);
    case 'jsonl':
      return readJsonLines(read.value, name);
  }
}

const neither = 'it is neither a memory folder, nor rules in a list, nor JSON lines';

/** A file of JSON is told by its first object that can be read. */
function kindOfFile(name: string, bytes: Uint8Array): ImportKind {
  if (!startsAsJson(bytes)) return bytes.length === 0 && extname(name) !== '.md' ? 'jsonl' : 'agents-md';
  for (const { record } of readObjects(bytes, { name, lineMax: importGraphLineBytesMax })) {
    if (!record.ok) continue;
    const { type, kind, ts, observations, from } = record.value;
    if ((type === 'entity' && observations !== undefined) || (type === 'relation' && from !== undefined))
      return 'mcp-memory';
    if (typeof kind === 'string') return ts === undefined ? 'jsonl' : 'memory-mesh';
  }
  return 'jsonl';
}

function startsAsJson(bytes: Uint8Array): boolean {
  const start = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  return bytes.subarray(start).find((byte) => byte > 0x20) === 0x7b;
}

function unreadable(path: string, why: string, cause?: unknown): OperatingError {
  return new OperatingError('IMPORT_UNREADABLE', `cannot import ${path}: ${why}`, {
    hint: 'memctl import --help lists what can be imported; --kind says what it is',
    cause,
  });
}
