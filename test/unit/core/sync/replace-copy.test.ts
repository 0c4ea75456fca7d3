import { expect, test } from 'vitest';
import { heldUpto, whyNotInPlace, type WholeCopy } from '../../../../src/core/sync/replace-copy.ts';

const line = (seq: number, branch = 'main'): { seq: number; link: string } => ({ seq, link: `${branch} ${seq}` });
const seen = (
  seq: number,
  oid: string,
  link: string | undefined = line(seq).link,
): NonNullable<Parameters<typeof whyNotInPlace>[0]['last']> => ({ oid, seq, link });

function copyOf(
  lines: number,
  { commits = [], branch = 'main' }: { commits?: string[]; branch?: string } = {},
): WholeCopy {
  return {
    lines,
    linkAt: (seq) => (seq <= lines ? line(seq, branch).link : undefined),
    hasCommit: (oid) => commits.includes(oid),
  };
}

test('what holds the commit of ours holds every line of it', () => {
  const ours = { branch: 'c', good: line(2), last: seen(4, 'b') };
  expect(whyNotInPlace(ours, copyOf(9, { commits: ['b', 'c', 'd'] }))).toBeUndefined();
  expect(whyNotInPlace(ours, copyOf(9, { commits: ['b'] }))).toBe('unknown');
});

test('what was last seen in the commit of ours tells how much that is', () => {
  const ours = { branch: 'b', good: line(2), last: seen(4, 'b') };
  expect(whyNotInPlace(ours, copyOf(4))).toBeUndefined();
  expect(whyNotInPlace(ours, copyOf(3))).toBe('shorter');
});

test('a branch that names nothing leaves what was last seen', () => {
  expect(whyNotInPlace({ branch: '', good: undefined, last: seen(4, 'b') }, copyOf(4))).toBeUndefined();
  expect(whyNotInPlace({ branch: '', good: undefined, last: seen(4, 'b') }, copyOf(3))).toBe('shorter');
  expect(whyNotInPlace({ branch: '', good: line(2), last: undefined }, copyOf(2))).toBeUndefined();
  expect(whyNotInPlace({ branch: '', good: undefined, last: undefined }, copyOf(1))).toBeUndefined();
});

test('lines that a copy holds otherwise keep it out, however long it is', () => {
  const other = copyOf(9, { commits: ['c'], branch: 'other' });
  expect(whyNotInPlace({ branch: 'c', good: line(2), last: undefined }, other)).toBe('other');
  expect(whyNotInPlace({ branch: 'c', good: undefined, last: seen(4, 'c') }, other)).toBe('other');
});

test('a signer who pinned another branch behind all that is known of ours has decided; no earlier pin has', () => {
  const ours = { branch: 'b', good: line(2, 'other'), last: seen(4, 'b', line(4, 'other').link) };
  expect(whyNotInPlace(ours, copyOf(9))).toBe('other');
  expect(whyNotInPlace({ ...ours, pins: [line(3)] }, copyOf(9))).toBe('other');
  expect(whyNotInPlace({ ...ours, pins: [line(4)] }, copyOf(9))).toBeUndefined();
  expect(whyNotInPlace({ ...ours, pins: [line(6)] }, copyOf(5))).toBe('other');
  expect(whyNotInPlace({ ...ours, branch: 'c', pins: [line(6)] }, copyOf(9))).toBe('unknown');
});

test('a last line that may be lost asks for its number only', () => {
  const last = seen(4, 'b', undefined);
  expect(whyNotInPlace({ branch: 'b', good: line(2), last: { ...last, link: undefined } }, copyOf(4))).toBeUndefined();
  expect(whyNotInPlace({ branch: 'b', good: line(2), last: { ...last, link: undefined } }, copyOf(3))).toBe('shorter');
});

test('what it is known to have held is the longer of what can be read and what was seen', () => {
  expect(heldUpto({ good: line(2), last: seen(4, 'b') })).toBe(4);
  expect(heldUpto({ good: line(5), last: seen(4, 'b') })).toBe(5);
  expect(heldUpto({ good: undefined, last: undefined })).toBe(0);
});
