/**
 * The local API: JSON lines on a unix socket. One request a line, `{"id","method","params"}`; one answer a line,
 * `{"id","result"}` or `{"id","error":{"code","message","hint"?,"ids"?,"exit"}}`, and any number of `{"id","progress"}` lines
 * before it (an empty one says that the request is still being worked on). Answers may overtake each other; `id` pairs them. Not HTTP: a plain socket costs a hook 5 ms, an HTTP
 * client 30 ms.
 */
import { decodeUtf8 } from '../../crypto/text.ts';
import type { ExitCode } from '../refusal.ts';

export interface ApiRequest {
  readonly id: number;
  readonly method: string;
  readonly params: unknown;
}

export interface ApiError {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  readonly ids?: readonly string[];
  readonly exit: ExitCode;
}

export type ApiAnswer =
  | { readonly id: number | null; readonly result: unknown }
  | { readonly id: number | null; readonly error: ApiError }
  | { readonly id: number; readonly progress: string };

/** Splits a byte stream into lines at 0x0A. Holds at most one unfinished line. */
export interface LineSplitter {
  /**
   * Complete lines that `chunk` finished, without their newline; null for one that is not UTF-8, which is never read as
   * something else. `'too-long'` once a line exceeds the maximum.
   */
  push(chunk: Buffer): readonly (string | null)[] | 'too-long';
}

/** A splitter for lines of at most `bytesMax` bytes. Decodes whole lines only, so a character is never torn. */
export function lineSplitter(bytesMax: number): LineSplitter {
  let held: Buffer[] = [];
  let heldBytes = 0;
  return {
    push(chunk) {
      const lines: (string | null)[] = [];
      let from = 0;
      for (let at = chunk.indexOf(0x0a, from); at >= 0; at = chunk.indexOf(0x0a, from)) {
        const last = chunk.subarray(from, at);
        if (heldBytes + last.length > bytesMax) return 'too-long';
        lines.push(decodeUtf8(Buffer.concat([...held, last])) ?? null);
        held = [];
        heldBytes = 0;
        from = at + 1;
      }
      const rest = chunk.subarray(from);
      if (heldBytes + rest.length > bytesMax) return 'too-long';
      if (rest.length > 0) held.push(rest);
      heldBytes += rest.length;
      return lines;
    },
  };
}
