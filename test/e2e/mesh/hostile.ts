/** What a hostile peer can do to a log: rewrite it, build odd trees, commit nonsense. All with real objects. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { planSegments, segmentPath } from '../../../src/core/segments.ts';
import { encodeCommit, encodeObject, type EncodedObject } from '../../../src/store/git/object-id.ts';
import { writeObjects } from '../../../src/store/git/objects.ts';
import { logRef } from '../../../src/store/git/refs.ts';
import type { Repository } from '../../../src/store/git/repository.ts';
import type { TestNode } from './node.ts';

/** An entry of a made-up tree: bytes of a file, another tree, or any mode with any id. */
export type Entry = string | Buffer | Folder | { readonly mode: string; readonly oid: string };
export interface Folder {
  readonly [name: string]: Entry;
}

/** Writes a tree with any modes and names (git's order by bytes); gives its id. */
export async function writeTree(repository: Repository, folder: Folder): Promise<string> {
  const objects: EncodedObject[] = [];
  const oid = buildTree(folder, objects);
  await writeObjects(repository, objects);
  return oid;
}

function buildTree(folder: Folder, objects: EncodedObject[]): string {
  const rows = Object.entries(folder).map(([name, entry]) => {
    if (typeof entry === 'string' || Buffer.isBuffer(entry)) {
      const blob = encodeObject('blob', Buffer.from(entry));
      objects.push(blob);
      return { name, mode: '100644', oid: blob.oid };
    }
    if (isRaw(entry)) return { name, mode: entry.mode, oid: entry.oid };
    return { name, mode: '40000', oid: buildTree(entry, objects) };
  });
  const key = (row: { name: string; mode: string }): string => (row.mode === '40000' ? `${row.name}/` : row.name);
  rows.sort((left, right) => (key(left) < key(right) ? -1 : 1));
  const tree = encodeObject(
    'tree',
    Buffer.concat(rows.flatMap((row) => [Buffer.from(`${row.mode} ${row.name}\0`), Buffer.from(row.oid, 'hex')])),
  );
  objects.push(tree);
  return tree.oid;
}

function isRaw(entry: Folder | { mode: string; oid: string }): entry is { mode: string; oid: string } {
  return typeof entry['mode'] === 'string' && typeof entry['oid'] === 'string';
}

/** The folders of a log whose segments hold these bytes. */
export function logFolders(segments: readonly (Buffer | string)[]): Folder {
  const root: Record<string, Record<string, Record<string, Buffer | string>>> = {};
  for (const [index, content] of segments.entries()) {
    const [first = '', second = '', third = ''] = segmentPath(index).split('/');
    ((root[first] ??= {})[second] ??= {})[third] = content;
  }
  return root;
}

/** Segments of lines, as a writer lays them out. */
export function segmentsOf(lines: readonly string[]): Buffer[] {
  const parts =
    planSegments(
      { index: 0, bytes: 0 },
      lines.map((line) => Buffer.from(line)),
    ) ?? [];
  return parts.map((part) => Buffer.concat(part.lines.flatMap((line) => [Buffer.from(line), Buffer.from('\n')])));
}

/** Writes a commit; gives its id. Several parents make a merge. */
export async function writeCommit(
  repository: Repository,
  tree: string,
  ...parents: readonly string[]
): Promise<string> {
  const plain = encodeCommit({
    tree,
    parent: parents[0] ?? null,
    author: 'x <x@x>',
    seconds: 1_700_000_000,
    message: 'hostile\n',
  });
  const text = `tree ${tree}\n${parents.map((parent) => `parent ${parent}\n`).join('')}author x <x@x> 1 +0000\ncommitter x <x@x> 1 +0000\n\nhostile\n`;
  const commit = parents.length > 1 ? encodeObject('commit', Buffer.from(text)) : plain;
  await writeObjects(repository, [commit]);
  return commit.oid;
}

/** Points a log branch anywhere, without asking. */
export function forceBranch(repository: Repository, log: string, oid: string): void {
  const file = join(repository.gitDir, logRef(log));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${oid}\n`);
}

/** A log of these lines as one commit on top of `parents`; gives the commit. */
export async function writeLog(
  repository: Repository,
  lines: readonly string[],
  ...parents: readonly string[]
): Promise<string> {
  return writeCommit(repository, await writeTree(repository, logFolders(segmentsOf(lines))), ...parents);
}

/** Git's own view of a repository, for what a test wants to know. */
export function git(repository: Repository, ...args: readonly string[]): string {
  return execFileSync('git', ['--git-dir', repository.gitDir, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { PATH: process.env['PATH'] ?? '', GIT_CONFIG_GLOBAL: '/dev/null' },
  }).trim();
}

const extraFiles = new Map<TestNode, [string, string][]>();

/** alpha serves its trust branch with one more file in it, and says so. */
export async function serveTrustFile(alpha: TestNode, id: string, content: string): Promise<void> {
  const files = [...alpha.set().held.values()].map(({ op }): [string, string] => [op.id, `${op.text}\n`]);
  const extra = extraFiles.get(alpha) ?? [];
  extra.push([id, content]);
  extraFiles.set(alpha, extra);
  const folder: Record<string, Record<string, string>> = {};
  for (const [name, text] of [...files, ...extra]) (folder[name.slice(0, 2)] ??= {})[`${name}.json`] = text;
  const oid = await writeCommit(alpha.repository, await writeTree(alpha.repository, folder));
  alpha.lie((heads) => ({ ...heads, trust: { oid, hash: 'e'.repeat(64) } }));
}
