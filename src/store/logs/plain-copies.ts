/**
 * Plain-text copies `logs/<host>.jsonl`, for people and grep: written, never read back by the fold. They follow the
 * branch after the acknowledgement and need no fsync; whatever is in doubt is written again from the branch.
 */

import fs from 'node:fs';
import path from 'node:path';
import { assert } from '../../crypto/result.ts';
import { diskError } from '../errors.ts';
import type { Home } from '../home/home.ts';
import type { Problem } from '../problem.ts';
import { openFolder, readPlainFile } from '../safe-folder.ts';

/** A line of a log as the store gives it, without newline. */
export type PlainLine = string | Uint8Array;

/** The copies of one home. */
export interface PlainCopies {
  /**
   * Adds lines to a copy that ends exactly before `firstSeq`. False when it does not (behind, torn, edited, missing
   * though lines came before): the caller then calls `rewrite`. Errors: `FILE_UNSAFE`, `DISK_FAILED`, `DISK_FULL`.
   */
  append(host: string, firstSeq: number, lines: readonly PlainLine[]): boolean;
  /** Writes a copy anew, by rename. Errors: as `append`. */
  rewrite(host: string, lines: Iterable<PlainLine>): void;
}

interface Known {
  readonly lines: number;
  readonly bytes: number;
}

const writeChunkBytes = 1_048_576;

function copyFile(home: Home, host: string): string {
  assert(/^[a-z][a-z0-9-]{0,30}$/.test(host), 'a host is a slug');
  return path.join(home.logs, `${host}.jsonl`);
}

/** Opens the copies; nothing is read until a copy is first used. */
export function openPlainCopies(home: Home): PlainCopies {
  const known = new Map<string, Known>();
  return {
    append: (host, firstSeq, lines) => {
      const file = copyFile(home, host);
      try {
        openFolder(home.dir, ['logs']);
        const at = known.get(host) ?? measure(file);
        if (at === undefined || at.lines !== firstSeq - 1) return false;
        const after = appendTo(file, at, lines);
        if (after === undefined) known.delete(host);
        else known.set(host, after);
        return after !== undefined;
      } catch (error) {
        known.delete(host);
        throw diskError(error, 'write', file);
      }
    },
    rewrite: (host, lines) => {
      const file = copyFile(home, host);
      known.delete(host);
      try {
        openFolder(home.dir, ['logs']);
        known.set(host, writeAll(file, lines));
      } catch (error) {
        throw diskError(error, 'write', file);
      }
    },
  };
}

/** Lines and bytes of a copy; undefined when its last line is torn. A missing copy is an empty one. */
function measure(file: string): Known | undefined {
  const content = readPlainFile(file) ?? Buffer.alloc(0);
  if (content.length > 0 && content.at(-1) !== 0x0a) return undefined;
  let lines = 0;
  for (let at = content.indexOf(0x0a); at >= 0; at = content.indexOf(0x0a, at + 1)) lines += 1;
  return { lines, bytes: content.length };
}

function appendTo(file: string, at: Known, lines: readonly PlainLine[]): Known | undefined {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
  const descriptor = fs.openSync(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  try {
    // Somebody else wrote to it since: its lines are not known any more.
    if (fs.fstatSync(descriptor).size !== at.bytes) return undefined;
    return { lines: at.lines + lines.length, bytes: at.bytes + writeLines(descriptor, lines).bytes };
  } finally {
    fs.closeSync(descriptor);
  }
}

function writeAll(file: string, lines: Iterable<PlainLine>): Known {
  const temporary = path.join(path.dirname(file), `.${path.basename(file)}.tmp-${process.pid}`);
  fs.rmSync(temporary, { force: true });
  const descriptor = fs.openSync(temporary, 'wx', 0o600);
  let written: Known;
  try {
    written = writeLines(descriptor, lines);
  } finally {
    fs.closeSync(descriptor);
  }
  fs.renameSync(temporary, file);
  return written;
}

function writeLines(descriptor: number, lines: Iterable<PlainLine>): Known {
  let [count, bytes, held]: [number, number, Buffer[]] = [0, 0, []];
  let heldBytes = 0;
  const flush = (): void => {
    const chunk = Buffer.concat(held, heldBytes);
    for (let at = 0; at < chunk.length;) at += fs.writeSync(descriptor, chunk, at);
    [held, heldBytes] = [[], 0];
  };
  for (const line of lines) {
    const data = lineBytes(line);
    held.push(data);
    heldBytes += data.length;
    bytes += data.length;
    count += 1;
    if (heldBytes >= writeChunkBytes) flush();
  }
  flush();
  return { lines: count, bytes };
}

function lineBytes(line: PlainLine): Buffer {
  return typeof line === 'string' ? Buffer.from(`${line}\n`) : Buffer.concat([line, Buffer.from('\n')]);
}

/** What a copy holds; empty when there is none, or none that can be read. For repairs: each line proves itself. */
export function readPlainCopy(home: Home, host: string): Buffer {
  try {
    return readPlainFile(copyFile(home, host)) ?? Buffer.alloc(0);
  } catch {
    return Buffer.alloc(0);
  }
}

/**
 * Compares a copy with its log, byte by byte. At most one problem per copy: the first line that differs, is missing, or
 * should not be there. Errors: `DISK_FAILED`.
 */
export function checkPlainCopy(home: Home, host: string, lines: Iterable<PlainLine>): readonly Problem[] {
  const file = copyFile(home, host);
  const problem = (line: number, detail: string): Problem[] => [
    { file, place: `log ${host}, line ${line}`, detail, hint: 'it is derived: run memctl rebuild' },
  ];
  let content: Buffer;
  try {
    content = readPlainFile(file) ?? Buffer.alloc(0);
  } catch (error) {
    return problem(1, error instanceof Error ? error.message : 'cannot be read');
  }
  let [at, number] = [0, 0];
  for (const line of lines) {
    number += 1;
    const data = lineBytes(line);
    if (at >= content.length) return problem(number, 'is missing, and all after it');
    if (!content.subarray(at, at + data.length).equals(data)) return problem(number, 'differs from the line in git');
    at += data.length;
  }
  return at < content.length ? problem(number + 1, 'is not in git') : [];
}
