/**
 * `memctl doctor --repair`: every damage that a home can have, put right, and nothing lost that can be had anywhere.
 * Long because the kinds of damage share homes that are costly to make.
 */
import { spawn } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  renameSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { branchFile, emptyObjects, flipBit, gitIn, objectFile, packAll, removeCopies } from '../lib/damage.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';
import { createRandom } from '../lib/random.ts';

const bench = openBench();
/** A mesh of one: 121 events in a few files, and three more in commits of their own. */
let model: BenchHost;
let root: string;
let copies = 0;
const lines = 124;

interface Repaired {
  readonly ok: boolean;
  readonly checks: { name: string; ok: boolean; detail: string }[];
  readonly repaired: { what: string; detail: string }[];
  readonly left: { what: string; detail: string; fix: string }[];
  readonly aside: string | null;
}

beforeAll(async () => {
  model = await bench.lay('model');
  await model.json('init', '--host', 'alpha', '--listen', '127.0.0.1:0');
  const notes = Array.from({ length: 120 }, (_, n) => note(`note/n${n}`, `v${n}`));
  await model.append([...notes, note('note/n7', 'other')].map((event) => JSON.stringify(event)).join('\n'));
  for (const n of [1, 2, 3]) await model.json('lesson', `lesson/n${n}`, 'x');
  root = (await model.json<{ root: string }>('status')).root;
}, 60_000);

function note(subject: string, value: string): Record<string, string> {
  return { kind: 'assert', subject, value, home: 'file:a.md' };
}

async function copy(): Promise<BenchHost> {
  const host = await bench.lay(`copy-${(copies += 1)}`);
  cpSync(model.home, host.home, { recursive: true });
  return host;
}

const git = (host: BenchHost, ...args: string[]): string => gitIn(host.home, ...args);
const branch = (host: BenchHost, name = 'log/alpha'): string => branchFile(host.home, name);
const openFile = (host: BenchHost, name: string): string => objectFile(host.home, name);

async function repair(host: BenchHost, ...args: string[]): Promise<Repaired> {
  const { stdout } = await host.ctl('doctor', '--repair', ...args, '--json');
  return JSON.parse(stdout) as Repaired;
}

/** Nothing is lost: every line, the same root, sound for git and for verify, and an append goes on behind. */
async function requireSound(host: BenchHost, done: Repaired): Promise<void> {
  expect(done.left).toEqual([]);
  // A journal of which nothing is left is begun again by the next append; until then it is told.
  const lostJournal = done.repaired.some(({ detail }) => detail.includes('nothing of it is whole here'));
  const told = new Set(['operator key', ...(lostJournal ? ['view journals'] : [])]);
  const bad = done.checks.filter(({ ok, name }) => !ok && !told.has(name));
  expect(bad).toEqual([]);
  expect(await host.json('verify', '--deep')).toMatchObject({ ok: true, root, logs: { alpha: { lines } } });
  expect(git(host, 'fsck', '--strict', '--full', '--no-dangling')).toBe('');
  const again = await repair(host);
  expect([again.repaired, again.left, again.aside]).toEqual([[], [], null]);
  expect(await host.json('lesson', 'lesson/after', 'x')).toMatchObject({ seq: lines + 1 });
  if (lostJournal)
    expect((await repair(host)).checks).toContainEqual(expect.objectContaining({ name: 'view journals', ok: true }));
}

describe('one damage to the own home, without any peer', () => {
  const commit = (host: BenchHost): string => openFile(host, 'log/alpha');
  const damages: [string, (host: BenchHost) => void][] = [
    ['B1: the newest commit is empty', (host) => truncateSync(commit(host), 0)],
    [
      'B1: the newest commit is filled with NUL, an earlier one is empty',
      (host) => (truncateSync(openFile(host, 'log/alpha~2'), 0), writeFileSync(commit(host), Buffer.alloc(100))),
    ],
    [
      'a bit of the newest file is another, and a folder is gone',
      (host) => (flipBit(openFile(host, 'log/alpha:00/00/02.jsonl')), rmSync(openFile(host, 'log/alpha:00/00'))),
    ],
    ['every object file of the log is empty', (host) => emptyObjects(host.home, 'log/alpha')],
    ['every object file of the view journal is empty', (host) => emptyObjects(host.home, 'view/alpha')],
    ['B1: the branch is filled with NUL', (host) => writeFileSync(branch(host), Buffer.alloc(41))],
    ['the branch is gone', (host) => rmSync(branch(host))],
    ['the branch is set back', (host) => writeFileSync(branch(host), `${git(host, 'rev-parse', 'log/alpha~2')}\n`)],
    [
      'the branch is a folder, and the newest commit is empty',
      (host) => (
        truncateSync(commit(host), 0),
        rmSync(branch(host)),
        mkdirSync(join(branch(host), 'x'), { recursive: true })
      ),
    ],
    [
      'branch, newest commit and last-heads.json are empty',
      (host) => (
        truncateSync(commit(host), 0),
        writeFileSync(branch(host), ''),
        writeFileSync(join(host.home, 'last-heads.json'), '')
      ),
    ],
    [
      'the trust branch is empty, and so is its commit',
      (host) => (truncateSync(openFile(host, 'trust'), 0), writeFileSync(branch(host, 'trust'), '')),
    ],
    ['the root folder of the trust branch is gone', (host) => rmSync(openFile(host, 'trust:'))],
    ['the skeleton: HEAD, config, packed-refs, a foreign branch and a graft', skeleton],
    ['A9: what is derived: database, copies, views, purged.json, the lock file', derived],
    ['modes and links', modes],
    ['folders and links in the place of plain files', folders],
  ];

  function skeleton(host: BenchHost): void {
    const at = (name: string): string => join(host.repository, name);
    mkdirSync(at('info'), { recursive: true });
    writeFileSync(at('info/grafts'), `${git(host, 'rev-parse', 'log/alpha')}\n`);
    writeFileSync(at('HEAD'), '');
    writeFileSync(at('packed-refs'), 'nonsense');
    writeFileSync(branch(host, 'junk'), Buffer.alloc(41));
    rmSync(at('config'));
    mkdirSync(at('config'));
  }

  function derived(host: BenchHost): void {
    const at = (name: string): string => join(host.home, name);
    writeFileSync(at('state.sqlite'), 'text '.repeat(1_000));
    truncateSync(at('logs/alpha.jsonl'), 700);
    rmSync(at('views/operator/INDEX.md'));
    writeFileSync(at('purged.json'), '');
    writeFileSync(at('memd.lock'), 'no lock file '.repeat(1_000));
  }

  function modes(host: BenchHost): void {
    const at = (name: string): string => join(host.home, name);
    chmodSync(at('keys/host_ed25519'), 0o644);
    chmodSync(branch(host), 0);
    rmSync(branch(host, 'view/alpha'));
    symlinkSync('/etc/hostname', branch(host, 'view/alpha'));
    renameSync(at('logs'), at('elsewhere'));
    symlinkSync('elsewhere', at('logs'));
    rmSync(at('views/operator'), { recursive: true });
    symlinkSync(bench.folder(), at('views/operator'));
    rmSync(at('state.sqlite'));
    mkdirSync(at('state.sqlite'));
    chmodSync(host.home, 0o755);
  }

  function folders(host: BenchHost): void {
    for (const name of ['memd.lock', 'last-heads.json', 'journal.jsonl', 'views/operator/INDEX.md']) {
      rmSync(join(host.home, name));
      mkdirSync(join(host.home, name, 'x'), { recursive: true });
    }
    rmSync(join(host.home, 'views/operator/index.json'));
    symlinkSync('INDEX.md', join(host.home, 'views/operator/index.json'));
  }

  test.each(damages)('%s', { timeout: 60_000 }, async (_what, damage) => {
    const host = await copy();
    damage(host);
    const done = await repair(host);
    expect(done.repaired).not.toEqual([]);
    await requireSound(host, done);
  });
});

describe('packs', () => {
  const packs: [string, (pack: string) => void][] = [
    ['a bit of the pack is another', (pack) => flipBit(pack)],
    ['the index is empty', (pack) => truncateSync(pack.replace(/pack$/, 'idx'), 0)],
    [
      'the index is gone, and the pack is cut off',
      (pack) => (rmSync(pack.replace(/pack$/, 'idx')), truncateSync(pack, statSync(pack).size - 400)),
    ],
    ['the pack is empty', (pack) => truncateSync(pack, 0)],
  ];

  test.each(packs)(
    '%s: what is good in it is saved, and the copies give the rest',
    { timeout: 60_000 },
    async (_what, damage) => {
      const host = await copy();
      damage(packAll(host.home));
      const done = await repair(host);
      expect(done.repaired).toContainEqual(expect.objectContaining({ what: 'packs' }));
      // The trust set stands in no copy: with the whole pack gone it is gone, and a mesh of one has no peer.
      if (done.left.length > 0) {
        expect(done.left).toMatchObject([{ what: 'branch trust' }]);
        expect(await host.refused(1, ['lesson', 'lesson/x', 'x'])).toMatchObject({
          code: expect.stringMatching(/^OBJECT_|DAMAGED/) as unknown,
        });
      } else await requireSound(host, done);
    },
  );
});

describe('what may be lost', () => {
  test.each([
    ['its fine journal', 'repo.git/refs/heads/view/alpha'],
    ['its view journal', 'journal.jsonl'],
  ])(
    'shows in %s where an old branch and the last-heads.json of then are put back and the newer commits are gone',
    { timeout: 120_000 },
    async (_, gone) => {
      const host = await copy();
      removeCopies(host.home);
      const lastHeads = join(host.home, 'last-heads.json');
      const [then, oid] = [readFileSync(lastHeads), git(host, 'rev-parse', 'log/alpha')];
      const before = new Set(git(host, 'rev-list', '--objects', '--all').split('\n'));
      await host.json('lesson', 'lesson/y', 'y');
      const newer = git(host, 'rev-list', '--objects', 'log/alpha', `^${oid}`).split('\n');
      writeFileSync(lastHeads, then);
      writeFileSync(branch(host), `${oid}\n`);
      rmSync(join(host.home, gone), { force: true });
      rmSync(join(host.home, 'state.sqlite'));
      removeCopies(host.home);
      for (const object of newer.filter((one) => !before.has(one)).map((one) => one.slice(0, 40)))
        rmSync(join(host.home, 'repo.git/objects', object.slice(0, 2), object.slice(2)), { force: true });
      for (const _ of [1, 2]) expect((await repair(host)).left).toMatchObject([{ what: 'lines' }]);
      expect(await host.refused(1, ['lesson', 'lesson/x', 'x'])).toMatchObject({ code: 'BRANCH_REWOUND' });
      // A person's word counts for good, whatever the journals go on saying.
      expect((await repair(host, '--accept-loss')).left).toEqual([]);
      for (const n of [1, 2]) await host.json('lesson', `lesson/z${n}`, 'z');
      expect(await host.json('verify', '--deep')).toMatchObject({ ok: true });
      expect((await repair(host)).left).toEqual([]);
    },
  );

  test('is not given up by itself: no line takes its number before a person says so', { timeout: 60_000 }, async () => {
    const host = await copy();
    removeCopies(host.home);
    truncateSync(openFile(host, 'log/alpha:00/00/02.jsonl'), 0);
    const done = await repair(host);
    expect(done.left).toMatchObject([{ what: 'lines', fix: expect.stringContaining('--accept-loss') as unknown }]);
    expect(await host.refused(1, ['lesson', 'lesson/x', 'x'])).toMatchObject({ code: 'BRANCH_REWOUND' });
    expect(await host.json('recall', 'note/n0')).toMatchObject({ status: 'served' });
    const given = await repair(host, '--accept-loss');
    expect(given.left).toEqual([]);
    const { seq } = await host.json<{ seq: number }>('lesson', 'lesson/x', 'x');
    expect(seq).toBeLessThan(lines);
    expect(await host.json('verify', '--deep')).toMatchObject({ ok: true, logs: { alpha: { lines: seq } } });
  });

  test('stops writes also where last-heads.json is lost with it', { timeout: 60_000 }, async () => {
    const host = await copy();
    removeCopies(host.home);
    rmSync(join(host.home, 'last-heads.json'));
    truncateSync(openFile(host, 'log/alpha'), 0);
    writeFileSync(branch(host), '');
    expect((await repair(host)).left).toMatchObject([{ what: 'lines' }]);
    expect(await host.refused(1, ['lesson', 'lesson/x', 'x'])).toMatchObject({ code: 'BRANCH_REWOUND' });
  });

  test('stops writes where the commit that the branch names is gone, and everything that told of it', async () => {
    const host = await copy();
    removeCopies(host.home);
    rmSync(openFile(host, 'log/alpha'));
    for (const name of ['last-heads.json', 'journal.jsonl', 'repo.git/refs/heads/view/alpha'])
      rmSync(join(host.home, name));
    // Twice: what the first run wrote must not read like all there ever was.
    for (const _ of [1, 2]) expect((await repair(host)).left).toMatchObject([{ what: 'lines' }]);
    expect(await host.refused(1, ['lesson', 'lesson/x', 'x'])).toMatchObject({ code: 'BRANCH_REWOUND' });
  }, 60_000);

  test.each([
    ['its journal', ['last-heads.json', 'repo.git/refs/heads/view/alpha']],
    ['its view journal', ['last-heads.json', 'journal.jsonl']],
  ])(
    'shows in %s where an old branch is put back and last-heads.json is lost',
    { timeout: 60_000 },
    async (_, gone) => {
      const host = await copy();
      for (const name of gone) rmSync(join(host.home, name));
      writeFileSync(branch(host), `${git(host, 'rev-parse', 'log/alpha~2')}\n`);
      rmSync(join(host.home, 'state.sqlite'));
      const heads = async (): Promise<unknown> => {
        const { stdout } = await host.ctl('doctor', '--json');
        return (JSON.parse(stdout) as Repaired).checks.find(({ name }) => name === 'last heads');
      };
      expect(await heads()).toMatchObject({ ok: false });
      // Twice: who looks first must not write down that this is all there is.
      for (const n of [1, 2])
        expect(await host.refused(1, ['lesson', `lesson/x${n}`, 'x'])).toMatchObject({ code: 'BRANCH_REWOUND' });
      await requireSound(host, await repair(host));
    },
  );
});

describe('the home', () => {
  test('is repaired by whoever holds it alone: not beside a memd', { timeout: 60_000 }, async () => {
    const host = await copy();
    await host.start();
    truncateSync(openFile(host, 'log/alpha~2'), 0);
    const refused = await host.refused(1, ['doctor', '--repair']);
    expect(refused).toMatchObject({ code: 'HOME_LOCKED', hint: expect.stringContaining('stop memd') as unknown });
    await host.stop();
    await requireSound(host, await repair(host));
  });

  test(
    'keeps a folder that lies elsewhere, behind a link, and says how to put it back',
    { timeout: 60_000 },
    async () => {
      const host = await copy();
      const [folder, elsewhere] = [join(host.repository, 'objects'), `${host.home}-objects`];
      renameSync(folder, elsewhere);
      symlinkSync(elsewhere, folder);
      mkdirSync(`${host.home}-info`);
      writeFileSync(join(`${host.home}-info`, 'grafts'), 'x');
      rmSync(join(host.repository, 'info'), { recursive: true, force: true });
      symlinkSync(`${host.home}-info`, join(host.repository, 'info'));
      expect((await repair(host)).left).toMatchObject([
        { what: 'repository', fix: expect.stringContaining(`mv '${elsewhere}' '${folder}'`) as unknown },
      ]);
      expect(await host.json('recall', 'note/n0')).toMatchObject({ status: 'served' });
      rmSync(folder);
      renameSync(elsewhere, folder);
      await requireSound(host, await repair(host));
      expect(existsSync(join(`${host.home}-info`, 'grafts'))).toBe(true);
    },
  );

  test('is not repaired beside a memd whose lock file is gone', { timeout: 60_000 }, async () => {
    const host = await copy();
    await host.start();
    rmSync(join(host.home, 'memd.lock'));
    expect(await host.refused(1, ['doctor', '--repair'])).toMatchObject({ code: 'HOME_LOCKED' });
    await host.stop();
  });

  test(
    'B3, B7: a lock of git that somebody has open stays, and is told; one that nobody has goes',
    { timeout: 60_000 },
    async () => {
      const host = await copy();
      const [held, stale] = [`${branch(host)}.lock`, join(host.repository, 'objects/maintenance.lock')];
      for (const file of [held, stale]) writeFileSync(file, '');
      const owner = spawn(
        process.execPath,
        ['-e', 'require("fs").openSync(process.argv[1], "r"); console.log(1); setInterval(() => {}, 1000)', held],
        {
          stdio: ['ignore', 'pipe', 'ignore'],
        },
      );
      try {
        await new Promise((resolve) => owner.stdout.once('data', resolve));
        const done = await repair(host);
        expect(done.repaired).toContainEqual(
          expect.objectContaining({
            what: 'what a crash left',
            detail: expect.stringContaining('maintenance.lock') as unknown,
          }),
        );
        expect([existsSync(held), existsSync(stale)]).toEqual([true, false]);
        expect(await host.refused(1, ['lesson', 'lesson/x', 'x'])).toMatchObject({ code: 'REF_LOCKED' });
      } finally {
        owner.kill();
        await new Promise((resolve) => owner.once('exit', resolve));
      }
      expect((await host.ctl('lesson', 'lesson/x', 'x')).code).toBe(0);
      expect(existsSync(held)).toBe(false);
    },
  );

  test('a repair that is killed is run once more', { timeout: 120_000 }, async () => {
    const host = await copy();
    truncateSync(openFile(host, 'trust'), 0);
    emptyObjects(host.home, 'log/alpha');
    writeFileSync(branch(host), '');
    writeFileSync(join(host.repository, 'HEAD'), '');
    const random = createRandom(20_261_130);
    for (let round = 0; round < 8; round += 1) {
      const words = [join(import.meta.dirname, '../../bin/memctl'), '--home', host.home, 'doctor', '--repair'];
      const child = spawn(process.execPath, words, { stdio: 'ignore' });
      const timer = setTimeout(() => child.kill('SIGKILL'), 250 + random.below(1_500));
      await new Promise((resolve) => child.once('exit', resolve));
      clearTimeout(timer);
    }
    const done = await repair(host);
    expect(done.left).toEqual([]);
    await requireSound(host, done);
  });
});
