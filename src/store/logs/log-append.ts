/**
 * What an append builds on and what it writes: one blob, the folders above it, one commit. The state holds the open
 * segment and the entries of the three open folders, so that nothing is read for an append however long the log is.
 */

import fs from 'node:fs';
import path from 'node:path';
import type { Body } from '../../core/event.ts';
import { segmentFanout } from '../../core/limits.ts';
import { planSegments, segmentPath, type SegmentPart } from '../../core/segments.ts';
import { utf8Bytes } from '../../crypto/text.ts';
import { syncDirectories } from '../disk.ts';
import { OperatingError } from '../errors.ts';
import { encodeObject, encodeTree, type EncodedObject, type TreeEntry } from '../git/object-id.ts';
import { commitObjects } from '../git/objects.ts';
import { openReader } from '../git/reader.ts';
import { readRef, type LineBranch } from '../git/refs.ts';
import type { Repository } from '../git/repository.ts';
import { notesName, readLogLayout, readSegments } from './log-tree.ts';
import { treeError } from '../tree-fault.ts';

/** What a writer needs of a line: its text, and the claimed time of its event for the commit's date. */
export interface WritableLine {
  readonly text: string;
  readonly body: Pick<Body, 'at'> | null;
}

/** Repository, host, branch and committer of one writer. */
export interface WriteContext {
  readonly repository: Repository;
  readonly host: string;
  readonly branch: LineBranch;
  /** `memd <host@mesh id>` */
  readonly author: string;
}

/** Everything an append builds on. */
export interface WriterState {
  readonly oid: string | null;
  /** The segment that the next line goes to, unless it is full. */
  readonly index: number;
  readonly open: Buffer;
  /** Entries of the root, the open AA folder and the open BB folder. The open segment is in the third. */
  readonly folders: readonly [readonly TreeEntry[], readonly TreeEntry[], readonly TreeEntry[]];
  /** Blob of the file `notes`, where the branch may have one. */
  readonly notes: string | undefined;
}

const emptyState: WriterState = {
  oid: null,
  index: 0,
  open: Buffer.alloc(0),
  folders: [[], [], []],
  notes: undefined,
};
const newline = Buffer.from('\n');

/**
 * Reads the state of a log from its branch: three folders and the open segment. `notes`: the branch may have that file.
 * Errors: `REF_DAMAGED`, `OBJECT_DAMAGED`, `OBJECT_MISSING`, `BRANCH_DAMAGED`, `DISK_FAILED`.
 */
export async function readWriterState(
  repository: Repository,
  { ref, name }: LineBranch,
  options: { readonly notes?: boolean } = {},
): Promise<WriterState> {
  const oid = readRef(repository, ref);
  if (oid === null) return emptyState;
  // The branch may have been moved by a process that was killed between rename and fsync; what it points at is durable.
  // (With packed refs there may be no such folder.)
  const folder = path.dirname(path.join(repository.gitDir, ref));
  if (fs.existsSync(folder)) await syncDirectories(repository.disk, [folder]);
  const reader = openReader(repository);
  try {
    const layout = await readLogLayout(reader, oid, options);
    if (!layout.ok) throw treeError(name, layout);
    const index = layout.value.segments.length - 1;
    let open: Buffer = Buffer.alloc(0);
    for await (const part of readSegments(reader, layout.value, index)) {
      if (!part.ok) throw treeError(name, part);
      open = part.value.content;
    }
    return { oid, index, open, folders: layout.value.openFolders, notes: layout.value.notes };
  } finally {
    await reader.close();
  }
}

/** Seconds since 1970 of the last line's claimed time; display only, so a line without a readable time counts as 0. */
export function commitSeconds(last: WritableLine | undefined): number {
  const time = Date.parse(last?.body?.at ?? '');
  return Number.isNaN(time) ? 0 : Math.floor(time / 1_000);
}

/** The commit message, for a person who reads `git log`. */
export function commitMessage({ name }: LineBranch, lines: number): string {
  return `${name}: ${lines} line${lines === 1 ? '' : 's'}\n`;
}

/** `LOG_FULL`: all 64³ segments are used. */
export function logFull({ name }: LineBranch): OperatingError {
  return new OperatingError('LOG_FULL', `${name} is full`, {
    hint: 'move the home aside and enrol this machine again under a new host name: memctl host request',
  });
}

/** Bytes of a segment after its new lines. */
export function segmentContent(before: Buffer, lines: readonly Uint8Array[]): Buffer {
  return Buffer.concat([before, ...lines.flatMap((line) => [line, newline])]);
}

/**
 * Appends lines as one commit, durable on return; gives the state after it. With `notes` that file is replaced too, and
 * there may be no line, after the first one. Errors: see `commitObjects`, `LOG_FULL`.
 */
export async function appendLines(
  context: WriteContext,
  state: WriterState,
  lines: readonly WritableLine[],
  notes?: Buffer,
): Promise<WriterState> {
  const parts = planSegments(
    { index: state.index, bytes: state.open.length },
    lines.map((line) => utf8Bytes(line.text)),
  );
  if (parts === undefined) throw logFull(context.branch);
  const objects: EncodedObject[] = [];
  const noted = notes === undefined ? state : { ...state, notes: addBlob(notes, objects) };
  const filled = parts.reduce((current, part) => addPart(current, part, objects), noted);
  const closed = closeFolders(filled, objects);
  const oid = await commitObjects(context.repository, {
    ref: context.branch.ref,
    expected: state.oid,
    objects,
    tree: closed.root,
    author: context.author,
    seconds: commitSeconds(lines.at(-1)),
    message: lines.length === 0 ? `${context.branch.name}: notes\n` : commitMessage(context.branch, lines.length),
  });
  return { ...filled, oid, folders: closed.folders };
}

function addBlob(content: Buffer, objects: EncodedObject[]): string {
  const blob = encodeObject('blob', content);
  objects.push(blob);
  return blob.oid;
}

function addPart(state: WriterState, part: SegmentPart, objects: EncodedObject[]): WriterState {
  const continues = part.bytesBefore > 0;
  const content = segmentContent(continues ? state.open : Buffer.alloc(0), part.lines);
  const blob = encodeObject('blob', content);
  objects.push(blob);
  const [root, second, third] = continues ? state.folders : enterSegment(state, part.index, objects);
  return {
    ...state,
    index: part.index,
    open: content,
    folders: [root, second, setEntry(third, { name: part.path.slice(6), oid: blob.oid, folder: false })],
  };
}

/** The open folders for a new segment: leaves a full folder behind (writing its tree) when the segment lies in the next. */
function enterSegment(state: WriterState, index: number, objects: EncodedObject[]): WriterState['folders'] {
  const [root, second, third] = state.folders;
  if (index === 0 || index % segmentFanout !== 0) return state.folders;
  const leaf = encodeTree(third);
  objects.push(leaf);
  const filled = setEntry(second, folderEntry(state.index, 1, leaf.oid));
  if (index % segmentFanout ** 2 !== 0) return [root, filled, []];
  const middle = encodeTree(filled);
  objects.push(middle);
  return [setEntry(root, folderEntry(state.index, 0, middle.oid)), [], []];
}

/** Entry of the folder that holds a segment: level 0 = AA, level 1 = BB. */
function folderEntry(index: number, level: 0 | 1, oid: string): TreeEntry {
  return { name: segmentPath(index).slice(level * 3, level * 3 + 2), oid, folder: true };
}

function setEntry(entries: readonly TreeEntry[], entry: TreeEntry): readonly TreeEntry[] {
  return entries.at(-1)?.name === entry.name ? [...entries.slice(0, -1), entry] : [...entries, entry];
}

function closeFolders(state: WriterState, objects: EncodedObject[]): { root: string; folders: WriterState['folders'] } {
  const [root, second, third] = state.folders;
  const leaf = encodeTree(third);
  const middleEntries = setEntry(second, folderEntry(state.index, 1, leaf.oid));
  const middle = encodeTree(middleEntries);
  const rootEntries = setEntry(root, folderEntry(state.index, 0, middle.oid));
  const besides = state.notes === undefined ? [] : [{ name: notesName, oid: state.notes, folder: false }];
  const top = encodeTree([...rootEntries, ...besides]);
  objects.push(leaf, middle, top);
  return { root: top.oid, folders: [rootEntries, middleEntries, third] };
}
