import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openQuarantine, startIntake, type Quarantine } from '../../../src/mesh/fetch/quarantine.ts';
import { takeOver } from '../../../src/mesh/fetch/take-over.ts';
import { encodeObject } from '../../../src/store/git/object-id.ts';
import { writeObjects } from '../../../src/store/git/objects.ts';
import { initRepository, type Repository } from '../../../src/store/git/repository.ts';
import { git, logFolders, writeCommit, writeTree } from '../../e2e/mesh/hostile.ts';
import { temporaryFolder } from '../../lib/temporary.ts';

const bounds = { bytesMax: 64 * 1_024 * 1_024, objectsMax: 150_000 };

function repository(): Promise<Repository> {
  return initRepository(join(temporaryFolder(), 'repo.git'), { host: 'gamma' });
}

/** Commits that each bring 20 KiB. @returns their ids. */
async function history(from: Repository, commits: number): Promise<readonly string[]> {
  const made: string[] = [];
  const segments: string[] = [];
  for (let at = 0; at < commits; at += 1) {
    segments.push(randomBytes(10_240).toString('hex'));
    made.push(await writeCommit(from, await writeTree(from, logFolders(segments)), ...made.slice(-1)));
  }
  return made;
}

/** What a peer sends: everything behind a commit, and these objects besides. */
async function intake(
  from: Repository,
  into: Repository,
  { tip, base, besides = [] }: { tip: string; base?: string; besides?: readonly string[] },
): Promise<Quarantine> {
  const input = [tip, ...(base === undefined ? [] : [`^${base}`]), ...besides].map((id) => `${id}\n`).join('');
  const args = ['--git-dir', from.gitDir, 'pack-objects', '-q', '--revs', '--stdout', '--thin', '--delta-base-offset'];
  const pack = execFileSync('git', args, { input, maxBuffer: 2 ** 30, stdio: ['pipe', 'pipe', 'ignore'] });
  const quarantine = openQuarantine(into);
  const taken = startIntake(quarantine, 'pack', bounds);
  taken.stdin.end(pack);
  expect(await taken.done).toMatchObject({ ok: true });
  return quarantine;
}

async function rubbish(from: Repository, count: number): Promise<readonly string[]> {
  const objects = Array.from({ length: count }, () => encodeObject('blob', randomBytes(32_768)));
  await writeObjects(from, objects);
  return objects.map(({ oid }) => oid);
}

function packBytes({ objectDir }: Repository): number {
  const folder = join(objectDir, 'pack');
  const files = existsSync(folder) ? readdirSync(folder) : [];
  return files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
}

describe('a pack that is taken over', () => {
  test('is moved in as it came when it holds what its commits name, also on top of what is held', async () => {
    const [gamma, alpha] = [await repository(), await repository()];
    const commits = await history(gamma, 40);
    const [middle = '', tip = ''] = [commits[19], commits.at(-1)];
    const first = await intake(gamma, alpha, { tip: middle });
    expect(await takeOver(alpha, first, { commits: commits.slice(0, 20), base: undefined })).toBe(true);
    first.remove();
    const second = await intake(gamma, alpha, { tip, base: middle });
    expect(await takeOver(alpha, second, { commits: commits.slice(20), base: middle })).toBe(true);
    second.remove();
    expect(git(alpha, 'rev-list', '--objects', tip).length).toBeGreaterThan(0);
    // An answer with everything, to somebody who holds the half of it, is no rubbish either.
    const again = await intake(gamma, alpha, { tip });
    expect(await takeOver(alpha, again, { commits: commits.slice(20), base: middle })).toBe(true);
  });

  test('leaves behind what no commit of it names: nobody would ever drop it', async () => {
    const [gamma, alpha] = [await repository(), await repository()];
    const commits = await history(gamma, 40);
    const [middle = '', tip = ''] = [commits[19], commits.at(-1)];
    const besides = await rubbish(gamma, 200);
    const first = await intake(gamma, alpha, { tip: middle, besides });
    expect(await takeOver(alpha, first, { commits: commits.slice(0, 20), base: undefined })).toBe(false);
    first.remove();
    expect(packBytes(alpha)).toBeLessThan(1_048_576);
    const second = await intake(gamma, alpha, { tip, base: middle, besides });
    expect(await takeOver(alpha, second, { commits: commits.slice(20), base: middle })).toBe(false);
    second.remove();
    expect(packBytes(alpha)).toBeLessThan(2 * 1_048_576);
    const held = git(alpha, 'cat-file', '--batch-all-objects', '--batch-check=%(objectname)').split('\n');
    expect(held.toSorted()).toEqual(
      git(gamma, 'rev-list', '--objects', '--no-object-names', tip).split('\n').toSorted(),
    );
    expect(git(alpha, 'fsck', '--strict', tip)).toBe('');
  });

  test('leaves behind the commits after the one that was admitted', async () => {
    const [gamma, alpha] = [await repository(), await repository()];
    const commits = await history(gamma, 60);
    const [good = '', offered = ''] = [commits[9], commits.at(-1)];
    const quarantine = await intake(gamma, alpha, { tip: offered });
    expect(await takeOver(alpha, quarantine, { commits: commits.slice(0, 10), base: undefined })).toBe(false);
    quarantine.remove();
    expect(git(alpha, 'cat-file', '--batch-all-objects', '--batch-check=%(objectname)').split('\n').toSorted()).toEqual(
      git(gamma, 'rev-list', '--objects', '--no-object-names', good).split('\n').toSorted(),
    );
  });
});
