/**
 * `memctl doctor --repair`: every damage that a home can have, put right, and nothing lost that can be had anywhere.
 * Long because the kinds of damage share homes that are costly to make.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

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

const git = (host: BenchHost, ...args: string[]): string =>
  execFileSync('git', ['--git-dir', host.repository, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
const fileOf = (host: BenchHost, oid: string): string =>
  join(host.repository, 'objects', oid.slice(0, 2), oid.slice(2));
const branch = (host: BenchHost, name = 'log/alpha'): string => join(host.repository, 'refs/heads', name);

/** The file of an object, writable. */
function openFile(host: BenchHost, name: string): string {
  const file = fileOf(host, git(host, 'rev-parse', name));
  chmodSync(file, 0o600);
  return file;
}

function flip(file: string, at = Math.floor(statSync(file).size / 2)): void {
  chmodSync(file, 0o600);
  const bytes = readFileSync(file);
  bytes[at] = (bytes[at] ?? 0) ^ 0x10;
  writeFileSync(file, bytes);
}

async function repair(host: BenchHost, ...args: string[]): Promise<Repaired> {
  const { stdout } = await host.ctl('doctor', '--repair', ...args, '--json');
  return JSON.parse(stdout) as Repaired;
}

/** Nothing is lost: every line, the same root, sound for git and for verify, and an append goes on behind. */
async function requireSound(host: BenchHost, done: Repaired): Promise<void> {
  expect(done.left).toEqual([]);
  const bad = done.checks.filter(({ ok, name }) => !ok && name !== 'operator key');
  expect(bad).toEqual([]);
  expect(await host.json('verify', '--deep')).toMatchObject({ ok: true, root, logs: { alpha: { lines } } });
  expect(git(host, 'fsck', '--strict', '--full', '--no-dangling')).toBe('');
  const again = await repair(host);
  expect([again.repaired, again.left, again.aside]).toEqual([[], [], null]);
  expect(await host.json('lesson', 'lesson/after', 'x')).toMatchObject({ seq: lines + 1 });
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
      (host) => (flip(openFile(host, 'log/alpha:00/00/02.jsonl')), rmSync(openFile(host, 'log/alpha:00/00'))),
    ],
    ['every object file of the log is empty', (host) => emptyAll(host, 'log/alpha')],
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

  function emptyAll(host: BenchHost, name: string): void {
    for (const line of git(host, 'rev-list', '--objects', name).split('\n')) {
      const file = fileOf(host, line.slice(0, 40));
      chmodSync(file, 0o600);
      truncateSync(file, 0);
    }
  }

  test.each(damages)('%s', { timeout: 60_000 }, async (_what, damage) => {
    const host = await copy();
    damage(host);
    const done = await repair(host);
    expect(done.repaired).not.toEqual([]);
    await requireSound(host, done);
  });
});
