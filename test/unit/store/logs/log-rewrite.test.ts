import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { extendLog } from '../../../../src/core/log.ts';
import { parseLine, type Line } from '../../../../src/core/line.ts';
import { childEnvironment } from '../../../../src/store/child.ts';
import { realDisk } from '../../../../src/store/disk.ts';
import { dropUnreachable } from '../../../../src/store/git/drop-unreachable.ts';
import { packObjects } from '../../../../src/store/git/maintenance.ts';
import { logRef, readRef } from '../../../../src/store/git/refs.ts';
import {
  initRepository,
  openRepository,
  prepareRepository,
  type Repository,
} from '../../../../src/store/git/repository.ts';
import { openReader } from '../../../../src/store/git/reader.ts';
import { lockHome } from '../../../../src/store/home/home-lock.ts';
import { createHome, type Home } from '../../../../src/store/home/home.ts';
import { rewriteLog, type RewriteContext } from '../../../../src/store/logs/log-rewrite.ts';
import { createLogStore, readLog } from '../../../../src/store/logs/log-store.ts';
import { readLogLayout, readSegments } from '../../../../src/store/logs/log-tree.ts';
import { sweepHome } from '../../../../src/store/home/sweep.ts';
import { findBytes } from '../../../lib/byte-search.ts';
import { bodyOf, hostRaw, lessons, logOf, mesh } from '../../../lib/events.ts';
import { faultDisk, faultModes } from '../../../lib/fault-disk.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

const secret = 'the-word-that-must-go';

/** A log whose line `at` holds the secret. */
function linesWith(at: number, count: number): readonly Line[] {
  const bodies = [...lessons(count)];
  bodies[at - 1] = bodyOf(
    { kind: 'lesson', subject: 'lesson/secret', content: `x ${secret} y`, text: secret.repeat(90) },
    999,
  );
  return logOf(bodies);
}

async function homeWith(batches: readonly (readonly Line[])[]): Promise<{ home: Home; repository: Repository }> {
  const home = createHome(path.join(temporaryFolder(), 'home'));
  const repository = await initRepository(home.repository, { host: 'alpha' });
  const writer = await createLogStore({ repository, meshId: mesh }).openWriter('alpha');
  for (const lines of batches) await writer.append(lines);
  return { home, repository };
}

function contextOf(repository: Repository, ids: readonly string[]): RewriteContext {
  return { repository, host: 'alpha', meshId: mesh, purged: new Set(ids) };
}

function eachOf(lines: readonly Line[]): readonly (readonly Line[])[] {
  return lines.map((line) => [line]);
}

function fsck(repository: Repository): string {
  const args = ['--git-dir', repository.gitDir, 'fsck', '--strict', '--full'];
  return execFileSync('git', args, { env: childEnvironment(), encoding: 'utf8', stdio: 'pipe' });
}

const start = { host: 'alpha', mesh, from: { seq: 0, link: mesh }, keys: [{ key: hostRaw, from: 1, upto: null }] };

describe('a rewritten log', () => {
  test('has a hole in the place of the body; links, signatures and every other byte stay', async () => {
    const lines = linesWith(3, 200);
    const { repository } = await homeWith([lines]);
    const id = lines[2]?.id ?? '';
    expect(await rewriteLog(contextOf(repository, [id]))).toMatchObject({ lines: 200, holes: 1 });
    const { lines: after } = await readLog(repository, 'alpha');
    expect(after.filter((text, index) => text !== lines[index]?.text)).toHaveLength(1);
    const hole = parseLine(after[2] ?? '', mesh);
    expect(hole).toMatchObject({ ok: true, value: { fault: 'HOLE', id, body: null, link: lines[2]?.link } });
    const whole = extendLog({ ...start, purged: new Set([id]), verifyEvery: true }, after);
    expect([whole.fault, whole.tip.link, whole.covered]).toEqual([undefined, lines.at(-1)?.link, undefined]);
    expect(extendLog(start, after)).toMatchObject({ tip: { seq: 2 }, fault: { code: 'HOLE', seq: 3 } });
  });

  test('is one commit without a parent, laid out as a writer lays out its lines, and the next append goes on from it', async () => {
    const lines = linesWith(50, 400);
    const { repository } = await homeWith([lines.slice(0, 10), lines.slice(10)]);
    await rewriteLog(contextOf(repository, [lines[49]?.id ?? '']));
    const reader = openReader(repository);
    const layout = await readLogLayout(reader, readRef(repository, logRef('alpha')) ?? '');
    if (!layout.ok) throw new Error(layout.detail);
    expect(layout.value.parents).toEqual([]);
    for await (const part of readSegments(reader, layout.value)) expect(part.ok).toBe(true);
    await reader.close();
    const more = logOf([...lessons(401)]).slice(-1);
    const writer = await createLogStore({ repository, meshId: mesh }).openWriter('alpha');
    await writer.append(more);
    expect((await readLog(repository, 'alpha')).lines).toHaveLength(401);
  });

  test('is the same commit whatever the commits and packs were before', async () => {
    const lines = linesWith(30, 120);
    const ids = [lines[29]?.id ?? ''];
    const oids: (string | undefined)[] = [];
    for (const batches of [[lines], eachOf(lines), [lines.slice(0, 60), lines.slice(60)]]) {
      const { repository } = await homeWith(batches);
      if (batches.length > 1) await packObjects(repository);
      oids.push((await rewriteLog(contextOf(repository, ids)))?.oid);
    }
    expect(new Set(oids).size).toBe(1);
  });

  test('two purges one after the other and both at once come to the same commit', async () => {
    const lines = linesWith(7, 90);
    const [first, second] = [lines[6]?.id ?? '', lines[80]?.id ?? ''];
    const one = (await homeWith([lines])).repository;
    await rewriteLog(contextOf(one, [second]));
    await rewriteLog(contextOf(one, [first, second]));
    const both = (await homeWith([lines])).repository;
    await rewriteLog(contextOf(both, [first, second]));
    expect(readRef(one, logRef('alpha'))).toBe(readRef(both, logRef('alpha')));
  });

  test('a log without such a body is left alone, and so is one that was rewritten already', async () => {
    const lines = linesWith(2, 5);
    const { repository } = await homeWith([lines]);
    const before = readRef(repository, logRef('alpha'));
    expect(await rewriteLog(contextOf(repository, ['0'.repeat(64)]))).toBeUndefined();
    expect(readRef(repository, logRef('alpha'))).toBe(before);
    const context = contextOf(repository, [lines[1]?.id ?? '']);
    expect(await rewriteLog(context)).toMatchObject({ holes: 1 });
    expect(await rewriteLog(context)).toBeUndefined();
    expect(await rewriteLog({ ...context, host: 'beta' })).toBeUndefined();
  });

  test('every body may go, also the last one; the approval of a line stays', async () => {
    const lines = logOf(lessons(3));
    const { repository } = await homeWith([lines]);
    expect(
      await rewriteLog(
        contextOf(
          repository,
          lines.map(({ id }) => id),
        ),
      ),
    ).toMatchObject({ holes: 3 });
    expect(fsck(repository)).not.toMatch(/error|bad/i);
    const { lines: after } = await readLog(repository, 'alpha');
    expect(after.every((text) => /"body":"[0-9a-f]{64}"/.test(String(text)))).toBe(true);
  });

  test('lines after a fault are purged too: nothing is kept because it is not used', async () => {
    const lines = linesWith(5, 8);
    const torn = [...lines.slice(0, 3), { ...(lines[3] as Line), text: '{"no":"line"}' }, ...lines.slice(4)];
    const { repository } = await homeWith([torn]);
    expect(await rewriteLog(contextOf(repository, [lines[4]?.id ?? '']))).toMatchObject({ lines: 8, holes: 1 });
  });
});

describe('dropping what no branch reaches', () => {
  test('no byte is left, loose or packed, and the repository is sound', async () => {
    const lines = linesWith(10, 60);
    const { home, repository } = await homeWith(eachOf(lines));
    await packObjects(repository);
    const writer = await createLogStore({ repository, meshId: mesh }).openWriter('alpha');
    await writer.append(logOf(lessons(61)).slice(-1));
    expect(findBytes(home.dir, secret)).not.toEqual([]);
    const old = readRef(repository, logRef('alpha')) ?? '';
    await rewriteLog(contextOf(repository, [lines[9]?.id ?? '']));
    expect(findBytes(home.dir, secret)).not.toEqual([]);
    await dropUnreachable(repository);
    expect(findBytes(home.dir, secret)).toEqual([]);
    expect(() =>
      execFileSync('git', ['--git-dir', repository.gitDir, 'cat-file', '-e', old], { stdio: 'pipe' }),
    ).toThrow('Command failed');
    expect(fsck(repository)).toBe('');
    expect((await readLog(repository, 'alpha')).lines).toHaveLength(61);
    await dropUnreachable(repository);
    expect(fsck(repository)).toBe('');
  });

  test(
    'a fault or a crash at any step leaves a sound log, and doing it again finishes it',
    { timeout: 240_000 },
    async () => {
      const lines = linesWith(10, 40);
      const ids = [lines[9]?.id ?? ''];
      const template = await homeWith(eachOf(lines));
      await packObjects(template.repository);
      for (const mode of faultModes) {
        for (let at = 0; ; at += 1) {
          const home = createHome(path.join(temporaryFolder(), 'home'));
          fs.cpSync(template.home.dir, home.dir, { recursive: true });
          const disk = faultDisk(realDisk);
          const broken = openRepository(home.repository, { disk });
          disk.arm(at, mode);
          const work = async (): Promise<void> => {
            await rewriteLog(contextOf(broken, ids));
            await dropUnreachable(broken);
          };
          await work().catch(() => undefined);
          if (disk.operations.length <= at) break;
          disk.disarm();
          const lock = lockHome(home, { program: 'test', now: new Date(0) });
          sweepHome(lock);
          const repository = openRepository(home.repository);
          await prepareRepository(repository);
          expect((await readLog(repository, 'alpha')).lines).toHaveLength(40);
          await rewriteLog(contextOf(repository, ids));
          await dropUnreachable(repository);
          lock.release();
          expect(
            extendLog({ ...start, purged: new Set(ids) }, (await readLog(repository, 'alpha')).lines).tip.seq,
          ).toBe(40);
          expect(findBytes(home.dir, secret)).toEqual([]);
          if (at % 5 === 0) expect(fsck(repository)).toBe('');
        }
      }
    },
  );
});
