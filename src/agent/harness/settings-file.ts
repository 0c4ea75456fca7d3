/** A text file of somebody else's: read strictly, replaced whole or not at all, never through a broken link. */
import fs from 'node:fs';
import path from 'node:path';
import { randomBytes } from 'node:crypto';
import { decodeUtf8 } from '../../crypto/text.ts';
import { diskError, OperatingError, systemCode } from '../../store/errors.ts';

const bytesMax = 4 * 1_024 * 1_024;

/** Its text, a byte order mark included; undefined when there is none. Errors: `FILE_UNSAFE`, `DISK_FAILED`. */
export function readTextFile(file: string): string | undefined {
  try {
    const status = fs.statSync(file);
    if (!status.isFile()) throw unusable(file, 'is not a file');
    if (status.size > bytesMax) throw unusable(file, `has ${status.size} bytes`);
    const text = decodeUtf8(fs.readFileSync(file));
    if (text === undefined) throw unusable(file, 'is not UTF-8 text');
    return text;
  } catch (error) {
    const missing = systemCode(error) === 'ENOENT' && fs.lstatSync(file, { throwIfNoEntry: false }) === undefined;
    if (missing) return undefined;
    throw diskError(error, 'read', file);
  }
}

function unusable(file: string, reason: string): OperatingError {
  return new OperatingError('FILE_UNSAFE', `${file} ${reason}; it was left as it is`, { hint: 'look at it first' });
}

/** What a replacement has to know of the file it replaces. */
export interface Replacement {
  readonly file: string;
  /** The text that was read when the change was planned: another one by now is not overwritten. */
  readonly before: string | undefined;
  /** Undefined removes the file. */
  readonly after: string | undefined;
  /** Of a new file. */
  readonly mode?: number;
}

/**
 * Replaces, creates or removes. A symbolic link stays one: what it points to is replaced. @returns the folders that had to
 * be made, outermost first. Errors: `FILE_UNSAFE` when it changed since, `DISK_FAILED`, `DISK_FULL`.
 */
export function replaceTextFile({ file, before, after, mode = 0o644 }: Replacement): readonly string[] {
  if (readTextFile(file) !== before) throw unusable(file, 'has changed meanwhile');
  try {
    if (after === undefined) {
      fs.rmSync(file, { force: true });
      return [];
    }
    const target = before === undefined ? file : fs.realpathSync(file);
    const made = makeFolders(path.dirname(target));
    const kept = before === undefined ? mode : fs.statSync(target).mode & 0o7777;
    const temporary = `${target}.memctl-${randomBytes(6).toString('hex')}`;
    writeWhole(temporary, after, kept);
    fs.renameSync(temporary, target);
    return made;
  } catch (error) {
    throw diskError(error, 'change', file);
  }
}

function writeWhole(file: string, text: string, mode: number): void {
  const descriptor = fs.openSync(file, 'wx', mode);
  try {
    fs.fchmodSync(descriptor, mode);
    fs.writeFileSync(descriptor, text);
    fs.fsyncSync(descriptor);
  } catch (error) {
    fs.rmSync(file, { force: true });
    throw error;
  } finally {
    fs.closeSync(descriptor);
  }
}

function makeFolders(folder: string): readonly string[] {
  const missing: string[] = [];
  for (let at = folder; !fs.existsSync(at); at = path.dirname(at)) missing.unshift(at);
  for (const one of missing) fs.mkdirSync(one);
  return missing;
}

/** Removes folders that are empty, innermost first; others stay. */
export function removeEmptyFolders(folders: readonly string[]): void {
  for (const folder of folders.toReversed()) {
    try {
      fs.rmdirSync(folder);
    } catch {
      return;
    }
  }
}
