import { expect, test } from 'vitest';
import { beforeWrite, linesBeyond } from '../../../../src/core/sync/own-write.ts';

const line = (seq: number, branch = 'main'): { seq: number; link: string } => ({ seq, link: `${branch} ${seq}` });

test('own log: where the branch is at our last line, a line is written', () => {
  expect(beforeWrite({ branch: 'a', held: 'a', looked: false })).toBe('write');
  expect(beforeWrite({ branch: null, held: null, looked: false })).toBe('write');
});

test('own log: a branch that is elsewhere is read first, and not written to if it still is', () => {
  expect(beforeWrite({ branch: 'b', held: 'a', looked: false })).toBe('take-over');
  expect(beforeWrite({ branch: 'b', held: null, looked: false })).toBe('take-over');
  expect(beforeWrite({ branch: 'b', held: 'a', looked: true })).toBe('refuse');
});

test('own log: what a failed write left behind our last line is taken over', () => {
  expect(linesBeyond(line(2), [line(1), line(2), line(3)])).toEqual([line(3)]);
  expect(linesBeyond(undefined, [line(1)])).toEqual([line(1)]);
  expect(linesBeyond(line(2), [line(1), line(2)])).toEqual([]);
  expect(linesBeyond(line(2), [line(1)])).toEqual([]);
});

test('own log: of another history nothing is taken over, however long it is', () => {
  expect(linesBeyond(line(2), [line(1), line(2, 'other'), line(3, 'other')])).toEqual([]);
});
