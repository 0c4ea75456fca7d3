/** Lines for store tests: the store does not look into them, so they are numbered text and not signed events. */
import type { WritableLine } from '../../src/store/logs/log-append.ts';

/** Line number `seq` of a test log, about `bytes` long. */
export function testLine(seq: number, bytes = 600): WritableLine {
  const head = `{"seq":${seq},"text":"`;
  return {
    text: `${head}${'é'.repeat(2)}${'x'.repeat(Math.max(0, bytes - head.length - 6))}"}`,
    body: { at: new Date(1_700_000_000_000 + seq * 1_000).toISOString() },
  };
}

/** Lines from `first` on, `count` of them. */
export function testLines(first: number, count: number, bytes = 600): WritableLine[] {
  return Array.from({ length: count }, (_, index) => testLine(first + index, bytes));
}
