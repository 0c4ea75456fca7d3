import { expect, test } from 'vitest';
import { folderCache } from '../../../src/mesh/judge/recording-reader.ts';

test('a folder that is kept keeps its own bytes only, not what it was read out of', () => {
  const chunk = Buffer.alloc(65_536, 7);
  const cache = folderCache();
  cache.put({ ok: true, oid: 'a'.repeat(40), type: 'tree', content: chunk.subarray(100, 300) });
  const kept = cache.get('a'.repeat(40));
  expect(kept?.content).toEqual(chunk.subarray(100, 300));
  expect(kept?.content.buffer.byteLength).toBe(200);
});

test('a folder that is put again stays the one that is kept', () => {
  const cache = folderCache();
  const folder = { ok: true, oid: 'a'.repeat(40), type: 'tree', content: Buffer.from('x') } as const;
  cache.put(folder);
  const kept = cache.get(folder.oid);
  cache.put(folder);
  expect(cache.get(folder.oid)).toBe(kept);
});
