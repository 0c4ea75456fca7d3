import path from 'node:path';
import type { ViewOwner } from '../../../src/core/view-chain.ts';
import { describe, expect, test } from 'vitest';
import { publicKeyOf } from '../../../src/crypto/ed25519.ts';
import { viewNotesBytesMax } from '../../../src/core/limits.ts';
import type { ViewLine } from '../../../src/core/view-line.ts';
import { judgeOther, judgeOwn, type JudgedChain } from '../../../src/mesh/judge/judge-view-chain.ts';
import { emptyViewBase, judgeViews, readViewBase, type ViewBase } from '../../../src/mesh/judge/judge-views.ts';
import { realDisk } from '../../../src/store/disk.ts';
import { encodeCommit, encodeObject, encodeTree, type TreeEntry } from '../../../src/store/git/object-id.ts';
import { writeObjects } from '../../../src/store/git/objects.ts';
import { openReader } from '../../../src/store/git/reader.ts';
import { initRepository, type Repository } from '../../../src/store/git/repository.ts';
import { openViewWriter } from '../../../src/store/logs/view-journal.ts';
import { temporaryFolder } from '../../lib/temporary.ts';
import { nextViewLine, viewKey, viewLines, viewMesh } from '../../lib/view-lines.ts';

const hastyDisk = { ...realDisk, syncFile: () => Promise.resolve(), syncDirectory: () => Promise.resolve() };
const owner = { host: 'beta', mesh: viewMesh, keys: [publicKeyOf(viewKey('beta'))] };

function repositoryOf(): Promise<Repository> {
  return initRepository(path.join(temporaryFolder(), 'repo.git'), { host: 'alpha', disk: hastyDisk });
}

/** A journal of these lines, written as its host does. @returns its commit. */
async function journalOf(repository: Repository, lines: readonly ViewLine[]): Promise<string> {
  const writer = await openViewWriter({ repository, host: 'beta', meshId: viewMesh });
  for (const line of lines) await writer.append(line);
  return writer.head() ?? '';
}

/** A commit with one segment of these texts, and whatever else stands at its root. */
async function plant(
  repository: Repository,
  texts: readonly string[],
  beside: readonly TreeEntry[] = [],
): Promise<string> {
  const blob = encodeObject('blob', Buffer.from(texts.map((text) => `${text}\n`).join('')));
  const leaf = encodeTree([{ name: '00.jsonl', oid: blob.oid, folder: false }]);
  const middle = encodeTree([{ name: '00', oid: leaf.oid, folder: true }]);
  const root = encodeTree([{ name: '00', oid: middle.oid, folder: true }, ...beside]);
  const commit = encodeCommit({ tree: root.oid, parent: null, author: 'a <b>', seconds: 0, message: 'x\n' });
  await writeObjects(repository, [blob, leaf, middle, root, commit]);
  return commit.oid;
}

async function judge(
  repository: Repository,
  commit: string,
  { base = emptyViewBase, by = owner }: { base?: ViewBase; by?: ViewOwner } = {},
): Promise<unknown> {
  const reader = openReader(repository);
  try {
    const judged = await judgeViews(reader, commit, { owner: by, base });
    if (!judged.ok) return `${judged.code}: ${judged.detail}`;
    return { last: judged.value.base.last?.n, lines: judged.value.lines.length };
  } finally {
    await reader.close();
  }
}

async function baseAt(repository: Repository, commit: string): Promise<ViewBase> {
  const reader = openReader(repository);
  try {
    const base = await readViewBase(reader, commit);
    if (!base.ok) throw new Error(base.detail);
    return base.value;
  } finally {
    await reader.close();
  }
}

/** Keys of a host that was rekeyed twice, oldest first. */
const rekeys = [viewKey('beta'), viewKey('beta, rekeyed'), viewKey('beta, rekeyed again')];
const rekeyed = { ...owner, keys: rekeys.map((key) => publicKeyOf(key)) };

/** A journal that says `rules`, a line for each of these keys (0: the oldest). */
function signedLines(by: readonly number[], rules = 1): readonly ViewLine[] {
  const lines: ViewLine[] = [];
  for (const index of by) lines.push(nextViewLine('beta', lines.at(-1) ?? null, { rules }, rekeys[index]));
  return lines;
}

/** What becomes of journal `theirs`, of which the host with these lines holds another one. */
async function against(
  theirs: readonly string[],
  ours: readonly ViewLine[],
  { isOwn = false, keys = rekeyed.keys } = {},
): Promise<string> {
  const repository = await repositoryOf();
  const commits = [await plant(repository, theirs)];
  const reader = openReader(repository);
  const last = ours.at(-1);
  if (last === undefined) throw new Error('ours has lines');
  const about = { owner: { ...rekeyed, keys }, ours: last, keep: false };
  try {
    return told(await (isOwn ? judgeOwn : judgeOther)(reader, commits, about));
  } finally {
    await reader.close();
  }
}

function told({ taken, replaces = false, fault }: JudgedChain): string {
  if (taken !== undefined) return `line ${taken.extension.base.last?.n}${replaces ? ' replaces' : ''}`;
  return fault?.code ?? 'left';
}

const textsOf = (lines: readonly ViewLine[]): readonly string[] => lines.map(({ text }) => text);

describe('another view journal of a host that was rekeyed', () => {
  test('takes the place of ours when a later key signed its newest line, however short it is', async () => {
    expect(await against(textsOf(signedLines([0, 1], 2)), signedLines([0, 0, 0, 0]))).toBe('line 2 replaces');
    expect(await against(textsOf(signedLines([0, 1, 2], 2)), signedLines([0, 1, 1, 1]))).toBe('line 3 replaces');
  });

  test('stays an alarm with equal keys, and is left in silence with an older one, however long it is', async () => {
    expect(await against(textsOf(signedLines([0, 0, 0], 2)), signedLines([0]))).toBe('VIEW_FORKED');
    expect(await against(textsOf(signedLines([0, 1, 1], 2)), signedLines([1]))).toBe('VIEW_FORKED');
    expect(await against(textsOf(signedLines([0, 0, 0], 2)), signedLines([1]))).toBe('left');
    const keys = rekeyed.keys.slice(0, 1);
    expect(await against(textsOf(signedLines([0, 0], 2)), signedLines([0]), { keys })).toBe('VIEW_FORKED');
  });

  test('is judged whole: a bad line before the later key, or a newest line that nobody signed, replaces nothing', async () => {
    const [first, second, third] = textsOf(signedLines([0, 0, 1], 2));
    if (first === undefined || second === undefined || third === undefined) throw new Error('three lines');
    expect(await against([first, third], signedLines([0]))).toBe('VIEW_FORKED');
    expect(await against([first, second.replace('"rules":2', '"rules":3'), third], signedLines([0]))).toBe(
      'VIEW_FORKED',
    );
    expect(await against([first, second, third.replace('"rules":2', '"rules":3')], signedLines([0]))).toBe(
      'VIEW_FORKED',
    );
    expect(await against(['{}'], signedLines([0]))).toBe('VIEW_FORKED');
    expect(await against(textsOf(signedLines([1, 0, 2], 2)), signedLines([1]))).toBe('VIEW_FORKED');
  });

  test('stands behind ours only by the newest key when no known key signed ours', async () => {
    const unknown = [nextViewLine('beta', null, {}, viewKey('nobody'))];
    expect(await against(textsOf(signedLines([1], 2)), unknown)).toBe('VIEW_FORKED');
    expect(await against(textsOf(signedLines([2], 2)), unknown)).toBe('line 1 replaces');
  });

  test('of our own is never taken with an older key than ours, else as ever', async () => {
    const isOwn = true;
    expect(await against(textsOf(signedLines([0, 0, 0], 2)), signedLines([0, 1]), { isOwn })).toBe('left');
    expect(await against(textsOf(signedLines([0, 0, 0], 2)), signedLines([0, 0]), { isOwn })).toBe('line 3');
    expect(await against(textsOf(signedLines([0, 1], 2)), signedLines([0, 0]), { isOwn })).toBe('line 2 replaces');
  });
});

describe('a fetched view journal', () => {
  test('of a rekeyed host goes on with the same key or a later one; an older key adds nothing behind it', async () => {
    const repository = await repositoryOf();
    const by = rekeyed;
    const held = await baseAt(repository, await plant(repository, textsOf(signedLines([0, 1]))));
    expect(await judge(repository, await plant(repository, textsOf(signedLines([0, 0, 1, 1, 2]))), { by })).toEqual({
      last: 5,
      lines: 5,
    });
    const old = /^VIEW_CUT: line 3 is signed by an old key of beta, behind a later one \(VIEW_SIGNATURE\)/;
    const stolen = await plant(repository, textsOf(signedLines([0, 1, 0])));
    expect(await judge(repository, stolen, { by })).toMatch(old);
    expect(await judge(repository, stolen, { by, base: held })).toMatch(old);
    const on = await plant(repository, textsOf(signedLines([0, 1, 2])));
    expect(await judge(repository, on, { by, base: held })).toEqual({ last: 3, lines: 1 });
  });

  test('is good from nothing, and on top of any part of it that is held', async () => {
    const repository = await repositoryOf();
    const lines = viewLines('beta', 45);
    const parts = [1, 16, 17, 18, 33, 44];
    const whole = await journalOf(repository, lines);
    expect(await judge(repository, whole)).toEqual({ last: 45, lines: 45 });
    for (const held of parts) {
      const other = await repositoryOf();
      const base = await baseAt(other, await journalOf(other, lines.slice(0, held)));
      expect(await judge(repository, whole, { base })).toEqual({ last: 45, lines: 45 - held });
    }
  }, 30_000);

  test('that is another one than is held is told as that, wherever it differs', async () => {
    const repository = await repositoryOf();
    const lines = viewLines('beta', 20);
    const base = await baseAt(repository, await journalOf(repository, lines));
    for (const kept of [0, 5, 18]) {
      const forked = lines.slice(0, kept);
      while (forked.length < 25) forked.push(nextViewLine('beta', forked.at(-1) ?? null, { rules: 2 }));
      const other = await repositoryOf();
      expect(await judge(other, await journalOf(other, forked), { base })).toMatch(/^VIEW_FORKED/);
    }
    const short = await repositoryOf();
    expect(await judge(short, await journalOf(short, lines.slice(0, 19)), { base })).toMatch(/^VIEW_FORKED/);
  }, 30_000);

  test('with a line that is none, of another host, out of order, or signed by somebody else is cut', async () => {
    const [first, second, third] = viewLines('beta', 3);
    if (first === undefined || second === undefined || third === undefined) throw new Error('three lines');
    const forged = second.text.replace(/"root":"./, (found) => (found.endsWith('0') ? '"root":"1' : '"root":"0'));
    const cases: [readonly string[], RegExp][] = [
      [['{}'], /^VIEW_CUT: line 1: /],
      [[first.text, '\u00e4'], /^VIEW_CUT: line 2: /],
      [[first.text, third.text], /^VIEW_CUT: line 3 after line 1 \(VIEW_CHAIN\)/],
      [[first.text, first.text], /^VIEW_CUT: line 1 after line 1 \(VIEW_CHAIN\)/],
      [[nextViewLine('gamma', null).text], /^VIEW_CUT: a line of another journal/],
      [[first.text, forged], /^VIEW_CUT: line 2 is not signed by beta/],
      [[first.text, second.text.replace('"v":1', '"v":2')], /^VIEW_CUT: line 2: a view line of version 2/],
    ];
    const repository = await repositoryOf();
    for (const [texts, expected] of cases)
      expect(await judge(repository, await plant(repository, texts))).toMatch(expected);
  });

  test('may have notes beside its lines, of bounded size, and nothing else', async () => {
    const repository = await repositoryOf();
    const [first] = viewLines('beta', 1);
    const texts = [first?.text ?? ''];
    const blob = async (content: string): Promise<string> => {
      const object = encodeObject('blob', Buffer.from(content));
      await writeObjects(repository, [object]);
      return object.oid;
    };
    const notes = { name: 'notes', oid: await blob('told'), folder: false };
    expect(await judge(repository, await plant(repository, texts, [notes]))).toEqual({ last: 1, lines: 1 });
    const long = { ...notes, oid: await blob('x'.repeat(viewNotesBytesMax + 1)) };
    expect(await judge(repository, await plant(repository, texts, [long]))).toMatch(/^VIEW_CUT: its notes/);
    for (const beside of [
      { ...notes, folder: true },
      { ...notes, name: 'other' },
    ])
      expect(await judge(repository, await plant(repository, texts, [beside]))).toMatch(/^VIEW_CUT/);
    const two = [notes, { ...notes, name: 'other' }];
    expect(await judge(repository, await plant(repository, texts, two))).toMatch(/^VIEW_CUT/);
  });
});
