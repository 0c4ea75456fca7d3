/**
 * How the lines of a log are laid out in files: `AA/BB/CC.jsonl`, decimal, 64 entries in every folder, each file sealed
 * once it holds `segmentSealBytes`. The layout depends on the lines alone. Source: docs/format.md, section 7.
 */
import { assert } from '../crypto/result.ts';
import { decodeUtf8 } from '../crypto/text.ts';
import { segmentFanout, segmentSealBytes, segmentsMax } from './limits.ts';

/** The file that the next line goes to, with the bytes it holds already. A new log starts with {index: 0, bytes: 0}. */
export interface OpenSegment {
  readonly index: number;
  readonly bytes: number;
}

/** Lines to add to one file. */
export interface SegmentPart {
  readonly index: number;
  readonly path: string;
  /** Bytes the file holds before these lines; 0 for a new one. */
  readonly bytesBefore: number;
  readonly lines: readonly Uint8Array[];
}

/** `AA/BB/CC.jsonl` of a segment, each part decimal 00 to 63. Pure. */
export function segmentPath(index: number): string {
  assert(Number.isSafeInteger(index) && index >= 0 && index < segmentsMax, 'a segment index is within the tree');
  const parts = [index / segmentFanout ** 2, (index / segmentFanout) % segmentFanout, index % segmentFanout];
  return `${parts.map((part) => String(Math.floor(part)).padStart(2, '0')).join('/')}.jsonl`;
}

/**
 * Where the next lines (without newline) go: each to the open segment, unless that holds `segmentSealBytes` already,
 * then to the next. Undefined when the log is full. Pure.
 */
export function planSegments(open: OpenSegment, lines: readonly Uint8Array[]): readonly SegmentPart[] | undefined {
  const parts: (Omit<SegmentPart, 'lines'> & { lines: Uint8Array[] })[] = [];
  let { index, bytes } = open;
  for (const line of lines) {
    if (bytes >= segmentSealBytes) [index, bytes] = [index + 1, 0];
    if (index >= segmentsMax) return undefined;
    let part = parts.at(-1);
    if (part?.index !== index) {
      part = { index, path: segmentPath(index), bytesBefore: bytes, lines: [] };
      parts.push(part);
    }
    part.lines.push(line);
    bytes += line.length + 1;
  }
  return parts;
}

/**
 * The lines of a segment, split at byte 0x0A only; `rest` holds the bytes after the last newline (none in a sound
 * file). Lines are text where the bytes are UTF-8, and the bytes themselves where not, for `parseLine` to refuse. Pure.
 */
export function splitLines(bytes: Uint8Array): {
  readonly lines: readonly (string | Uint8Array)[];
  readonly rest: Uint8Array;
} {
  const lines: (string | Uint8Array)[] = [];
  let start = 0;
  for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, start)) {
    // Line by line: one letter outside Latin-1 would make every line of a jointly decoded file twice as large.
    const line = bytes.subarray(start, end);
    lines.push(decodeUtf8(line) ?? line);
    start = end + 1;
  }
  return { lines, rest: bytes.subarray(start) };
}
