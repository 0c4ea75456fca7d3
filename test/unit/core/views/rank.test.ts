import { expect, test } from 'vitest';
import { dealRoundRobin, rankEntries, type Rankable } from '../../../../src/core/views/rank.ts';

function entry(subject: string, over: Partial<Rankable> = {}): Rankable {
  return { subject, scope: '*', tier: 0, host: 'alpha', seq: 1, corrections: 0, corroborating: 0, ...over };
}

function order(entries: readonly Rankable[]): readonly string[] {
  const subjects = rankEntries(entries).map(({ subject }) => subject);
  expect(
    rankEntries([...entries].reverse()).map(({ subject }) => subject),
    'input order does not matter',
  ).toEqual(subjects);
  return subjects;
}

test('rank: signed before unsigned, whatever else', () => {
  expect(order([entry('a', { corrections: 9, corroborating: 9, seq: 9 }), entry('b', { tier: 2 })])).toEqual([
    'b',
    'a',
  ]);
});

test('rank: within a host corrections, then corroborating hosts, then newest, then subject', () => {
  const entries = [
    entry('newest', { seq: 50 }),
    entry('agreed', { corroborating: 2 }),
    entry('corrected', { corrections: 1 }),
    entry('z', { seq: 3 }),
    entry('b', { seq: 3 }),
  ];
  expect(order(entries)).toEqual(['corrected', 'agreed', 'newest', 'b', 'z']);
});

test('rank: hosts take turns by name, so that 150 claims of one cannot push out the one of another', () => {
  const flood = Array.from({ length: 150 }, (_, i) => entry(`flood-${i}`, { host: 'beta', corrections: 9, seq: i }));
  const ranked = order([...flood, entry('mine', { host: 'gamma' }), entry('first', { host: 'alpha' })]);
  expect(ranked.slice(0, 3)).toEqual(['first', 'flood-149', 'mine']);
  expect(ranked).toHaveLength(152);
});

test('rank: turns are taken within the signed ones too', () => {
  const entries = [
    entry('a1', { tier: 2, seq: 2 }),
    entry('a2', { tier: 2 }),
    entry('b1', { tier: 2, host: 'beta' }),
    entry('u', { host: 'beta' }),
  ];
  expect(order(entries)).toEqual(['a1', 'b1', 'a2', 'u']);
});

test('dealing keeps everything of queues of different length', () => {
  expect(dealRoundRobin([[1, 2, 3], [], [4], [5, 6]])).toEqual([1, 4, 5, 2, 6, 3]);
  expect(dealRoundRobin([])).toEqual([]);
});
