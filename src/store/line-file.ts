/** A plain file of lines that somebody hands in: read piece by piece, and never more of it held than one line. */
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { decodeUtf8 } from '../crypto/text.ts';
import { OperatingError, systemCode } from './errors.ts';

const pieceBytes = 262_144;

/**
 * The lines of a file, split at byte 0x0A only: text where the bytes are UTF-8, else the bytes. What follows the last
 * newline is a line too, for the parser to judge. A line that is too long is given as its first bytes, and is the last one.
 * A link or a device is refused. Errors: `IMPORT_UNREADABLE`.
 */
export function* readLineFile(file: string, bytesMax: number): Generator<string | Uint8Array> {
  const descriptor = openPlain(file);
  try {
    let rest: Buffer = Buffer.alloc(0);
    for (const piece of pieces(descriptor, file)) {
      const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
      let start = 0;
      for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, start)) {
        yield lineOf(bytes.subarray(start, end));
        start = end + 1;
      }
      rest = bytes.subarray(start);
      if (rest.length <= bytesMax) continue;
      yield Buffer.from(rest.subarray(0, bytesMax + 1));
      return;
    }
    if (rest.length > 0) yield lineOf(rest);
  } finally {
    fs.closeSync(descriptor);
  }
}

function lineOf(bytes: Buffer): string | Uint8Array {
  return decodeUtf8(bytes) ?? Buffer.from(bytes);
}

/** sha256 of a plain file, 64 hex, and its length. Errors: `IMPORT_UNREADABLE`. */
export async function hashPlainFile(file: string): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const hash = createHash('sha256');
  let bytes = 0;
  const stream = fs.createReadStream(file, { fd: openPlain(file), highWaterMark: pieceBytes });
  try {
    for await (const piece of stream) {
      hash.update(piece as Buffer);
      bytes += (piece as Buffer).length;
    }
  } catch (error) {
    throw unreadable(file, error);
  }
  return { bytes, sha256: hash.digest('hex') };
}

function* pieces(descriptor: number, file: string): Generator<Buffer> {
  for (;;) {
    const piece = Buffer.allocUnsafe(pieceBytes);
    let read: number;
    try {
      read = fs.readSync(descriptor, piece, 0, pieceBytes, null);
    } catch (error) {
      throw unreadable(file, error);
    }
    if (read === 0) return;
    yield piece.subarray(0, read);
  }
}

function openPlain(file: string): number {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
  let descriptor: number;
  try {
    descriptor = fs.openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    throw unreadable(file, error);
  }
  if (fs.fstatSync(descriptor).isFile()) return descriptor;
  fs.closeSync(descriptor);
  throw new OperatingError('IMPORT_UNREADABLE', `${file} is not a plain file`, {
    hint: 'name the folder of an export',
  });
}

function unreadable(file: string, error: unknown): OperatingError {
  const code = systemCode(error);
  const reason = code === 'ELOOP' ? 'it is a symbolic link' : code || String(error);
  return new OperatingError('IMPORT_UNREADABLE', `cannot read ${file}: ${reason}`, {
    cause: error,
    hint: 'memd reads it as its own user: put it where that user may read it',
  });
}
