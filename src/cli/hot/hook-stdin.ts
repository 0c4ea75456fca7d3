/** The input of a hook: read to its end, to a bound, or to a deadline, whichever comes first. */
import fs from 'node:fs';
import { Socket } from 'node:net';

export interface HookStdin {
  readonly text: string;
  /** Why it is not whole; undefined when it is. */
  readonly fault?: string;
}

/** Reads file descriptor 0. Never throws and never waits longer than asked. */
export function readHookStdin(limits: { readonly bytesMax: number; readonly waitMs: number }): Promise<HookStdin> {
  try {
    const status = fs.fstatSync(0);
    if (status.isFile()) return Promise.resolve(readWholeFile(limits.bytesMax));
    if (status.isFIFO() || status.isSocket()) return readStream(limits);
    return Promise.resolve({ text: '' });
  } catch {
    return Promise.resolve({ text: '' });
  }
}

function readWholeFile(bytesMax: number): HookStdin {
  const buffer = Buffer.alloc(bytesMax);
  let length = 0;
  for (let read = -1; read !== 0 && length < bytesMax; length += read) {
    read = fs.readSync(0, buffer, length, bytesMax - length, null);
  }
  const text = buffer.toString('utf8', 0, length);
  return length < bytesMax ? { text } : { text, fault: tooLong(bytesMax) };
}

function readStream({ bytesMax, waitMs }: { bytesMax: number; waitMs: number }): Promise<HookStdin> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const socket = new Socket({ fd: 0, readable: true, writable: false });
    const finish = (fault?: string): void => {
      clearTimeout(timer);
      socket.destroy();
      const text = Buffer.concat(chunks).toString('utf8');
      resolve(fault === undefined ? { text } : { text, fault });
    };
    const timer = setTimeout(() => finish(`stdin did not end within ${waitMs} ms`), waitMs);
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= bytesMax) finish(tooLong(bytesMax));
    });
    socket.on('end', () => finish());
    socket.on('error', (error) => finish(`stdin cannot be read: ${error.message}`));
  });
}

function tooLong(bytesMax: number): string {
  return `stdin has ${bytesMax} bytes or more`;
}
