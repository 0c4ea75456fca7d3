import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { forkBranchesMax } from '../../../../src/core/limits.ts';
import { keepBranch, listBranches, purgeBranches } from '../../../../src/store/logs/fork-branches.ts';
import { lessons, logOf, mesh } from '../../../lib/events.ts';
import { temporaryHome } from '../../../lib/temporary.ts';

const lines = logOf([...lessons(5)]);
const host = lines[0]?.log ?? '';

test('a branch is kept whole, from its first line on, and a shorter one of the same place changes nothing', async () => {
  const home = temporaryHome();
  expect(listBranches(home, host)).toEqual([]);
  expect(await keepBranch(home, [])).toBe(false);
  await keepBranch(home, lines.slice(1, 3));
  await keepBranch(home, lines.slice(1));
  await keepBranch(home, lines.slice(1, 2));
  const [branch, ...more] = listBranches(home, host);
  expect(more).toEqual([]);
  expect(branch).toMatchObject({ host, from: 2, lines: lines.slice(1).map(({ text }) => text) });
  expect(lines[1]?.link.startsWith(branch?.link ?? 'x')).toBe(true);
  expect(listBranches(home, 'other')).toEqual([]);
});

test('whoever has a key can sign branches without end: a bounded number of them is kept', async () => {
  const home = temporaryHome();
  const many = logOf([...lessons(forkBranchesMax + 1)]);
  const kept: boolean[] = [];
  for (const line of many) kept.push(await keepBranch(home, [line]));
  expect(kept.filter((one) => !one)).toHaveLength(1);
  expect(readdirSync(home.forks)).toHaveLength(forkBranchesMax);
});

test('a purge takes the body out of a branch too, and leaves every other line byte for byte', async () => {
  const home = temporaryHome();
  await keepBranch(home, lines);
  const id = lines[2]?.id ?? '';
  const text = lines[2]?.body?.content ?? 'none';
  await purgeBranches(home, { meshId: mesh, purged: new Set([id]) });
  const [branch] = listBranches(home, host);
  expect(branch?.lines).toHaveLength(5);
  expect(branch?.lines.filter((_, index) => index !== 2)).toEqual(
    lines.filter((_, index) => index !== 2).map((line) => line.text),
  );
  expect(branch?.lines[2]).toContain(`"body":"${id}"`);
  for (const name of readdirSync(home.forks))
    expect(readFileSync(join(home.forks, name), 'utf8')).not.toContain(`"${text}"`);
});
