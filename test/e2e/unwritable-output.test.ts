/** The answer of memctl goes where nothing can be written: told in one line, and the work is done all the same. */
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { meshOfOne, type Ran, type World } from '../lib/memctl.ts';

const full = '/dev/full';

function runIntoFull({ env, work }: World, args: readonly string[]): Pick<Ran, 'code' | 'stderr'> {
  const target = openSync(full, 'w');
  const done = spawnSync(process.execPath, [join(import.meta.dirname, '../../bin/memctl'), ...args], {
    cwd: work,
    env,
    stdio: ['ignore', target, 'pipe'],
    encoding: 'utf8',
  });
  closeSync(target);
  return { code: done.status ?? 255, stderr: done.stderr };
}

test.skipIf(!existsSync(full))(
  'memctl into a full disk (where there is /dev/full): one line and a next step, exit 1, and what was asked is done',
  { timeout: 120_000 },
  async () => {
    const world = await meshOfOne();
    const said = {
      code: 1,
      stderr: expect.stringMatching(/^memctl: the answer cannot be written: ENOSPC.*\n  next: .*\n$/) as string,
    };
    for (const args of [['--help'], ['status'], ['index'], ['status', '--json'], ['lesson', 'lesson/full', 'said']])
      expect(runIntoFull(world, args)).toEqual(said);
    // Through the short way of recall, which memd answers.
    await world.memd();
    expect(runIntoFull(world, ['recall', 'lesson/full'])).toEqual(said);
    expect((await world.run(['recall', 'lesson/full'])).stdout).toContain('said');
  },
);
