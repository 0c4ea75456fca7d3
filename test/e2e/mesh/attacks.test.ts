/** What a hostile peer serves. Long because every attack is told against the same two nodes and the same honest log. */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, describe, test } from 'vitest';
import type { Line } from '../../../src/core/line.ts';
import type { MeshAlarm } from '../../../src/mesh/node.ts';
import { forceBranch, git, logFolders, segmentsOf, writeCommit, writeLog, writeTree, type Folder } from './hostile.ts';
import { introduce, makeLines, meshId, meshOps, startNode, type TestNode } from './node.ts';

const start = { seq: 0, link: meshId };
const text = (lines: readonly Line[]): string[] => lines.map((line) => line.text);

interface Pair {
  readonly alpha: TestNode;
  readonly beta: TestNode;
  /** Lines 1 to 3 of alpha, which beta holds already. */
  readonly held: Line[];
}

/** alpha with three lines; beta holds them. */
async function startPair(): Promise<Pair> {
  const [alpha, beta] = [await startNode('alpha'), await startNode('beta')];
  introduce(alpha, beta);
  await alpha.append('one', 'two', 'three');
  expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'up', newEvents: 3 });
  return { alpha, beta, held: makeLines('alpha', start, ['one', 'two', 'three']) };
}

/** alpha now serves and announces this commit as its log. */
function announce(alpha: TestNode, oid: string, last: { seq: number; link: string }, log = 'alpha'): void {
  forceBranch(alpha.repository, log, oid);
  alpha.tips.set(log, { oid, seq: last.seq, link: last.link });
}

const last = <T>(list: readonly T[]): T => list.at(-1) as T;

/** beta refuses, keeps what it had, and left nothing behind. Gives the alarm. */
async function expectRefused({ beta }: Pair, held = 3): Promise<MeshAlarm> {
  const [outcome] = await beta.cycle('alpha');
  expect(outcome).toMatchObject({ state: 'refused', newEvents: 0 });
  expect(beta.tips.get('alpha')?.seq ?? 0).toBe(held);
  expect(readdirSync(join(beta.repository.gitDir, 'quarantine'))).toEqual([]);
  git(beta.repository, 'fsck', '--strict', '--no-dangling');
  expect(outcome?.alarms).toHaveLength(1);
  return outcome?.alarms[0] as MeshAlarm;
}

describe('a log that is no extension of ours', () => {
  test('a rewrite that the host signed is a fork: first line named', async () => {
    const pair = await startPair();
    const { alpha, beta } = pair;
    const other = makeLines('alpha', start, ['one', 'TWO', 'three', 'four']);
    announce(alpha, await writeLog(alpha.repository, text(other)), last(other));
    const alarm = await expectRefused(pair);
    expect(alarm).toMatchObject({ code: 'NOT_EXTENSION', peer: 'alpha', log: 'alpha', seq: 2, forked: true });
    await expect.poll(() => beta.charter().hosts.get('alpha')).toMatchObject({ status: 'forked', fork: 2, end: 1 });
    // The proof goes the way of every trust op.
    await expect.poll(() => alpha.cycle('beta').then(() => alpha.mesh.trust())).toEqual(beta.mesh.trust());
    expect(alpha.charter().hosts.get('alpha')).toMatchObject({ status: 'forked', fork: 2, end: 1 });
    await alpha.server.close();
    expect((await beta.cycle('alpha'))[0]).toMatchObject({
      state: 'down',
      reason: { code: 'UNREACHABLE' },
      alarms: [],
    });
  });

  test('the refused commit is remembered and reported without fetching it again; a good one clears it', async () => {
    const pair = await startPair();
    const { alpha, beta, held } = pair;
    const good = alpha.tips.get('alpha');
    const other = makeLines('alpha', start, ['one', 'TWO']);
    const fork = await writeLog(alpha.repository, text(other), good?.oid ?? '');
    announce(alpha, fork, { seq: 4, link: '1'.repeat(64) });
    await expectRefused(pair);
    // The proof of this fork is a new trust set, under which it is looked at once more.
    await expectRefused(pair);
    // The same answer although the commit is not there to be fetched any more.
    git(alpha.repository, 'update-ref', '-d', 'refs/heads/log/alpha');
    const object = join(alpha.repository.objectDir, fork.slice(0, 2), fork.slice(2));
    rmSync(object);
    await expectRefused(pair);
    const more = makeLines('alpha', last(held), ['four']);
    announce(alpha, await writeLog(alpha.repository, text([...held, ...more]), good?.oid ?? ''), last(more));
    expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'up', newEvents: 1, alarms: [] });
  });

  test('a rewrite that the host did not sign is not called a fork', async () => {
    const pair = await startPair();
    const forged = makeLines('alpha', start, ['one', 'TWO', 'three', 'four'], { key: 11 });
    announce(pair.alpha, await writeLog(pair.alpha.repository, text(forged)), last(forged));
    expect(await expectRefused(pair)).toMatchObject({ code: 'NOT_EXTENSION', seq: 2, forked: false });
    expect(pair.beta.set().forks.size).toBe(0);
  });

  test('an announced other link for a line that we hold is looked at, also when the log is not longer', async () => {
    const pair = await startPair();
    const other = makeLines('alpha', start, ['one', 'TWO']);
    announce(pair.alpha, await writeLog(pair.alpha.repository, text(other)), last(other));
    expect(await expectRefused(pair)).toMatchObject({ code: 'NOT_EXTENSION', seq: 2, forked: true });
  });

  test('a host that lost lines of its own log has rolled back; a relay that has fewer is behind', async () => {
    const pair = await startPair();
    const { alpha, beta, held } = pair;
    const gamma = await startNode('gamma');
    introduce(alpha, beta, gamma);
    const shorter = await writeLog(alpha.repository, text(held.slice(0, 1)));
    announce(alpha, shorter, held[0] as Line);
    expect(await expectRefused(pair)).toMatchObject({ code: 'ROLLED_BACK', log: 'alpha', seq: 1 });
    await gamma.cycle('alpha');
    expect(gamma.tips.get('alpha')?.seq).toBe(1);
    expect((await beta.cycle('gamma'))[0]).toMatchObject({ state: 'up', newEvents: 0, alarms: [] });
    alpha.tips.delete('alpha');
    expect(await expectRefused(pair), 'and so has one without any log').toMatchObject({ code: 'ROLLED_BACK', seq: 0 });
  });

  test('another history of the same lines is taken: prefixes are compared by links', async () => {
    const pair = await startPair();
    const { alpha, beta, held } = pair;
    const more = makeLines('alpha', last(held), ['four', 'five']);
    const rebuilt = await writeLog(alpha.repository, text(held));
    announce(alpha, await writeLog(alpha.repository, text([...held, ...more]), rebuilt), last(more));
    expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'up', newEvents: 2, alarms: [] });
    git(beta.repository, 'fsck', '--strict');
  });
});

describe('a log with a fault', () => {
  test('the good prefix is kept up to the last commit wholly inside it', async () => {
    const pair = await startPair();
    const { alpha, beta, held } = pair;
    const more = makeLines('alpha', last(held), ['four', 'five', 'six', 'seven', 'eight', 'nine']);
    let commit = alpha.tips.get('alpha')?.oid ?? '';
    const lines = text(held);
    for (const line of more) {
      lines.push(line.seq === 7 ? line.text.replace('seven', 'SEVEN') : line.text);
      commit = await writeLog(alpha.repository, lines, commit);
    }
    announce(alpha, commit, last(more));
    const [outcome] = await beta.cycle('alpha');
    expect(outcome).toMatchObject({ state: 'refused', newEvents: 3, lines: { alpha: 3 } });
    expect(outcome?.alarms).toMatchObject([{ code: 'LOG_CUT', log: 'alpha', seq: 7, peer: 'alpha' }]);
    expect(beta.tips.get('alpha')?.seq).toBe(6);
    git(beta.repository, 'fsck', '--strict');
    expect((await beta.cycle('alpha'))[0]).toMatchObject({
      state: 'refused',
      newEvents: 0,
      alarms: [{ code: 'LOG_CUT' }],
    });
  });

  const tamper: [string, (lines: Line[]) => string[], number][] = [
    ['a changed body', (lines) => text(lines).map((line) => line.replace('five', 'FIVE')), 5],
    [
      'a signature by another key',
      (lines) => text([...lines.slice(0, 1), ...makeLines('alpha', lines[0] as Line, ['five', 'six'], { key: 11 })]),
      5,
    ],
    ['a missing line', (lines) => text([lines[0] as Line, lines[2] as Line]), 5],
    ['lines in another order', (lines) => text([lines[1] as Line, lines[0] as Line, lines[2] as Line]), 4],
    ['lines of another log', () => text(makeLines('beta', start, ['x'])), 4],
    ['text that is no line', () => ['{"a":'], 4],
    ['conflict markers', (lines) => ['<<<<<<< HEAD', ...text(lines)], 4],
    ['an empty line', (lines) => ['', ...text(lines)], 4],
    ['a line of 40 kB', () => [`{"a":"${'a'.repeat(40_000)}"}`], 4],
  ];
  test.each(tamper)('%s cuts it there, and the line is named', async (_name, change, seq) => {
    const pair = await startPair();
    const { alpha, held } = pair;
    const more = makeLines('alpha', last(held), ['four', 'five', 'six']);
    announce(
      alpha,
      await writeLog(alpha.repository, [...text(held), ...change(more)], alpha.tips.get('alpha')?.oid ?? ''),
      last(more),
    );
    expect(await expectRefused(pair)).toMatchObject({ code: 'LOG_CUT', log: 'alpha', seq });
  });
});

describe('a tree that is no log', () => {
  const sound = (lines: readonly string[]): Folder => logFolders(segmentsOf(lines));
  const leaf = (lines: readonly string[]): Buffer => segmentsOf(lines)[0] as Buffer;
  const nowhere = '1'.repeat(40);
  const trees: [string, (lines: readonly string[]) => Folder][] = [
    [
      'a symbolic link as segment',
      (lines) => ({ '00': { '00': { '00.jsonl': leaf(lines), '01.jsonl': { mode: '120000', oid: '' } } } }),
    ],
    [
      'an executable segment',
      (lines) => ({ '00': { '00': { '00.jsonl': { mode: '100755', oid: '' }, x: leaf(lines) } } }),
    ],
    ['a submodule', (lines) => ({ ...sound(lines), '01': { mode: '160000', oid: nowhere } })],
    ['a file at the root', (lines) => ({ ...sound(lines), README: 'hello' })],
    ['.gitattributes', (lines) => ({ ...sound(lines), '.gitattributes': '* text' })],
    ['a gap in the segments', (lines) => ({ '00': { '00': { '00.jsonl': leaf(lines), '02.jsonl': leaf(lines) } } })],
    ['another name', (lines) => ({ '00': { '00': { '0.jsonl': leaf(lines) } } })],
    ['another depth', (lines) => ({ '00': { '00.jsonl': leaf(lines) } })],
    ['a folder as segment', (lines) => ({ '00': { '00': { '00.jsonl': { x: leaf(lines) } } } })],
    [
      'a segment after one that is not full',
      (lines) => ({ '00': { '00': { '00.jsonl': leaf(lines), '01.jsonl': leaf(lines) } } }),
    ],
    ['an empty segment', () => ({ '00': { '00': { '00.jsonl': '' } } })],
    ['a segment without final newline', (lines) => ({ '00': { '00': { '00.jsonl': leaf(lines).subarray(0, -1) } } })],
    ['no entry at all', () => ({})],
  ];
  test.each(trees)('%s is refused', async (_name, build) => {
    const pair = await startPair();
    const { alpha, held } = pair;
    const more = makeLines('alpha', last(held), ['four']);
    const folder = fillIn(build(text([...held, ...more])), await blobOf(alpha, text([...held, ...more])));
    const commit = await writeCommit(
      alpha.repository,
      await writeTree(alpha.repository, folder),
      alpha.tips.get('alpha')?.oid ?? '',
    );
    announce(alpha, commit, last(more));
    expect((await expectRefused(pair)).code).toMatch(/^(TREE_SHAPE|PACK_REFUSED)$/);
  });

  test('new lines in a segment of their own, behind ours that is unchanged and not full, are refused', async () => {
    const pair = await startPair();
    const { alpha, held } = pair;
    const more = makeLines('alpha', last(held), ['four']);
    const folder = { '00': { '00': { '00.jsonl': leaf(text(held)), '01.jsonl': leaf(text(more)) } } };
    const tree = await writeTree(alpha.repository, folder);
    announce(alpha, await writeCommit(alpha.repository, tree, alpha.tips.get('alpha')?.oid ?? ''), last(more));
    expect(await expectRefused(pair)).toMatchObject({ code: 'TREE_SHAPE' });
  });

  test('a segment of 1 MiB is refused by its size, unread', async () => {
    const pair = await startPair();
    const { alpha, held } = pair;
    const folder = {
      '00': {
        '00': {
          '00.jsonl': Buffer.concat([
            ...text(held).map((line) => Buffer.from(`${line}\n`)),
            Buffer.alloc(1_048_576, 97),
          ]),
        },
      },
    };
    const commit = await writeCommit(
      alpha.repository,
      await writeTree(alpha.repository, folder),
      alpha.tips.get('alpha')?.oid ?? '',
    );
    announce(alpha, commit, { seq: 4, link: '1'.repeat(64) });
    expect((await expectRefused(pair)).code).toMatch(/^(TOO_LARGE|PACK_REFUSED)$/);
  });

  test('a merge is refused, whatever it holds', async () => {
    const pair = await startPair();
    const { alpha, held } = pair;
    const more = makeLines('alpha', last(held), ['four']);
    const ours = alpha.tips.get('alpha')?.oid ?? '';
    const side = await writeLog(alpha.repository, text(held.slice(0, 1)));
    announce(alpha, await writeLog(alpha.repository, text([...held, ...more]), ours, side), last(more));
    expect(await expectRefused(pair)).toMatchObject({ code: 'COMMIT_CHAIN' });
  });

  test('a blob, a tree, a tag and an object that is not there are refused as the tip of a log', async () => {
    const pair = await startPair();
    const { alpha, beta } = pair;
    const tree = await writeTree(alpha.repository, { a: 'x' });
    const tag = git(
      alpha.repository,
      '-c',
      'user.name=x',
      '-c',
      'user.email=x@x',
      'tag',
      '-a',
      '-m',
      'x',
      'tag',
      alpha.tips.get('alpha')?.oid ?? '',
    );
    expect(tag).toBe('');
    const tips = [git(alpha.repository, 'rev-parse', `${tree}:a`), tree, git(alpha.repository, 'rev-parse', 'tag')];
    for (const oid of tips) {
      alpha.tips.set('alpha', { oid, seq: 4, link: '1'.repeat(64) });
      expect((await expectRefused(pair)).code).toMatch(/^(NOT_A_COMMIT|MISSING_OBJECT)$/);
    }
    alpha.tips.set('alpha', { oid: '3'.repeat(40), seq: 4, link: '1'.repeat(64) });
    expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'refused', reason: { code: 'REMOTE_ERROR' } });
  });

  async function blobOf(node: TestNode, lines: readonly string[]): Promise<string> {
    return git(node.repository, 'rev-parse', `${await writeTree(node.repository, { a: leaf(lines) })}:a`);
  }

  /** Puts the blob into entries that name a mode only. */
  function fillIn(folder: Folder, oid: string): Folder {
    const entries = Object.entries(folder).map(([name, entry]) => {
      if (typeof entry === 'string' || Buffer.isBuffer(entry)) return [name, entry];
      if ('mode' in entry && 'oid' in entry) return [name, entry.oid === '' ? { ...entry, oid } : entry];
      return [name, fillIn(entry, oid)];
    });
    return Object.fromEntries(entries) as Folder;
  }
});

describe('heads that lie', () => {
  test('more lines than there are, another mesh, another host, nonsense and no answer', async () => {
    const pair = await startPair();
    const { alpha, beta } = pair;
    const tip = alpha.tips.get('alpha') as { oid: string; seq: number; link: string };
    alpha.tips.set('alpha', { ...tip, seq: 9, link: '2'.repeat(64) });
    expect(await expectRefused(pair)).toMatchObject({ code: 'HEADS_WRONG', log: 'alpha' });
    alpha.tips.set('alpha', tip);
    alpha.lie((heads) => ({ ...heads, mesh: 'f'.repeat(64) }));
    expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'refused', reason: { code: 'FOREIGN_MESH' } });
    alpha.lie((heads) => ({ ...heads, host: 'gamma' }));
    expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'refused', reason: { code: 'PROTOCOL' } });
    alpha.lie((heads) => ({ ...heads, heads: { alpha: { ...tip, oid: 'refs/heads/x' } } }));
    expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'refused', reason: { code: 'PROTOCOL' } });
    alpha.lie(() => {
      throw new Error('broken');
    });
    expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'refused', reason: { code: 'REFUSED_COMMAND' } });
    alpha.lie((heads) => heads);
    expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'up' });
  });

  test('a log of no charter host is never asked for', async () => {
    const pair = await startPair();
    const { alpha, beta } = pair;
    alpha.lie((heads) => ({
      ...heads,
      heads: { ...heads.heads, mallory: { oid: '1'.repeat(40), seq: 5, link: '1'.repeat(64) } },
    }));
    expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'up', alarms: [] });
    expect(existsSync(join(beta.repository.gitDir, 'refs/heads/log/mallory'))).toBe(false);
  });
});

describe('what a peer says of our own log', () => {
  interface Own extends Pair {
    readonly told: unknown[];
  }
  /** beta holds two lines of its own; `told` is what it heard of claims about them. */
  async function startOwn(): Promise<Own> {
    const pair = await startPair();
    const told: unknown[] = [];
    pair.beta.mesh.onOwnLog = (_, claim) => void told.push(claim);
    await pair.beta.append('mine', 'too');
    return { ...pair, told };
  }

  async function expectUnchanged({ beta }: Own, commit: string): Promise<void> {
    expect(beta.tips.get('beta')?.seq).toBe(2);
    expect(git(beta.repository, 'rev-parse', 'log/beta')).toBe(commit);
    expect(readdirSync(join(beta.repository.gitDir, 'quarantine'))).toEqual([]);
  }

  test.each([
    ['more of it', ['mine', 'too', 'and one that this home lost'], 3],
    ['another line of it', ['mine', 'TOO'], 2],
    ['more, after another line', ['MINE', 'too', 'three', 'four'], 1],
  ] as const)('%s, signed by us, is proof; nothing of it is taken', async (_, texts, seq) => {
    const own = await startOwn();
    const { alpha, beta, told } = own;
    const commit = git(beta.repository, 'rev-parse', 'log/beta');
    const lines = makeLines('beta', start, texts);
    announce(alpha, await writeLog(alpha.repository, text(lines)), last(lines), 'beta');
    for (const _again of [1, 2]) {
      const [outcome] = await beta.cycle('alpha');
      expect(outcome).toMatchObject({ state: 'up', alarms: [{ code: 'OWN_LOG_AHEAD', log: 'beta', seq }] });
    }
    const line = { seq, link: lines[seq - 1]?.link };
    expect(told).toEqual(['looking', line, 'looking', line]);
    await expectUnchanged(own, commit);
  });

  test('a number out of the air, lines that others signed, and less than it says prove nothing', async () => {
    const own = await startOwn();
    const { alpha, beta, told } = own;
    const commit = git(beta.repository, 'rev-parse', 'log/beta');
    const forged = makeLines('beta', start, ['mine', 'too', 'forged'], { key: 10 });
    const short = makeLines('beta', start, ['mine', 'too']);
    const announced: [string, { seq: number; link: string }][] = [
      ['1'.repeat(40), { seq: 999_999, link: '1'.repeat(64) }],
      [await writeLog(alpha.repository, text(forged)), last(forged)],
      [await writeLog(alpha.repository, text(short)), { seq: 3, link: '2'.repeat(64) }],
      [git(alpha.repository, 'rev-parse', 'log/alpha'), { seq: 3, link: '3'.repeat(64) }],
    ];
    for (const [oid, tip] of announced) {
      alpha.tips.set('beta', { oid, seq: tip.seq, link: tip.link });
      const [outcome] = await beta.cycle('alpha');
      expect(outcome).toMatchObject({ state: 'refused', alarms: [{ code: 'HEADS_WRONG', log: 'beta', seq: tip.seq }] });
      expect(told.splice(0)).toEqual(['looking', 'unproven']);
    }
    // It goes on with what is right.
    await alpha.append('four');
    expect((await beta.cycle('alpha'))[0]).toMatchObject({ newEvents: 1, lines: { alpha: 1 } });
    await expectUnchanged(own, commit);
  });

  test('part of what it says may be proof: the last line that we signed counts', async () => {
    const { alpha, beta, told } = await startOwn();
    const good = makeLines('beta', start, ['mine', 'too', 'lost']);
    const bad = makeLines('beta', { seq: 3, link: last(good).link }, ['forged'], { key: 10 });
    const first = await writeLog(alpha.repository, text(good));
    announce(alpha, await writeLog(alpha.repository, text([...good, ...bad]), first), last(bad), 'beta');
    expect((await beta.cycle('alpha'))[0]?.alarms).toMatchObject([{ code: 'OWN_LOG_AHEAD', seq: 3 }]);
    expect(told.at(-1)).toEqual({ seq: 3, link: last(good).link });
  });
});

test('a mesh of one answers nobody and asks nobody', async () => {
  const alone = await startNode('alpha', { ops: meshOps() });
  expect(await alone.cycle()).toEqual([]);
});
