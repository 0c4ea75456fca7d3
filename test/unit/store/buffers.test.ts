import { expect, test } from 'vitest';
import { releaseBuffer } from '../../../src/store/buffers.ts';

test('a buffer that has its bytes alone is empty afterwards', () => {
  const alone = Buffer.allocUnsafeSlow(100_000).fill(1);
  releaseBuffer(alone);
  expect(alone.length).toBe(0);
});

test('one that shares its bytes with others stays, and so do they', () => {
  const pooled = Buffer.from('from the pool');
  const whole = Buffer.alloc(100_000, 1);
  const part = whole.subarray(1);
  releaseBuffer(pooled);
  releaseBuffer(part);
  expect([pooled.toString(), whole.length, part.length]).toEqual(['from the pool', 100_000, 99_999]);
});

test('an empty buffer may be given back too', () => {
  expect(() => releaseBuffer(Buffer.alloc(0))).not.toThrow();
});
