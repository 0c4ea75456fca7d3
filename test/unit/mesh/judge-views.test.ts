import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { publicKeyOf } from '../../../src/crypto/ed25519.ts';
import { viewNotesBytesMax } from '../../../src/core/limits.ts';
import type { ViewLine } from '../../../src/core/view-line.ts';
import { emptyViewBase, judgeViews, readViewBase, type ViewBase } from '../../../src/mesh/judge-views.ts';
import { realDisk } from '../../../src/store/disk.ts';
import { encodeCommit, encodeObject, encodeTree, type TreeEntry } from '../../../src/store/git/object-id.ts';
import { writeObjects } from '../../../src/store/git/objects.ts';
import { openReader } from '../../../src/store/git/reader.ts';
import { initRepository, type Repository } from '../../../src/store/git/repository.ts';
import { openViewWriter } from '../../../src/store/view-journal.ts';
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

async function judge(repository: Repository, commit: string, base: ViewBase = emptyViewBase): Promise<unknown> {
  const reader = openReader(repository);
  try {
    const judged = await judgeViews(reader, commit, { owner, base });
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

describe('a fetched view journal', () => {
  test('is good from nothing, and on top of any part of it that is held', async () => {
    const repository = await repositoryOf();
    const lines = viewLines('beta', 45);
    const parts = [1, 16, 17, 18, 33, 44];
    const whole = await journalOf(repository, lines);
    expect(await judge(repository, whole)).toEqual({ last: 45, lines: 45 });
    for (const held of parts) {
      const other = await repositoryOf();
      const base = await baseAt(other, await journalOf(other, lines.slice(0, held)));
      expect(await judge(repository, whole, base)).toEqual({ last: 45, lines: 45 - held });
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
      expect(await judge(other, await journalOf(other, forked), base)).toMatch(/^VIEW_FORKED/);
    }
    const short = await repositoryOf();
    expect(await judge(short, await journalOf(short, lines.slice(0, 19)), base)).toMatch(/^VIEW_FORKED/);
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
