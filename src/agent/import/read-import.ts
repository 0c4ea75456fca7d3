import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { importFileBytesMax } from '../../core/limits.ts';
import { OperatingError, printable, systemCode } from '../../store/errors.ts';
import { readClaudeMemory } from './claude-memory.ts';
import { readImportFile } from './import-file.ts';
import { readJsonLines } from './json-lines.ts';
import { memoryIndexName } from './memory-index.ts';
import type { ImportPlan } from './types.ts';

/**
 * Reads what is at `path` and says what an import of it holds; appends nothing. A folder, or the `MEMORY.md` in it, is
 * read as a Claude Code memory; a file as JSON lines. `path` itself may be a symbolic link: the person named it.
 * Throws `IMPORT_UNREADABLE` when there is nothing that can be read as either.
 */
export async function readImport(path: string): Promise<ImportPlan> {
  const target = await realpath(path).catch((error: unknown) => {
    throw unreadable(path, systemCode(error) === 'ENOENT' ? 'it does not exist' : systemCode(error));
  });
  const stat = await lstat(target);
  if (stat.isDirectory()) return readFolder(target);
  if (basename(target) === memoryIndexName) return readFolder(dirname(target));
  const read = await readImportFile(target, importFileBytesMax);
  if (!read.ok) throw unreadable(path, read.detail);
  const plan = readJsonLines(read.value, printable(basename(target)));
  if (plan.events.length === 0 && read.value.length > 0 && !startsAsJson(read.value)) {
    throw unreadable(path, 'it is neither a memory folder nor JSON lines');
  }
  return plan;
}

async function readFolder(folder: string): Promise<ImportPlan> {
  const plan = await readClaudeMemory(folder).catch((error: unknown) => {
    throw unreadable(folder, `the folder cannot be listed (${systemCode(error)})`, error);
  });
  if (plan === undefined) throw unreadable(folder, `it holds no ${memoryIndexName} and no note`);
  return plan;
}

function startsAsJson(bytes: Uint8Array): boolean {
  return bytes.find((byte) => byte > 0x20) === 0x7b;
}

function unreadable(path: string, why: string, cause?: unknown): OperatingError {
  return new OperatingError('IMPORT_UNREADABLE', `cannot import ${path}: ${why}`, {
    hint: 'memctl import takes a Claude Code memory folder or a file of JSON lines',
    cause,
  });
}
