import { expect, test } from 'vitest';
import type { Charter } from '../../../../src/core/trust/charter.ts';
import { duePurges, hasPurgeWork, saysPurged, stillNoted } from '../../../../src/core/trust/purge-work.ts';

/** Purges of these events, each by an op of its name. */
function purgesOf(...ids: readonly string[]): Charter['purges'] {
  return new Map(ids.map((id) => [id, { op: `op ${id}` }])) as unknown as Charter['purges'];
}

test('purges: what is counted and not noted is due', () => {
  expect(duePurges(purgesOf('a', 'b'), { noted: ['a'] })).toEqual(['b']);
  expect(hasPurgeWork(purgesOf('a', 'b'), { noted: ['a'], covered: [] })).toBe(true);
  expect(hasPurgeWork(purgesOf('a'), { noted: ['a'], covered: [] })).toBe(false);
});

test('purges: a log that holds a body again is work, whatever is noted', () => {
  expect(hasPurgeWork(purgesOf('a'), { noted: ['a'], covered: ['beta'] })).toBe(true);
});

test('purges: what counts no more is no longer noted as done', () => {
  expect(stillNoted(purgesOf('b'), { noted: ['a', 'b'] })).toEqual(['b']);
});

test('purges: a host says that it purged by a trust set with that very op', () => {
  expect(saysPurged(purgesOf('a'), { id: 'a', op: 'op a' })).toBe(true);
  expect(saysPurged(purgesOf('a'), { id: 'a', op: 'another op' })).toBe(false);
  expect(saysPurged(purgesOf('b'), { id: 'a', op: 'op a' })).toBe(false);
  expect(saysPurged(undefined, { id: 'a', op: 'op a' })).toBe(false);
});
