/** A log that could not be read is not a log that holds less: only damage ends it where it is. */
import { chmodSync, readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import type { CharterHost } from '../../../src/core/trust/charter.ts';
import { createLogBook, loadLogs, readVerifiedLog } from '../../../src/daemon/beliefs/log-book.ts';
import { viewProblem } from '../../../src/daemon/queries/verify-views.ts';
import { isWhole } from '../../../src/store/git/branch-commits.ts';
import { compareAndSwapRef, logRef, readRef, viewBranch } from '../../../src/store/git/refs.ts';
import { salvagePack } from '../../../src/store/git/salvage.ts';
import { openLogWriter } from '../../../src/store/logs/log-writer.ts';
import { temporaryFolder } from '../../lib/temporary.ts';
import { makeLines, meshId, startNode, type TestNode } from './node.ts';

afterEach(() => void vi.unstubAllEnvs());

/** A git that ends so when it is called for one thing: as it is, to read packed objects. */
function withGitThat(ends: string, command = 'cat-file'): void {
  const folder = temporaryFolder();
  const file = join(folder, 'git');
  const path = process.env['PATH'] ?? '';
  writeFileSync(file, `#!/bin/sh\ncase "$*" in *${command}*) ${ends} ;; esac\nPATH='${path}' exec git "$@"\n`);
  chmodSync(file, 0o755);
  vi.stubEnv('PATH', `${folder}:${path}`);
}

async function packedLog(): Promise<{ node: TestNode; host: CharterHost }> {
  const node = await startNode('beta');
  const writer = await openLogWriter({ repository: node.repository, host: 'beta', meshId });
  await writer.appendBulk([makeLines('beta', { seq: 0, link: meshId }, ['one', 'two', 'three'])]);
  const host = node.charter().hosts.get('beta');
  if (host === undefined) throw new Error('beta is not in the charter');
  return { node, host };
}

const how = { meshId, purged: new Set<string>() };

test.each([
  ['killed', 'kill -KILL $$'],
  ['ended from outside', 'kill -TERM $$'],
  ['asked to leave a core', 'kill -QUIT $$'],
  ['out of memory, and says so', 'echo "fatal: packfile x cannot be mapped: Cannot allocate memory" >&2; exit 128'],
  ['out of descriptors, and says so', 'echo "error: x: Too many open files" >&2; exit 128'],
])('git was %s: it is told, and nothing counts as the log', async (_, ends) => {
  const { node, host } = await packedLog();
  withGitThat(ends);
  await expect(readVerifiedLog(node.repository, host, how)).rejects.toMatchObject({ code: 'CHILD_FAILED' });
  const book = createLogBook();
  const options = { repository: node.repository, charter: node.charter(), book, progress: () => undefined };
  await expect(loadLogs(options, () => undefined)).rejects.toMatchObject({ code: 'CHILD_FAILED' });
  expect([book.tip('beta'), book.cuts()]).toEqual([undefined, []]);
  vi.unstubAllEnvs();
  await loadLogs(options, () => undefined);
  expect(book.tip('beta')).toMatchObject({ seq: 3 });
});

test.each([
  ['gives up on what it reads', 'echo "fatal: object is corrupt" >&2; exit 128'],
  ['dies of a disk that cannot give back a pack', 'kill -BUS $$'],
])('git %s: that is damage', async (_, ends) => {
  const { node, host } = await packedLog();
  withGitThat(ends);
  expect(await readVerifiedLog(node.repository, host, how)).toMatchObject({
    held: 0,
    damage: { code: 'OBJECT_DAMAGED' },
  });
});

test.each(['rev-list', 'show-index', 'unpack-objects'])(
  'repair: a %s that was killed is told, and nothing counts as lost',
  async (name) => {
    const { node } = await packedLog();
    const folder = join(node.repository.objectDir, 'pack');
    const [pack = '', index = ''] = ['.pack', '.idx'].map((end) =>
      join(folder, readdirSync(folder).find((file) => file.endsWith(end)) ?? ''),
    );
    const oid = readRef(node.repository, logRef('beta')) ?? '';
    const work = {
      'rev-list': () => isWhole(node.repository, oid),
      'show-index': () => salvagePack(node.repository, { file: pack, index }),
      'unpack-objects': () => salvagePack(node.repository, { file: pack, index: null }),
    }[name];
    withGitThat('kill -KILL $$', name);
    await expect(work?.()).rejects.toMatchObject({ code: 'CHILD_FAILED' });
  },
);

test('a journal that could not be read is not one that is wrong: a repair would put an older one in its place', async () => {
  const { node, host } = await packedLog();
  await compareAndSwapRef(node.repository, {
    ref: viewBranch('beta').ref,
    expected: null,
    next: readRef(node.repository, logRef('beta')) ?? '',
  });
  withGitThat('kill -KILL $$');
  const how = { mesh: meshId, deep: false };
  await expect(viewProblem(node.repository, host, how)).rejects.toMatchObject({ code: 'CHILD_FAILED' });
  vi.unstubAllEnvs();
  expect(await viewProblem(node.repository, host, how)).toContain('view beta');
});

test('a pack that is cut off is damage', async () => {
  const { node, host } = await packedLog();
  const folder = join(node.repository.objectDir, 'pack');
  const pack = join(folder, readdirSync(folder).find((name) => name.endsWith('.pack')) ?? '');
  chmodSync(pack, 0o600);
  truncateSync(pack, 20);
  expect(await readVerifiedLog(node.repository, host, how)).toMatchObject({
    held: 0,
    damage: { code: expect.any(String) },
  });
});
