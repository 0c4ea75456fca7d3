import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { createMaintenance, type Maintenance } from '../../../../src/daemon/maintain/maintenance.ts';
import { createObjectGate, type ObjectGate } from '../../../../src/mesh/object-gate.ts';
import { countLoose } from '../../../../src/store/git/loose-files.ts';
import { listPacks } from '../../../../src/store/git/pack-index.ts';
import { initRepository, runGit, type Repository } from '../../../../src/store/git/repository.ts';
import { createHome, type Home } from '../../../../src/store/home/home.ts';
import { createLogStore } from '../../../../src/store/logs/log-store.ts';
import type { LogWriter } from '../../../../src/store/logs/log-writer.ts';
import { readMaintenanceNote } from '../../../../src/store/notes/maintenance-note.ts';
import { testLines } from '../../../lib/store-lines.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

interface World {
  readonly home: Home;
  readonly repository: Repository;
  readonly gate: ObjectGate;
  readonly writer: LogWriter;
  readonly maintenance: Maintenance;
  /** Moves the clock. */
  pass(hours: number): void;
  append(count: number): Promise<void>;
}

async function world(): Promise<World> {
  const home = createHome(path.join(temporaryFolder(), 'home'));
  const repository = await initRepository(home.repository, { host: 'alpha' });
  const writer = await createLogStore({ repository, meshId: '0'.repeat(64) }).openWriter('alpha');
  const gate = createObjectGate();
  let now = Date.UTC(2026, 0, 1);
  let next = 1;
  const maintenance = createMaintenance({ home, repository, gate, log: undefined, now: () => now });
  return {
    home,
    repository,
    gate,
    writer,
    maintenance,
    pass: (hours) => void (now += hours * 3_600_000),
    async append(count) {
      for (let n = 0; n < count; n += 1, next += 1) await writer.append(testLines(next, 1));
    },
  };
}

/** Objects that no branch reaches, in packs of one. */
async function addPacks({ repository }: World, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const hashed = await runGit(repository, { args: ['hash-object', '-w', '--stdin'], input: `lost ${n}` });
    const into = path.join(repository.objectDir, 'pack', 'pack');
    await runGit(repository, { args: ['pack-objects', '-q', into], input: hashed.stdout });
  }
}

describe('maintenance is judged by counts', () => {
  test('a few loose objects are left alone for a day, then packed once', async () => {
    const { maintenance, append, pass, repository } = await world();
    await append(20);
    // Nothing was ever packed here: as good as long ago.
    expect(await maintenance.run(false)).toMatchObject({ packed: true, merged: false });
    await append(20);
    pass(23);
    expect(await maintenance.run(false)).toMatchObject({ packed: false, merged: false });
    pass(1);
    const done = await maintenance.run(false);
    expect(done).toMatchObject({ packed: true, loose: { after: 0 }, packs: { before: 1, after: 2 } });
    expect(await countLoose(repository)).toBe(0);
    pass(24);
    expect(await maintenance.run(false)).toMatchObject({ packed: false });
  });

  test('what no branch reaches is no reason to pack again and again', async () => {
    const { maintenance, append, pass, repository } = await world();
    await append(3);
    for (let n = 0; n < 70; n += 1)
      await runGit(repository, { args: ['hash-object', '-w', '--stdin'], input: `lost ${n}` });
    expect(await maintenance.run(false)).toMatchObject({ packed: true, loose: { after: 70 } });
    pass(25);
    expect(await maintenance.run(false)).toMatchObject({ packed: false });
  });

  test('twenty packs are merged, and every object of them is there', async () => {
    const all = await world();
    await all.append(2);
    await addPacks(all, 20);
    const done = await all.maintenance.run(false);
    expect(done.merged).toBe(true);
    expect(done.packs.after).toBe(2);
    const { stdout } = await runGit(all.repository, { args: ['cat-file', '--batch-all-objects', '--batch-check'] });
    expect(stdout.toString('latin1').match(/blob/g)).toHaveLength(22);
  });

  test('asked for all of it, it does all of it, and the note and the status say when', async () => {
    const { home, maintenance, append } = await world();
    expect(maintenance.last()).toEqual({ lookedAt: null, packedAt: null, mergedAt: null });
    await append(2);
    expect(await maintenance.run(true)).toMatchObject({ packed: true, merged: true });
    expect(maintenance.last()).toMatchObject({ packedAt: '2026-01-01T00:00:00.000Z', mergedAt: expect.any(String) });
    expect(readMaintenanceNote(home).packed).toHaveProperty('refs/heads/log/alpha');
  });

  test('B7: a lock of somebody else’s maintenance does not make it do nothing', async () => {
    const { maintenance, append, repository } = await world();
    await append(20);
    fs.writeFileSync(path.join(repository.objectDir, 'maintenance.lock'), '');
    fs.writeFileSync(path.join(repository.gitDir, 'gc.pid'), '1 elsewhere');
    expect(await maintenance.run(false)).toMatchObject({ packed: true, loose: { after: 0 } });
    expect(await countLoose(repository)).toBe(0);
  });

  test.each([
    '',
    'no json',
    '[]',
    '{"v":2}',
    '{"v":1,"packed":{"refs/heads/log/alpha":"--exec=x"},"settled":7,"own":[3]}',
  ])('a note that says %j counts as none', async (text) => {
    const { home, maintenance, append, repository } = await world();
    await append(2);
    fs.writeFileSync(home.maintenance, text);
    expect(await maintenance.run(true)).toMatchObject({ packed: true, loose: { after: 0 } });
    expect(listPacks(repository)).toHaveLength(1);
  });
});

describe('maintenance beside others', () => {
  test('two who ask at once share one run, and who wants all of it gets all of it', async () => {
    const { maintenance, append } = await world();
    await append(20);
    const [first, second, full] = await Promise.all([
      maintenance.run(false),
      maintenance.run(false),
      maintenance.run(true),
    ]);
    expect(second).toBe(first);
    expect(first).toMatchObject({ merged: false });
    expect(full).toMatchObject({ packed: true, merged: true });
  });

  test('a purge stops it, and it begins again afterwards', async () => {
    const { gate, maintenance, append, repository } = await world();
    await append(30);
    const objects = await countLoose(repository);
    const stopped = maintenance.run(true).catch((error: unknown) => error);
    await gate.alone(async () => expect(await countLoose(repository)).toBe(objects));
    expect(await stopped).toMatchObject({ code: 'CHILD_FAILED', retry: 'later' });
    expect(maintenance.faults()).toEqual([]);
    expect(await maintenance.run(true)).toMatchObject({ packed: true, loose: { after: 0 } });
  });

  test('one that waits for a purge does not hold up the next purge', async () => {
    const { gate, maintenance, append } = await world();
    await append(2);
    const open = Promise.withResolvers<undefined>();
    const first = gate.alone(() => open.promise);
    const run = maintenance.run(true);
    const second = gate.alone(async () => 'purged');
    open.resolve(undefined);
    await first;
    expect(await second).toBe('purged');
    expect(await run).toMatchObject({ packed: true });
  });

  test('what it cannot do is an alarm until it can', async () => {
    const { maintenance, append, repository, writer } = await world();
    await append(20);
    const head = writer.head() ?? '';
    const file = path.join(repository.objectDir, head.slice(0, 2), head.slice(2));
    const kept = fs.readFileSync(file);
    fs.chmodSync(file, 0o600);
    fs.truncateSync(file);
    await maintenance.scheduled();
    expect(maintenance.faults()).toEqual([{ kind: 'MAINTENANCE_FAILED', detail: expect.stringContaining(head) }]);
    fs.writeFileSync(file, kept);
    await maintenance.scheduled();
    expect(maintenance.faults()).toEqual([]);
    expect(await countLoose(repository)).toBe(0);
  });

  test.each(['DISK_FULL', 'DISK_READ_ONLY'] as const)('what %s stopped is done once that is over', async (code) => {
    const { maintenance, append, repository, pass } = await world();
    await append(20);
    const shut = vi.spyOn(fs, 'mkdirSync').mockImplementation(() => {
      throw Object.assign(new Error('shut'), { code: code === 'DISK_FULL' ? 'EDQUOT' : 'EROFS' });
    });
    await maintenance.scheduled();
    shut.mockRestore();
    expect(maintenance.faults()).toMatchObject([{ kind: 'MAINTENANCE_FAILED' }]);
    await maintenance.retry();
    expect(maintenance.faults(), 'not again and again').toHaveLength(1);
    pass(0.1);
    await maintenance.retry();
    expect(maintenance.faults()).toEqual([]);
    expect(await countLoose(repository)).toBe(0);
  });

  test('a fault of another kind waits for the schedule', async () => {
    const { maintenance, append, pass, writer, repository } = await world();
    await append(20);
    const head = writer.head() ?? '';
    const file = path.join(repository.objectDir, head.slice(0, 2), head.slice(2));
    fs.chmodSync(file, 0o600);
    fs.truncateSync(file);
    await maintenance.scheduled();
    pass(0.1);
    const before = maintenance.faults();
    await maintenance.retry();
    expect([maintenance.faults(), before.length]).toEqual([before, 1]);
  });

  test('closed, it is over at once, and what comes then is refused', async () => {
    const { maintenance, append, repository } = await world();
    await append(30);
    const run = maintenance.run(true).catch((error: unknown) => error);
    await maintenance.close();
    expect(await run).toMatchObject({ code: 'CHILD_FAILED' });
    expect(fs.readdirSync(path.join(repository.gitDir, 'quarantine'))).toEqual([]);
  });
});
