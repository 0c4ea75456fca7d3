/** Where memd's log goes. */
import { writeSync } from 'node:fs';

/**
 * A file descriptor as pino writes to it. What it cannot take (a full disk, a reader that is gone) is dropped: memd answers
 * and keeps what it holds, whatever becomes of its log.
 */
export function logOutput(descriptor: number): { readonly write: (text: string) => void } {
  return {
    write(text) {
      try {
        writeSync(descriptor, text);
      } catch {
        // There is nowhere left to say so.
      }
    },
  };
}
