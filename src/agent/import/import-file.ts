import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { decodeUtf8 } from '../../crypto/text.ts';
import { refuse, ok, type Result } from '../../crypto/result.ts';
import { systemCode } from '../../store/errors.ts';

/** Why a file was not read. */
export type ImportFileFault = 'MISSING' | 'NOT_A_FILE' | 'TOO_LARGE' | 'UNREADABLE';

/**
 * Reads a regular file of at most `bytesMax` bytes. A symbolic link as the last part of the path is never followed, a
 * pipe or device never waited for. The size is asked of the open file, and no more than that is read.
 */
export async function readImportFile(path: string, bytesMax: number): Promise<Result<Uint8Array, ImportFileFault>> {
  let handle: FileHandle;
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    return openFault(systemCode(error));
  }
  try {
    const { size } = await handle.stat().then((stat) => ({ size: stat.isFile() ? stat.size : -1 }));
    if (size < 0) return refuse('NOT_A_FILE', 'not a regular file');
    if (size > bytesMax) return refuse('TOO_LARGE', `${size} bytes, more than the ${bytesMax} that an import reads`);
    return ok(await readExactly(handle, size));
  } catch (error) {
    return refuse('UNREADABLE', `cannot be read: ${systemCode(error)}`);
  } finally {
    await handle.close();
  }
}

function openFault(code: string): Result<never, ImportFileFault> {
  if (code === 'ENOENT') return refuse('MISSING', 'the file does not exist');
  if (code === 'ELOOP' || code === 'EMLINK')
    return refuse('NOT_A_FILE', 'a symbolic link, which an import never follows');
  if (code === 'ENXIO') return refuse('NOT_A_FILE', 'not a regular file');
  return refuse('UNREADABLE', `cannot be read: ${code}`);
}

/** At most `size` bytes; fewer when the file shrank meanwhile. */
async function readExactly(handle: FileHandle, size: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(size);
  let filled = 0;
  while (filled < size) {
    const { bytesRead } = await handle.read(bytes, filled, size - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}

/** UTF-8 text with `\n` line ends and no byte order mark, or undefined when the bytes are not UTF-8. Pure. */
export function importText(bytes: Uint8Array): string | undefined {
  const text = decodeUtf8(bytes);
  return text?.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n');
}
