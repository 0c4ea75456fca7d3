/**
 * A home on a disk that lies: whatever is damaged is named, what is derived comes back by itself, and nothing is guessed.
 * Long because the kinds of damage share two homes that are costly to make.
 */
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, test } from 'vitest';
import { processesMentioning } from '../../drills/lib/process.ts';
import { schemaVersion } from '../../src/store/database/database-rows.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';
import { createRandom } from '../lib/random.ts';

const bench = openBench();
/** A home with 120 notes and a park; every test works on a copy. */
let model: BenchHost;
let copies = 0;

beforeAll(async () => {
  model = await bench.lay('model');
  await model.json('init', '--host', 'alpha', '--listen', '127.0.0.1:0');
  const notes = Array.from({ length: 120 }, (_, n) => note(`note/n${n}`, `v${n}`));
  const input = [...notes, note('note/n7', 'other')].map((event) => JSON.stringify(event)).join('\n');
  await model.append(input);
});

function note(subject: string, value: string): Record<string, string> {
  return { kind: 'assert', subject, value, home: 'file:a.md' };
}

/** A copy of the model home, with nothing running. */
async function copy(): Promise<BenchHost> {
  const host = await bench.lay(`copy-${(copies += 1)}`);
  cpSync(model.home, host.home, { recursive: true });
  return host;
}

const branch = (host: BenchHost): string => join(host.repository, 'refs', 'heads', 'log', 'alpha');
const objectFile = (host: BenchHost, oid: string): string =>
  join(host.repository, 'objects', oid.slice(0, 2), oid.slice(2));
const headOf = (host: BenchHost): string => readFileSync(branch(host), 'utf8').trim();
const indexFile = (host: BenchHost): string => join(host.home, 'views', 'operator', 'INDEX.md');

interface Status {
  readonly line: string;
  readonly heads: Record<string, { seq: number }>;
  readonly alarms: { kind: string; detail: string }[];
  readonly warnings: string[];
}

async function requireWritesBlocked(host: BenchHost, code: string, says: RegExp): Promise<void> {
  const before = existsSync(branch(host)) ? readFileSync(branch(host), 'latin1') : undefined;
  expect(await host.refused(1, ['lesson', 'lesson/x', 'x'])).toMatchObject({
    code,
    message: expect.stringMatching(says),
  });
  expect(existsSync(branch(host)) ? readFileSync(branch(host), 'latin1') : undefined).toBe(before);
}

describe('the repository', () => {
  test('B1: the branch of the own log is empty, NUL-filled or gone: named, no write, no silent genesis', async () => {
    const host = await copy();
    for (const content of ['', '\0'.repeat(41), 'ref: refs/heads/log/beta\n']) {
      writeFileSync(branch(host), content);
      await requireWritesBlocked(host, 'OWN_LOG_DAMAGED', /refs\/heads\/log\/alpha (is empty|is filled|does not hold)/);
      const { line, alarms } = await host.json<Status>('status');
      expect(line).toMatch(/^memd: NOT RUNNING.* alarms$/);
      expect(alarms.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['BRANCH_REWOUND', 'LOG_CUT']));
      expect((await host.ctl('verify')).code).toBe(1);
    }
    rmSync(branch(host));
    await requireWritesBlocked(host, 'BRANCH_REWOUND', /log alpha: the branch is gone; it was last seen at line 121/);
    // A second look, when the database was made from what is left, says the same.
    expect((await host.json<Status>('status')).alarms).toMatchObject([{ kind: 'BRANCH_REWOUND' }]);
    expect(readFileSync(join(host.home, 'logs', 'alpha.jsonl'), 'utf8').split('\n')).toHaveLength(122);
  });

  test('B1: the commit at the head of the own log is truncated: named with its file, no write', async () => {
    const host = await copy();
    truncateSync(chmod(objectFile(host, headOf(host))), 0);
    await requireWritesBlocked(host, 'OWN_LOG_DAMAGED', /alpha.*is empty/);
    const { stdout } = await host.ctl('verify', '--deep');
    expect(stdout).toContain(headOf(host));
    expect(stdout).toMatch(/PROBLEM log alpha line 1: OBJECT_DAMAGED/);
  });

  test('B1: a segment in the middle of the own log is cut short: what stands before it is still served', async () => {
    const host = await copy();
    const blobs = execFileSync('git', ['--git-dir', host.repository, 'ls-tree', '-r', 'log/alpha'], {
      encoding: 'utf8',
    });
    const second = blobs.trim().split('\n')[1]?.split(/\s/)[2] ?? '';
    const file = chmod(objectFile(host, second));
    truncateSync(file, statSync(file).size - 20);
    await requireWritesBlocked(host, 'OWN_LOG_DAMAGED', /does not decompress|damaged/);
    expect(await host.json('recall', 'note/n0')).toMatchObject({ status: 'served' });
    // What is not there because of the damage does not read like what was never said.
    const gone = await host.ctl('recall', 'note/n119');
    expect(gone.code).toBe(7);
    expect(gone.stdout).toMatch(/^NOT FOUND: .*\n {2}NOT WHOLE HERE: log alpha is cut at line \d+ \(OBJECT_DAMAGED\)/);
    expect(await host.json('recall', 'note/n0')).toMatchObject({
      incomplete: [expect.stringContaining('log alpha is cut')],
    });
  });

  test('B1: the trust branch is empty, or gone: nothing is started and nothing is written', async () => {
    const host = await copy();
    const trust = join(host.repository, 'refs', 'heads', 'trust');
    const sound = readFileSync(trust);
    writeFileSync(trust, '');
    expect(await host.refused(1, ['lesson', 'lesson/x', 'x'])).toMatchObject({ code: 'REF_DAMAGED' });
    expect((await host.ctl('status')).stdout).toMatch(/^memd: CANNOT TELL, .*refs\/heads\/trust is empty/);
    rmSync(trust);
    rmSync(join(host.home, 'last-heads.json'));
    expect(await host.refused(1, ['lesson', 'lesson/x', 'x'])).toMatchObject({ code: 'BRANCH_DAMAGED' });
    await expect(host.start()).rejects.toThrow(/branch trust does not hold the genesis/);
    writeFileSync(trust, sound);
    expect((await host.ctl('lesson', 'lesson/x', 'x')).code).toBe(0);
  });

  test('B3, B7: locks that a crash left behind are no obstacle, and a lock of a living process is not taken away', async () => {
    const host = await copy();
    const stale = [
      'index.lock',
      'HEAD.lock',
      'packed-refs.lock',
      'objects/maintenance.lock',
      'refs/heads/log/alpha.lock',
    ];
    for (const lock of stale) writeFileSync(join(host.repository, lock), '');
    expect((await host.ctl('lesson', 'lesson/one', 'x')).code).toBe(0);
    expect(stale.filter((lock) => existsSync(join(host.repository, lock)))).toEqual(['index.lock']);

    await host.start();
    const held = `${branch(host)}.lock`;
    writeFileSync(held, `${'0'.repeat(40)}\n`);
    expect(await host.refused(1, ['lesson', 'lesson/two', 'x'])).toMatchObject({
      code: 'REF_LOCKED',
      message: expect.stringContaining('alpha.lock exists'),
    });
    expect(existsSync(held)).toBe(true);
    rmSync(held);
    expect((await host.ctl('lesson', 'lesson/two', 'x')).code).toBe(0);
    expect(await host.json('verify', '--deep')).toMatchObject({ ok: true, logs: { alpha: { lines: 123 } } });
  });

  test('B7: git never maintains the repository by itself, and a foreign configuration is put back', async () => {
    const host = await copy();
    const config = join(host.repository, 'config');
    writeFileSync(config, '[core]\n\tbare = true\n\thooksPath = /tmp\n\tautocrlf = true\n[gc]\n\tauto = 1\n');
    expect((await host.ctl('lesson', 'lesson/one', 'x')).code).toBe(0);
    const read = (key: string): string =>
      execFileSync('git', ['config', '--file', config, key], { encoding: 'utf8' }).trim();
    expect([read('gc.auto'), read('maintenance.auto'), read('core.hooksPath')]).toEqual(['0', 'false', '/dev/null']);
    expect([read('core.fsync'), read('core.fsyncMethod')]).toEqual(['all', 'fsync']);
    expect(readFileSync(config, 'utf8')).not.toContain('autocrlf');
  });

  test('a branch that another program moved while memd runs gets no line of ours', async () => {
    const host = await copy();
    await host.start();
    expect((await host.ctl('lesson', 'lesson/one', 'x')).code).toBe(0);
    const parent = execFileSync('git', ['--git-dir', host.repository, 'rev-parse', 'log/alpha~1'], {
      encoding: 'utf8',
    });
    writeFileSync(branch(host), parent);
    expect(await host.refused(1, ['lesson', 'lesson/two', 'x'])).toMatchObject({ code: 'REF_CHANGED' });
    expect(await host.refused(1, ['lesson', 'lesson/two', 'x'])).toMatchObject({ code: 'REF_CHANGED' });
    expect(readFileSync(branch(host), 'utf8')).toBe(parent);
    expect((await host.ctl('verify')).code).toBe(1);
    rmSync(branch(host));
    expect((await host.ctl('verify')).stdout).toContain('PROBLEM log alpha: its branch is gone, and it was read here');
  });
});

/** Objects are read-only files. */
function chmod(file: string): string {
  chmodSync(file, 0o600);
  return file;
}

describe('the plain copies', () => {
  test('A4: a copy without its final newline is written anew, nothing is glued to its last line', async () => {
    const host = await copy();
    const file = join(host.home, 'logs', 'alpha.jsonl');
    truncateSync(file, statSync(file).size - 1);
    expect(await host.refusedVerify()).toEqual([expect.stringMatching(/logs\/alpha\.jsonl: log alpha, line 121/)]);
    expect((await host.ctl('lesson', 'lesson/one', 'x')).code).toBe(0);
    const lines = readFileSync(file, 'utf8').split('\n');
    expect(lines).toHaveLength(123);
    for (const line of lines.slice(0, -1)) expect(JSON.parse(line)).toMatchObject({ log: 'alpha' });
    expect(await host.json('verify', '--deep')).toMatchObject({ ok: true });
  });
});

describe('the views', () => {
  test('A6: a hand edit of the index is found, kept beside, and told until somebody has dealt with it', async () => {
    const host = await copy();
    await host.start();
    await host.ctl('index');
    expect(readFileSync(indexFile(host), 'utf8')).toMatch(/^Generated by memd .* Do not edit/m);
    appendFileSync(indexFile(host), '- my own row\n');
    expect((await host.json<Status>('status')).warnings).toEqual(
      expect.arrayContaining([expect.stringMatching(/INDEX\.md was edited by hand/)]),
    );
    expect(await host.refusedVerify()).toEqual([expect.stringMatching(/views\/operator\/INDEX\.md: .*edited/)]);
    expect((await host.ctl('index')).stdout).not.toContain('my own row');
    const [kept] = readdirSync(join(host.home, 'views', 'operator')).filter((name) => name.includes('.edited-'));
    expect(readFileSync(join(host.home, 'views', 'operator', kept ?? ''), 'utf8')).toMatch(/- my own row\n$/);
    expect((await host.json<Status>('status')).warnings).toEqual(
      expect.arrayContaining([expect.stringContaining(`operator/${kept}`)]),
    );
    rmSync(join(host.home, 'views', 'operator', kept ?? ''));
    expect((await host.json<Status>('status')).warnings.join()).not.toContain('hand');
  });

  test('A6: an edit is found too when the next change writes the index again', async () => {
    const host = await copy();
    writeFileSync(indexFile(host), 'all mine\n');
    expect((await host.ctl('lesson', 'lesson/one', 'x')).code).toBe(0);
    expect(readFileSync(indexFile(host), 'utf8')).toContain('lesson/one');
    expect((await host.json<Status>('status')).warnings.join()).toMatch(/INDEX\.md\.edited-[0-9a-f]{8}/);
  });

  test('everything derived may be deleted, under a running memd too, and comes back byte for byte', async () => {
    const host = await copy();
    const before = readFileSync(indexFile(host), 'utf8');
    await host.start();
    rmSync(join(host.home, 'views'), { recursive: true });
    rmSync(join(host.home, 'logs'), { recursive: true });
    expect((await host.ctl('index')).stdout).toBe(before);
    expect(await host.json('verify', '--deep')).toMatchObject({ ok: true });
    await host.stop();
    for (const name of ['views', 'logs', 'state.sqlite', 'last-heads.json'])
      rmSync(join(host.home, name), { recursive: true });
    await host.json('rebuild');
    expect(readFileSync(indexFile(host), 'utf8')).toBe(before);
    expect(await host.json('verify', '--deep')).toMatchObject({ ok: true });
  });

  test('a folder of views that is a link is not written through; what is believed can still be asked', async () => {
    const host = await copy();
    const elsewhere = join(bench.folder(), 'elsewhere');
    mkdirSync(elsewhere);
    rmSync(join(host.home, 'views', 'operator'), { recursive: true });
    symlinkSync(elsewhere, join(host.home, 'views', 'operator'));
    expect((await host.ctl('lesson', 'lesson/one', 'x')).code).toBe(0);
    expect(await host.json('recall', 'lesson/one')).toMatchObject({ status: 'served' });
    expect(await host.refused(1, ['index'])).toMatchObject({ code: 'FILE_UNSAFE' });
    expect(readdirSync(elsewhere)).toEqual([]);
    rmSync(join(host.home, 'views', 'operator'));
    expect((await host.ctl('index')).stdout).toContain('lesson/one');
  });
});

describe('the database', () => {
  const database = (host: BenchHost): string => join(host.home, 'state.sqlite');

  test('A9: one flipped bit anywhere in it is never served: the answer is right, after one rebuild by itself', async () => {
    const host = await copy();
    await host.start();
    const api = await host.api();
    const { root } = (await api.call('status', {})).result as { root: string };
    const ask = async (): Promise<unknown[]> => {
      const subjects = ['note/n0', 'note/n7', 'note/n60', 'note/n119', 'note/none'];
      const answers = [];
      for (const subject of subjects) answers.push((await api.call('recall', { subject })).result);
      return [
        ...answers,
        (await api.call('parks', {})).result,
        (await api.call('log', { of: 'alpha', limit: 200 })).result,
      ];
    };
    const right = JSON.stringify(await ask(), ageless);
    await host.stop();
    const sound = readFileSync(database(host));
    const random = createRandom(20_261_130);
    for (let round = 0; round < 5; round += 1) {
      const damaged = Buffer.from(sound);
      // Every page gets one: a page holds rows, keys of an index or its own structure.
      for (let page = 1; page * 4_096 < damaged.length; page += 1) {
        const at = page * 4_096 + random.below(4_096);
        damaged[at] = (damaged[at] ?? 0) ^ (1 << random.below(8));
      }
      writeFileSync(database(host), damaged);
      await host.start();
      const again = await host.api();
      api.call = (method, params) => again.call(method, params);
      expect(JSON.stringify(await ask(), ageless)).toBe(right);
      expect((await again.call('status', {})).result).toMatchObject({ root });
      expect((await again.call('verify', { deep: true })).result).toMatchObject({ ok: true });
      await host.stop();
    }
  }, 60_000);

  test('A9: a flood of readers of a damaged database makes it again once', async () => {
    const host = await copy();
    const raw = new Database(database(host));
    raw.exec("UPDATE records SET status = 'none'");
    raw.close();
    const memd = await host.start();
    const api = await host.api();
    const answers = await Promise.all(
      Array.from({ length: 300 }, (_, n) => api.call('recall', { subject: `note/n${n % 120}` })),
    );
    expect(answers.every(({ error }) => error === undefined)).toBe(true);
    expect(readdirSync(host.home).filter((name) => name.startsWith('state.sqlite.damaged'))).toHaveLength(1);
    expect(memd.said().match(/the database is damaged: it is made again/g)).toHaveLength(1);
  });

  test('A9: SIGKILL in the middle of a rebuild of 50 MB leaves nothing that the next start cannot use, and no second writer', async () => {
    const host = await copy();
    const content = 'x'.repeat(3_900);
    const large = Array.from({ length: 9_000 }, (_, n) =>
      JSON.stringify({ kind: 'lesson', subject: `lesson/large-${n}`, content: `${n} ${content}` }),
    );
    await host.append(large.join('\n'));
    expect(statSync(database(host)).size).toBeGreaterThan(50_000_000);
    // At the request, at the first word about it, and at the second.
    for (const words of [0, 1, 2]) {
      const memd = await host.start();
      await new Promise<void>((resolve) => {
        let heard = 0;
        const socket = connect(join(host.home, 'memd.sock'), () => {
          socket.write('{"id":1,"method":"rebuild"}\n', () => {
            if (words === 0) resolve();
          });
        });
        socket.on('data', (chunk) => {
          heard += chunk.toString().split('\n').length - 1;
          if (heard >= words) resolve();
        });
        socket.on('error', () => undefined);
      });
      memd.kill(true);
      await memd.ended;
    }
    await expect.poll(() => processesMentioning(host.home)).toEqual([]);
    expect(await host.json('recall', 'note/n5')).toMatchObject({ status: 'served' });
    expect(await host.json('verify', '--deep')).toMatchObject({ ok: true, logs: { alpha: { lines: 9_121 } } });
    // What the kills left is gone, not kept beside the one that was made again.
    expect(readdirSync(host.home).filter((name) => /^state\.sqlite.+/.test(name))).toEqual([]);
  }, 90_000);

  test.each([
    ['older', schemaVersion - 1],
    ['newer', schemaVersion + 40],
  ])(
    'G7: a database whose schema is %s and the right watermark is thrown away before anything of it is read',
    async (_, version) => {
      const host = await copy();
      const raw = new Database(database(host));
      raw.exec("UPDATE events SET body = '{}'");
      raw.pragma(`user_version = ${version}`);
      raw.close();
      expect(await host.json('recall', 'note/n5')).toMatchObject({ status: 'served', claim: { value: 'v5' } });
      expect(await host.json('verify', '--deep')).toMatchObject({ ok: true });
    },
  );

  test('text, nothing, or a folder in its place', async () => {
    const host = await copy();
    for (const content of ['', 'not a database '.repeat(1_000)]) {
      writeFileSync(database(host), content);
      expect(await host.json('recall', 'note/n5')).toMatchObject({ status: 'served' });
    }
    rmSync(database(host));
    mkdirSync(database(host));
    expect(await host.refused(1, ['recall', 'note/n5'])).toMatchObject({
      message: expect.stringContaining('state.sqlite'),
    });
  });
});

/** Leaves out what changes with the clock. */
function ageless(key: string, value: unknown): unknown {
  return key === 'age' ? undefined : value;
}

describe('who this host is', () => {
  test('an empty or damaged identity file is named, and the keys beside it are not made anew', async () => {
    const host = await copy();
    const keys = join(host.home, 'keys');
    const key = readFileSync(join(keys, 'host_ed25519'), 'utf8');
    writeFileSync(join(keys, 'identity.json'), '');
    expect(await host.refused(1, ['status'])).toMatchObject({ code: 'KEY_DAMAGED' });
    expect(await host.refused(1, ['init', '--host', 'alpha'])).toMatchObject({ code: 'MESH_EXISTS' });
    expect(readFileSync(join(keys, 'host_ed25519'), 'utf8')).toBe(key);
  });

  test('a key that is gone, open to others or cut short is named, never replaced', async () => {
    const host = await copy();
    const key = join(host.home, 'keys', 'host_ed25519');
    const text = readFileSync(key, 'utf8');
    chmodSync(key, 0o644);
    expect(await host.refused(1, ['lesson', 'lesson/x', 'x'])).toMatchObject({ code: 'KEY_UNSAFE' });
    writeFileSync(key, text.slice(0, 100));
    chmodSync(key, 0o600);
    const damaged = await host.refused(1, ['lesson', 'lesson/x', 'x']);
    expect(damaged.code).toBe('KEY_DAMAGED');
    expect(JSON.stringify(damaged)).not.toContain(text.slice(40, 80));
    rmSync(key);
    expect(await host.refused(1, ['lesson', 'lesson/x', 'x'])).toMatchObject({ code: 'KEY_MISSING' });
    expect(existsSync(key)).toBe(false);
  });
});
