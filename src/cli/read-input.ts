/** Files that a person names on the command line. */
import { createReadStream } from 'node:fs';
import { importText } from '../agent/import/import-file.ts';
import { apiLineBytesMax } from '../core/limits.ts';
import { Refusal } from '../daemon/refusal.ts';
import { systemCode } from '../store/errors.ts';

/**
 * Bytes of a file, pipe or device; `-` is stdin. Refuses INPUT_UNREADABLE: not there, a folder, or more than one request
 * can carry (a device may have no end).
 */
export async function readInput(path: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of path === '-' ? process.stdin : createReadStream(path)) {
      chunks.push(chunk as Buffer);
      bytes += (chunk as Buffer).length;
      if (bytes > apiLineBytesMax) throw unreadable(path, `it has more than ${apiLineBytesMax} bytes`);
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw unreadable(path, reasons[systemCode(error)] ?? systemCode(error));
  }
  return Buffer.concat(chunks, bytes);
}

/** A text file: UTF-8, line ends made `\n`, a byte order mark left out. Refuses INPUT_UNREADABLE. */
export async function readTextInput(path: string): Promise<string> {
  const text = importText(await readInput(path));
  if (text === undefined) throw unreadable(path, 'it is not UTF-8 text');
  return text;
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  EISDIR: 'it is a folder',
  EACCES: 'its permissions do not let this user read it',
};

function unreadable(path: string, why: string): Refusal {
  return new Refusal({
    code: 'INPUT_UNREADABLE',
    message: `cannot read ${path === '-' ? 'stdin' : path}: ${why}`,
    hint: 'nothing was done; name another file',
    exit: 2,
  });
}
