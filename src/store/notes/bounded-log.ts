/** Small local logs that cannot grow without end: one line a write, and one older file kept beside. */
import fs from 'node:fs';
import { writeAll } from '../disk.ts';

/**
 * Appends one line (a newline is added, and one before it where the file ends torn, so that a write that was cut short
 * costs its own line and not the next one). At the bound the file becomes `FILE.1` and a new one begins; several processes
 * may do so at once, and then at most older lines are lost. Throws system errors; a hook swallows them.
 */
export function appendBounded(file: string, line: string, bytesMax: number): void {
  const size = fs.lstatSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size > bytesMax) fs.renameSync(file, `${file}.1`);
  const { O_RDWR, O_CREAT, O_APPEND, O_NOFOLLOW } = fs.constants;
  const descriptor = fs.openSync(file, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0o600);
  try {
    writeAll(descriptor, Buffer.from(`${endsTorn(descriptor) ? '\n' : ''}${line.replaceAll('\n', ' ')}\n`));
  } finally {
    fs.closeSync(descriptor);
  }
}

function endsTorn(descriptor: number): boolean {
  const { size } = fs.fstatSync(descriptor);
  const last = Buffer.alloc(1);
  return size > 0 && fs.readSync(descriptor, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a;
}

/** Lines of the older and the present file, oldest first; none when there are no files or they cannot be read. */
export function readBounded(file: string): readonly string[] {
  return [`${file}.1`, file].flatMap((one) => {
    try {
      return fs
        .readFileSync(one, 'utf8')
        .split('\n')
        .filter((line) => line !== '');
    } catch {
      return [];
    }
  });
}

/** Lines at the end of one of the files, oldest first, the first of them perhaps in part; none when it cannot be read. */
export function readTail(file: string, bytes: number): readonly string[] {
  let descriptor: number | undefined;
  try {
    descriptor = fs.openSync(file, 'r');
    const { size } = fs.fstatSync(descriptor);
    const tail = Buffer.alloc(Math.min(size, bytes));
    const read = fs.readSync(descriptor, tail, 0, tail.length, size - tail.length);
    return tail
      .toString('utf8', 0, read)
      .split('\n')
      .filter((line) => line !== '');
  } catch {
    return [];
  } finally {
    if (descriptor !== undefined) fs.closeSync(descriptor);
  }
}
