/** export and import together: a plain backup that restores, and that proves every line of itself. */
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { git } from '../lib/git.ts';
import { meshOfOne, newWorld, type Json, type World } from '../lib/memctl.ts';
import { temporaryFolder } from '../lib/temporary.ts';

const slow = { timeout: 120_000 };

async function world(folder?: string): Promise<World> {
  const made = await meshOfOne(folder);
  await made.run(['lesson', 'lesson/one', 'Quote every path']);
  await made.run(['lesson', 'lesson/two', 'Name the unit']);
  return made;
}

async function rootOf(made: World): Promise<unknown> {
  return (await made.json(['status'])).value['root'];
}

/** Exports into a folder of that name. */
async function exported(made: World, name = 'backup'): Promise<string> {
  const folder = join(made.work, name);
  expect(await made.json(['export', folder])).toMatchObject({ code: 0 });
  return folder;
}

/** Another world, with the keys of this one in its home and nothing else. */
function newMachine(made: World): World {
  const other = newWorld();
  mkdirSync(other.home, { mode: 0o700 });
  cpSync(join(made.home, 'keys'), join(other.home, 'keys'), { recursive: true });
  return other;
}

const linesOf = (file: string): string[] => readFileSync(file, 'utf8').trimEnd().split('\n');

describe('import of an export', () => {
  test('a new home with its keys is that host again, and goes on where it was', slow, async () => {
    const made = await world();
    const folder = await exported(made);
    const other = newMachine(made);
    const done = await other.json(['import', folder]);
    expect(done).toMatchObject({
      code: 0,
      value: { kind: 'export', new: 2, unchanged: 0, trust: { new: 0, unchanged: 1 }, skipped: [], standing: 'host' },
    });
    expect(done.value['root']).toBe(await rootOf(made));
    const next = await other.json(['lesson', 'lesson/three', 'Go on']);
    expect(next).toMatchObject({ code: 0, value: { seq: 3, host: 'alpha' } });
    expect((await other.json(['verify', '--deep'])).value).toMatchObject({ ok: true, problems: [] });
  });

  test('done again it changes nothing, with memd and without; --dry-run neither', slow, async () => {
    const made = await world();
    const folder = await exported(made);
    const oid = git(join(made.home, 'repo.git'), 'rev-parse', 'log/alpha');
    const same = { code: 0, value: { new: 0, unchanged: 2, trust: { new: 0, unchanged: 1 }, skipped: [] } };
    expect(await made.json(['import', folder, '--dry-run'])).toMatchObject(same);
    expect(await made.json(['import', folder])).toMatchObject(same);
    await made.memd();
    expect(await made.json(['import', folder])).toMatchObject(same);
    expect(git(join(made.home, 'repo.git'), 'rev-parse', 'log/alpha')).toBe(oid);
  });

  test(
    'a home without keys is an archive: it reads, appends nothing, and a signer makes it the host',
    slow,
    async () => {
      const made = await world();
      const folder = await exported(made);
      const other = newWorld();
      const refused = await other.json(['import', folder]);
      expect(refused).toMatchObject({ code: 2, value: { error: { code: 'BACKUP_UNUSABLE' } } });
      const done = await other.json(['import', folder, '--host', 'alpha']);
      expect(done).toMatchObject({ code: 0, value: { new: 2, standing: 'archive', host: 'alpha' } });
      expect((await other.json(['recall', 'lesson/one'])).value).toMatchObject({ status: 'served' });
      const said = await other.json(['lesson', 'lesson/three', 'No']);
      expect(said).toMatchObject({ code: 6, value: { error: { code: 'KEYS_REPLACED' } } });
      const key = join(made.folder, 'config/memd/operator_ed25519');
      expect(await other.run(['host', 'recover', '--key', key, '--yes'])).toMatchObject({ code: 0 });
      expect(await other.json(['lesson', 'lesson/three', 'Go on'])).toMatchObject({ code: 0, value: { seq: 3 } });
    },
  );

  test('an archive under a new name is made a host of the mesh by a signer', slow, async () => {
    const made = await world();
    const folder = await exported(made);
    const other = newWorld();
    const done = await other.json(['import', folder, '--host', 'delta']);
    const request = String(done.value['request']);
    expect(request).toMatch(/^memd-host:delta:/);
    // At once: no peer is asked, since none can change it.
    const refused = await other.json(['lesson', 'lesson/three', 'No']);
    expect(refused).toMatchObject({ code: 6, value: { error: { code: 'NOT_ENROLLED' } } });
    expect((await other.run(['doctor'])).stdout).toMatch(
      /^WRONG keys: .*delta\n.*fix: memctl import DIR prints the line/m,
    );
    const key = join(made.folder, 'config/memd/operator_ed25519');
    expect(await other.run(['host', 'add', request, '--key', key, '--yes'])).toMatchObject({ code: 0 });
    const said = await other.json(['--offline', 'lesson', 'lesson/three', 'Go on']);
    expect(said).toMatchObject({ code: 0, value: { host: 'delta', seq: 1 } });
  });

  test('I4: a backup adds what is missing to a home that has gone on, and takes nothing away', slow, async () => {
    const made = await world();
    const folder = await exported(made);
    await made.run(['lesson', 'lesson/three', 'Later']);
    const root = await rootOf(made);
    expect(await made.json(['import', folder])).toMatchObject({ code: 0, value: { new: 0, unchanged: 2, root } });
    const newer = await exported(made, 'newer');
    const other = newMachine(made);
    expect((await other.json(['import', folder])).code).toBe(0);
    expect(await other.json(['import', newer])).toMatchObject({ code: 0, value: { new: 1, unchanged: 2, root } });
  });

  test('a backup of another mesh is refused as a whole', slow, async () => {
    const made = await world();
    const folder = await exported(await world());
    const root = await rootOf(made);
    const refused = await made.json(['import', folder]);
    expect(refused).toMatchObject({ code: 6, value: { error: { code: 'BACKUP_FOREIGN' } } });
    // One that lies about its mesh is refused op by op and line by line.
    const manifest = join(folder, 'manifest.json');
    const { value } = await made.json(['status']);
    const text = readFileSync(manifest, 'utf8');
    const mesh = String((JSON.parse(text) as Json)['mesh']);
    writeFileSync(manifest, text.replaceAll(mesh, String(value['mesh'])));
    const lied = await made.json(['import', folder]);
    expect(lied).toMatchObject({ code: 1, value: { new: 0, root } });
    expect(JSON.stringify(lied.value['skipped'])).toContain('logs/alpha.jsonl line 1');
  });
});

describe('a backup that was changed', () => {
  const cases: readonly {
    readonly name: string;
    readonly change: (folder: string) => void;
    readonly kept: number;
    readonly told: RegExp;
  }[] = [
    {
      name: 'an edited line ends it there',
      change: (folder) => {
        const file = join(folder, 'logs/alpha.jsonl');
        writeFileSync(file, readFileSync(file, 'utf8').replace('Name the unit', 'Name no unit!'));
      },
      kept: 1,
      told: /line 2.*PREV|line 2.*SIGNATURE/,
    },
    {
      name: 'a torn last line is not taken, and not joined to anything',
      change: (folder) => {
        const file = join(folder, 'logs/alpha.jsonl');
        truncateSync(file, readFileSync(file).length - 20);
      },
      kept: 1,
      told: /line 2/,
    },
    {
      name: 'a missing last newline costs nothing',
      change: (folder) => {
        const file = join(folder, 'logs/alpha.jsonl');
        truncateSync(file, readFileSync(file).length - 1);
      },
      kept: 2,
      told: /not as it was exported/,
    },
    {
      name: 'lines that were cut off are told, since the manifest knows them',
      change: (folder) => {
        const file = join(folder, 'logs/alpha.jsonl');
        writeFileSync(file, `${linesOf(file)[0]}\n`);
      },
      kept: 1,
      told: /not as it was exported/,
    },
    {
      name: 'garbage behind the last line is named with its number',
      change: (folder) => appendFileSync(join(folder, 'logs/alpha.jsonl'), '\u0000{"a":\n'),
      kept: 2,
      told: /line 3/,
    },
    {
      name: 'a line without end is read no further than a line may be long',
      change: (folder) => appendFileSync(join(folder, 'logs/alpha.jsonl'), Buffer.alloc(8_000_000, 'x')),
      kept: 2,
      told: /line 3.*TOO_LONG/,
    },
    {
      name: 'a log of nobody, odd names and a missing manifest are told',
      change: (folder) => {
        cpSync(join(folder, 'logs/alpha.jsonl'), join(folder, 'logs/mallory.jsonl'));
        writeFileSync(join(folder, 'logs/..x.jsonl'), '');
        rmSync(join(folder, 'manifest.json'));
      },
      kept: 2,
      told: /no host of that name.*/,
    },
    {
      name: 'a log that is a symbolic link or a folder is not read',
      change: (folder) => {
        renameSync(join(folder, 'logs/alpha.jsonl'), join(folder, 'away'));
        mkdirSync(join(folder, 'logs/alpha.jsonl'));
      },
      kept: 0,
      told: /not a plain file/,
    },
  ];

  let made: World;
  let sound: string;

  // No import of any of them changes it.
  beforeAll(async () => {
    made = await world(mkdtempSync(join(realpathSync(tmpdir()), 'memd-test-')));
    sound = await exported(made);
  }, slow.timeout);

  afterAll(() => rmSync(made.folder, { recursive: true, force: true }));

  test.each(cases)('$name', slow, async ({ change, kept, told }) => {
    const folder = join(temporaryFolder(), 'backup');
    cpSync(sound, folder, { recursive: true });
    change(folder);
    const other = newMachine(made);
    const done = await other.json(['import', folder, '--kind', 'export']);
    expect({ code: done.code, new: done.value['new'] }).toEqual({ code: 1, new: kept });
    expect(JSON.stringify(done.value['skipped'])).toMatch(told);
    // And where everything is held already nothing is lost by it.
    const before = await rootOf(made);
    await made.json(['import', folder, '--kind', 'export']);
    expect(await rootOf(made)).toBe(before);
    expect((await made.json(['verify', '--deep'])).value).toMatchObject({ ok: true });
  });

  test('a trust set with an edited op: the rest counts, the op is named', slow, async () => {
    await made.run(['class', 'add', 'rack', '--description', 'racks', '--yes']);
    const folder = await exported(made, 'with-class');
    const file = join(folder, 'trust.jsonl');
    writeFileSync(file, readFileSync(file, 'utf8').replace('"racks"', '"RACKS"'));
    const other = newMachine(made);
    const done = await other.json(['import', folder]);
    expect(done).toMatchObject({ code: 1, value: { new: 2, trust: { new: 0, unchanged: 1 } } });
    expect(JSON.stringify(done.value['skipped'])).toMatch(/trust op/);
  });
});
