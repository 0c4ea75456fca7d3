/** What is wrong with this home beyond its logs is told, and goes when it is put right. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openBench } from '../lib/hosts-bench.ts';

const bench = openBench();

interface Status {
  readonly alarms: { kind: string; detail: string }[];
}

test('last-heads.json that cannot be read is an alarm until a person has seen to it', async () => {
  const alpha = await bench.lay('alpha');
  await alpha.json('init', '--host', 'alpha', '--listen', '127.0.0.1:0');
  await alpha.json('lesson', 'lesson/one', 'x');
  const file = join(alpha.home, 'last-heads.json');
  writeFileSync(file, '');
  // It blocks nothing, and what is written in its place must not hide it.
  await alpha.json('lesson', 'lesson/two', 'x');
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ logs: { alpha: { seq: 2 } } });
  for (const _ of [1, 2]) {
    const { alarms } = await alpha.json<Status>('status');
    expect(alarms).toMatchObject([{ kind: 'LAST_HEADS_DAMAGED', detail: expect.stringContaining(`${file}.damaged`) }]);
  }
  expect(existsSync(`${file}.damaged`)).toBe(true);
  rmSync(`${file}.damaged`);
  expect((await alpha.json<Status>('status')).alarms).toEqual([]);
});

test('a file of branch trust that is no op is an alarm, and the rest of the branch counts', async () => {
  const beta = await bench.lay('beta');
  await beta.json('init', '--host', 'beta', '--listen', '127.0.0.1:0');
  const git = (args: string[], input = ''): string =>
    execFileSync('git', ['--git-dir', beta.repository, ...args], { encoding: 'utf8', input }).trim();
  const id = `${'ab'.repeat(31)}cd`;
  const blob = git(['hash-object', '-w', '--stdin'], '{"not":"an op"}\n');
  const folder = git(['mktree'], `100644 blob ${blob}\t${id}.json\n`);
  const tree = git(['mktree'], `${git(['ls-tree', 'trust'])}\n040000 tree ${folder}\tab\n`);
  const author = ['-c', 'user.name=x', '-c', 'user.email=x'];
  git(['update-ref', 'refs/heads/trust', git([...author, 'commit-tree', '-p', 'trust', '-m', 'x', tree])]);
  const { alarms } = await beta.json<Status>('status');
  expect(alarms).toMatchObject([{ kind: 'TRUST_OP', detail: expect.stringContaining(id.slice(0, 12)) }]);
  await beta.json('lesson', 'lesson/one', 'x');
});
