import { describe, expect, test } from 'vitest';
import { lineBytesMax, segmentBytesMax, segmentSealBytes, segmentsMax } from '../../../src/core/limits.ts';
import { planSegments, segmentPath, splitLines } from '../../../src/core/segments.ts';
import { utf8Bytes } from '../../../src/crypto/text.ts';

describe('segment paths', () => {
  test('count in base 64, written decimal', () => {
    expect(segmentPath(0)).toBe('00/00/00.jsonl');
    expect(segmentPath(63)).toBe('00/00/63.jsonl');
    expect(segmentPath(64)).toBe('00/01/00.jsonl');
    expect(segmentPath(64 * 64)).toBe('01/00/00.jsonl');
    expect(segmentPath(segmentsMax - 1)).toBe('63/63/63.jsonl');
    expect(() => segmentPath(segmentsMax)).toThrow('within the tree');
    expect(() => segmentPath(-1)).toThrow('within the tree');
  });
});

/** Files that a plan makes of lines, starting from nothing, in batches of the given sizes. */
function layOut(lines: readonly Uint8Array[], batch: number): readonly number[] {
  const sizes: number[] = [];
  let open = { index: 0, bytes: 0 };
  for (let from = 0; from < lines.length; from += batch) {
    for (const part of planSegments(open, lines.slice(from, from + batch)) ?? []) {
      const added = part.lines.reduce((sum, line) => sum + line.length + 1, 0);
      expect(sizes[part.index] ?? 0).toBe(part.bytesBefore);
      expect(part.path).toBe(segmentPath(part.index));
      sizes[part.index] = part.bytesBefore + added;
      open = { index: part.index, bytes: part.bytesBefore + added };
    }
  }
  return sizes;
}

describe('planSegments', () => {
  const lines = Array.from({ length: 400 }, (_, index) => new Uint8Array(100 + ((index * 7919) % 3_000)));

  test('the layout depends on the lines alone, however they were batched', () => {
    const whole = layOut(lines, 400);
    for (const batch of [1, 2, 3, 17, 100]) expect(layOut(lines, batch)).toEqual(whole);
  });

  test('a file is sealed once it holds 16 KiB, and never holds more than one line beyond', () => {
    const sizes = layOut(lines, 50);
    for (const size of sizes.slice(0, -1)) expect(size).toBeGreaterThanOrEqual(segmentSealBytes);
    for (const size of layOut([...lines, ...Array.from({ length: 9 }, () => new Uint8Array(lineBytesMax))], 7)) {
      expect(size).toBeLessThanOrEqual(segmentBytesMax);
    }
  });

  test('a file of exactly 16 KiB is sealed, one byte less is open', () => {
    expect(planSegments({ index: 0, bytes: segmentSealBytes }, [new Uint8Array(1)])?.[0]?.index).toBe(1);
    expect(planSegments({ index: 0, bytes: segmentSealBytes - 1 }, [new Uint8Array(1)])?.[0]?.index).toBe(0);
  });

  test('a full log says so and never wraps', () => {
    expect(planSegments({ index: segmentsMax - 1, bytes: segmentSealBytes }, [new Uint8Array(1)])).toBeUndefined();
    expect(planSegments({ index: segmentsMax - 1, bytes: 0 }, [new Uint8Array(1)])?.length).toBe(1);
    expect(planSegments({ index: 0, bytes: 0 }, [])).toEqual([]);
  });
});

describe('splitLines', () => {
  test('splits at 0x0A only', () => {
    const text = 'a\u2028b\u2029c\u0085d\r\ne\u000bf\n\ng\n';
    expect(splitLines(utf8Bytes(text)).lines).toEqual(['a\u2028b\u2029c\u0085d\r', 'e\u000bf', '', 'g']);
  });

  test('what follows the last newline is no line', () => {
    const split = splitLines(utf8Bytes('a\nb'));
    expect(split.lines).toEqual(['a']);
    expect(split.rest).toEqual(utf8Bytes('b'));
    expect(splitLines(utf8Bytes('b'))).toEqual({ lines: [], rest: utf8Bytes('b') });
    expect(splitLines(new Uint8Array(0))).toEqual({ lines: [], rest: new Uint8Array(0) });
    expect(splitLines(utf8Bytes('\n')).lines).toEqual(['']);
  });

  test('bytes that are not UTF-8 stay bytes, and the lines around them stay text', () => {
    const bytes = new Uint8Array([0x61, 0x0a, 0xff, 0x0a, 0x62, 0x0a]);
    expect(splitLines(bytes).lines).toEqual(['a', new Uint8Array([0xff]), 'b']);
  });

  test('a byte order mark at the start is kept for the parser to refuse', () => {
    expect(splitLines(new Uint8Array([0xef, 0xbb, 0xbf, 0x61, 0x0a])).lines).toEqual(['\ufeffa']);
  });
});
