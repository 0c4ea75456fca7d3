import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { childEnvironment } from '../../../../src/store/child.ts';
import { checkObjects, countObjects, packObjects } from '../../../../src/store/git/maintenance.ts';
import { requireGit, runOrdinary, runOrdinaryOk } from '../../../../src/store/git/porcelain.ts';
import {
  initRepository,
  openRepository,
  prepareRepository,
  runGit,
  type Repository,
} from '../../../../src/store/git/repository.ts';
import { createLogStore } from '../../../../src/store/logs/log-store.ts';
import { testLines } from '../../../lib/store-lines.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

const meshId = '0'.repeat(64);

async function withLog(lines: number): Promise<Repository> {
  const repository = await initRepository(path.join(temporaryFolder(), 'repo.git'), { host: 'alpha' });
  const writer = await createLogStore({ repository, meshId }).openWriter('alpha');
  for (let n = 0; n < lines; n += 1) await writer.append(testLines(n + 1, 1));
  return repository;
}

function objectFiles(repository: Repository): string[] {
  return fs
    .readdirSync(repository.objectDir, { recursive: true, encoding: 'utf8' })
    .filter((name) => /^[0-9a-f]{2}\/[0-9a-f]{38}$/.test(name))
    .map((name) => path.join(repository.objectDir, name));
}

function flip(file: string): void {
  const bytes = fs.readFileSync(file);
  const at = Math.floor(bytes.length / 2);
  bytes[at] = (bytes[at] ?? 0) ^ 0x40;
  fs.rmSync(file);
  fs.writeFileSync(file, bytes);
}

describe('a repository', () => {
  test('it is bare, has our configuration, no hook, and its HEAD names the own log', async () => {
    const repository = await withLog(0);
    const config = (name: string): string =>
      execFileSync('git', ['--git-dir', repository.gitDir, 'config', name], {
        env: childEnvironment(),
        encoding: 'utf8',
      }).trim();
    expect(
      ['core.bare', 'core.fsync', 'gc.auto', 'maintenance.auto', 'transfer.fsckObjects', 'fetch.fsckObjects'].map(
        config,
      ),
    ).toEqual(['true', 'all', '0', 'false', 'true', 'true']);
    expect(fs.readFileSync(path.join(repository.gitDir, 'HEAD'), 'utf8')).toBe('ref: refs/heads/log/alpha\n');
    expect(fs.existsSync(path.join(repository.gitDir, 'hooks'))).toBe(false);
  });

  test('a changed configuration is put back before anything is written', async () => {
    const repository = await withLog(1);
    const file = path.join(repository.gitDir, 'config');
    const before = fs.readFileSync(file, 'utf8');
    fs.appendFileSync(file, '[core]\n\tfsmonitor = /tmp/evil\n[gc]\n\tauto = 1\n');
    await prepareRepository(openRepository(repository.gitDir));
    expect(fs.readFileSync(file, 'utf8')).toBe(before);
  });

  test('making it again completes what a crash left half-made and keeps the rest', async () => {
    const repository = await withLog(2);
    fs.rmSync(path.join(repository.gitDir, 'HEAD'));
    expect(() => openRepository(repository.gitDir)).toThrow(
      expect.objectContaining({ code: 'REPOSITORY_MISSING', message: expect.stringContaining('HEAD') }),
    );
    const again = await initRepository(repository.gitDir, { host: 'alpha' });
    expect((await createLogStore({ repository: again, meshId }).readLog('alpha')).lines).toHaveLength(2);
  });

  test('environment of another repository does not lead git astray', async () => {
    const repository = await withLog(1);
    const other = await withLog(0);
    vi.stubEnv('GIT_DIR', other.gitDir);
    vi.stubEnv('GIT_INDEX_FILE', '/nonexistent/index');
    vi.stubEnv('GIT_OBJECT_DIRECTORY', '/nonexistent');
    const { stdout } = await runGit(repository, { args: ['rev-list', '--count', 'log/alpha'] });
    expect(stdout.toString().trim()).toBe('1');
    expect(
      (
        await runOrdinaryOk({
          args: ['rev-list', '--count', 'log/alpha'],
          cwd: repository.gitDir,
          gitDir: repository.gitDir,
        })
      ).stdout.trim(),
    ).toBe('1');
  });

  test('packing keeps every line, removes loose objects, and the log goes on', async () => {
    const repository = await withLog(30);
    expect((await countObjects(repository)).loose).toBeGreaterThan(100);
    await packObjects(repository);
    expect(await countObjects(repository)).toEqual({ loose: 0, packs: 1 });
    const store = createLogStore({ repository, meshId });
    await (await store.openWriter('alpha')).append(testLines(31, 1));
    expect((await store.readLog('alpha')).lines).toEqual(testLines(1, 31).map((line) => line.text));
    expect(await checkObjects(repository)).toEqual([]);
  });

  test('packing while another writer appends loses nothing', async () => {
    const repository = await withLog(10);
    const store = createLogStore({ repository, meshId });
    const writer = await store.openWriter('alpha');
    const appends = (async () => {
      for (let n = 10; n < 60; n += 1) await writer.append(testLines(n + 1, 1));
    })();
    for (let n = 0; n < 3; n += 1) await packObjects(repository);
    await appends;
    expect((await store.readLog('alpha')).lines).toEqual(testLines(1, 60).map((line) => line.text));
    expect(await checkObjects(repository)).toEqual([]);
  });
});

describe('checking objects', () => {
  test('a sound repository has no problem, also an empty one', async () => {
    expect(await checkObjects(await withLog(3))).toEqual([]);
    expect(await checkObjects(await withLog(0))).toEqual([]);
  });

  test('one flipped byte in any loose object is found, and object and file are named', async () => {
    const repository = await withLog(2);
    for (const file of objectFiles(repository).slice(0, 6)) {
      const sound = fs.readFileSync(file);
      flip(file);
      const oid = path.relative(repository.objectDir, file).replace('/', '');
      const problems = await checkObjects(repository);
      expect(problems.map((problem) => problem.place)).toContain(`object ${oid}`);
      expect(problems.map((problem) => problem.file)).toContain(file);
      fs.rmSync(file);
      fs.writeFileSync(file, sound);
    }
    expect(await checkObjects(repository)).toEqual([]);
  });

  test('an empty and a missing object are found', async () => {
    const repository = await withLog(2);
    const [first = '', second = ''] = objectFiles(repository);
    fs.rmSync(first);
    fs.rmSync(second);
    fs.writeFileSync(second, '');
    const said = JSON.stringify(await checkObjects(repository));
    for (const file of [first, second])
      expect(said).toContain(path.relative(repository.objectDir, file).replace('/', ''));
  });

  test('a flipped byte in a pack and an empty ref are found', async () => {
    const repository = await withLog(20);
    await packObjects(repository);
    const folder = path.join(repository.objectDir, 'pack');
    const pack = path.join(folder, fs.readdirSync(folder).find((name) => name.endsWith('.pack')) ?? '');
    const sound = fs.readFileSync(pack);
    flip(pack);
    expect((await checkObjects(repository)).length).toBeGreaterThan(0);
    fs.writeFileSync(pack, sound);
    fs.writeFileSync(path.join(repository.gitDir, 'refs/heads/log/alpha'), '');
    expect(JSON.stringify(await checkObjects(repository))).toContain('log/alpha');
  });
});

describe('ordinary git calls', () => {
  test('the version is checked and a missing git is named', async () => {
    expect(await requireGit(temporaryFolder())).toMatch(/^\d+\.\d+/);
    vi.stubEnv('PATH', '/nonexistent');
    await expect(requireGit(temporaryFolder())).rejects.toMatchObject({
      code: 'PROGRAM_MISSING',
      hint: expect.stringContaining('2.36'),
    });
  });

  test('a failing call gives exit code and message; a slow one ends at its deadline', async () => {
    const repository = await withLog(0);
    const call = { cwd: repository.gitDir, gitDir: repository.gitDir };
    expect(await runOrdinary({ ...call, args: ['cat-file', '-p', 'HEAD'] })).toMatchObject({
      code: 128,
      stderr: expect.stringContaining('HEAD'),
    });
    await expect(runOrdinaryOk({ ...call, args: ['cat-file', '-p', 'HEAD'] })).rejects.toMatchObject({
      code: 'CHILD_FAILED',
      message: expect.stringContaining('exit code 128'),
    });
    await expect(runOrdinary({ ...call, args: ['cat-file', '--batch'], deadlineMs: 200 })).rejects.toMatchObject({
      code: 'CHILD_TIMEOUT',
    });
  });
});
