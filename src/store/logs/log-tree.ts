/**
 * The tree of a log as git holds it: reading a commit's segments in order, and nothing but the expected shape. Used for
 * our own branches and, through a quarantine, for what a peer sent; so every fault is a value here. The branch of a view
 * journal has the same tree, and may have a file `notes` beside the folders.
 */

import { commitBytesMax, segmentBytesMax, segmentFanout, segmentSealBytes } from '../../core/limits.ts';
import { segmentPath, splitLines } from '../../core/segments.ts';
import { ok, refuse, type Result } from '../../crypto/result.ts';
import { decodeCommit, decodeTree, type TreeEntry } from '../git/object-id.ts';
import type { OperatingError } from '../errors.ts';
import { type ObjectFault, type ObjectReader, type ReadObject } from '../git/reader.ts';
import { objectFault, treeError, type TreeFaultCode } from '../tree-fault.ts';

/** One segment file of a log. */
export interface Segment {
  readonly index: number;
  readonly oid: string;
}

/** The files of a log at one commit, in order, and the folders that hold the last of them (for the next append). */
export interface LogLayout {
  readonly commit: string;
  readonly parents: readonly string[];
  readonly segments: readonly Segment[];
  /** Blob of the file `notes` at the root, where there may be one. */
  readonly notes: string | undefined;
  /** Entries of the root (but for `notes`), of its last folder, and of that one's last folder. */
  readonly openFolders: readonly [readonly TreeEntry[], readonly TreeEntry[], readonly TreeEntry[]];
}

/** Bytes of a full folder: 64 entries of mode, name, NUL and 20 bytes of id. */
const treeBytesMax = (segmentFanout + 1) * (6 + 1 + 8 + 1 + 20);

interface Folder {
  readonly path: string;
  readonly oid: string;
}

/** The children of a folder: names 00, 01, … without a gap, all folders (or, at the last level, all plain files). */
function readEntries(folder: Folder, content: Buffer, leaf: boolean): Result<readonly TreeEntry[], TreeFaultCode> {
  const entries = decodeTree(content);
  const at = folder.path === '' ? 'the root folder' : folder.path;
  if (entries === undefined || entries.length === 0) return refuse('TREE_SHAPE', `${at} is not a folder with entries`);
  if (entries.length > segmentFanout) return refuse('TREE_SHAPE', `${at} has more than ${segmentFanout} entries`);
  for (const [index, entry] of entries.entries()) {
    const name = `${String(index).padStart(2, '0')}${leaf ? '.jsonl' : ''}`;
    if (entry.name !== name) return refuse('TREE_SHAPE', `${at} has an entry where ${name} was expected`);
    if (entry.mode !== (leaf ? '100644' : '40000'))
      return refuse('TREE_SHAPE', `${at}/${name} is not a plain ${leaf ? 'file' : 'folder'}`);
  }
  return ok(entries.map(({ name, oid }) => ({ name, oid, folder: !leaf })));
}

async function readOne(
  reader: ObjectReader,
  oid: string,
  limits: { type: 'commit' | 'tree'; bytesMax: number },
): Promise<ReadObject | ObjectFault> {
  const [answer] = await reader.read([oid], limits);
  return answer ?? { ok: false, code: 'MISSING', oid, detail: 'no answer' };
}

/** The root without its file `notes`. git sorts that after the folders, whose names are digits. */
function splitNotes(content: Buffer): { readonly content: Buffer; readonly notes: string | undefined } {
  const last = decodeTree(content)?.at(-1);
  if (last?.name !== notesName || last.mode !== '100644') return { content, notes: undefined };
  return { content: content.subarray(0, content.length - notesEntryBytes), notes: last.oid };
}

/** Name of the file of facts that only its host needs, in the branch of a view journal. */
export const notesName = 'notes';
const notesEntryBytes = `100644 ${notesName}\0`.length + 20;

/**
 * Reads the layout of a log at a commit. Only folders are read, no segment. Only the last folder of each level may have
 * fewer than 64 entries, so the layout is the one that the lines alone decide. `notes`: there may be a file of that name.
 */
export async function readLogLayout(
  reader: ObjectReader,
  commit: string,
  options: { readonly notes?: boolean } = {},
): Promise<Result<LogLayout, TreeFaultCode>> {
  const object = await readOne(reader, commit, { type: 'commit', bytesMax: commitBytesMax });
  if (!object.ok)
    return object.code === 'WRONG_TYPE'
      ? refuse('NOT_A_COMMIT', `${commit} ${object.detail}`)
      : objectFault(object, 'object');
  const header = decodeCommit(object.content);
  if (header === undefined) return refuse('NOT_A_COMMIT', `${commit} has no tree`);
  let folders: readonly Folder[] = [{ path: '', oid: header.tree }];
  const open: (readonly TreeEntry[])[] = [];
  let notes: string | undefined;
  for (const [depth, leaf] of [false, false, true].entries()) {
    const level = await readLevel(reader, folders, { leaf, notes: depth === 0 && options.notes === true });
    if (!level.ok) return level;
    open.push(level.value.last);
    notes ??= level.value.notes;
    folders = level.value.children;
  }
  const [first = [], second = [], third = []] = open;
  return ok({
    commit,
    parents: header.parents,
    segments: folders.map((file, index) => ({ index, oid: file.oid })),
    notes,
    openFolders: [first, second, third],
  });
}

async function readLevel(
  reader: ObjectReader,
  folders: readonly Folder[],
  at: { readonly leaf: boolean; readonly notes: boolean },
): Promise<Result<{ children: Folder[]; last: readonly TreeEntry[]; notes: string | undefined }, TreeFaultCode>> {
  const answers = await reader.read(
    folders.map((folder) => folder.oid),
    { type: 'tree', bytesMax: treeBytesMax },
  );
  const children: Folder[] = [];
  let last: readonly TreeEntry[] = [];
  let notes: string | undefined;
  for (const [index, folder] of folders.entries()) {
    const answer = answers[index];
    if (answer === undefined || !answer.ok)
      return objectFault(answer ?? { ok: false, code: 'MISSING', oid: folder.oid, detail: 'no answer' }, folder.path);
    const split = at.notes ? splitNotes(answer.content) : { content: answer.content, notes };
    notes = split.notes;
    const entries = readEntries(folder, split.content, at.leaf);
    if (!entries.ok) return entries;
    last = entries.value;
    if (index < folders.length - 1 && last.length < segmentFanout)
      return refuse('TREE_SHAPE', `${folder.path} is not full, but a later folder exists`);
    for (const entry of last)
      children.push({ path: folder.path === '' ? entry.name : `${folder.path}/${entry.name}`, oid: entry.oid });
  }
  return ok({ children, last, notes });
}

/** Lines of consecutive segments. A line is text where its bytes are UTF-8, else the bytes, for the parser to refuse. */
export interface SegmentLines {
  readonly segment: Segment;
  readonly content: Buffer;
  readonly lines: readonly (string | Uint8Array)[];
}

/** A segment, or why reading ended there. `before`: its lines before a torn last one; they are as good as any. */
export type SegmentRead =
  | { readonly ok: true; readonly value: SegmentLines }
  | {
      readonly ok: false;
      readonly code: TreeFaultCode;
      readonly detail: string;
      readonly before?: SegmentLines['lines'];
    };

/** How many segments are read at a time: about 1 MiB, so that memory stays flat over a log of any length. */
const segmentsAtATime = 64;

/**
 * Reads segments in order, from the given index on. Ends with a fault at the first one that is missing, damaged, too
 * large, empty, does not end in a newline (a torn tail is never joined to the next line), is sealed too early or grew on
 * after it should have been sealed.
 */
export async function* readSegments(reader: ObjectReader, layout: LogLayout, from = 0): AsyncGenerator<SegmentRead> {
  for (let start = from; start < layout.segments.length; start += segmentsAtATime) {
    const batch = layout.segments.slice(start, start + segmentsAtATime);
    const answers = await reader.read(
      batch.map((segment) => segment.oid),
      { type: 'blob', bytesMax: segmentBytesMax },
    );
    for (const [index, segment] of batch.entries()) {
      const answer = answers[index];
      if (answer === undefined || !answer.ok) {
        yield objectFault(
          answer ?? { ok: false, code: 'MISSING', oid: segment.oid, detail: 'no answer' },
          segmentPath(segment.index),
        );
        return;
      }
      const result = splitSegment(segment, answer.content, segment.index === layout.segments.length - 1);
      yield result;
      if (!result.ok) return;
    }
  }
}

function splitSegment(segment: Segment, content: Buffer, last: boolean): SegmentRead {
  const at = segmentPath(segment.index);
  if (content.length === 0) return refuse('TREE_SHAPE', `${at} is empty`);
  if (content.at(-1) !== 0x0a) {
    const torn = refuse('TREE_SHAPE', `${at} does not end in a newline: its last line is torn`);
    return { ...torn, before: splitLines(content).lines };
  }
  if (!last && content.length < segmentSealBytes)
    return refuse('TREE_SHAPE', `${at} is followed by another segment, but is not full`);
  const beforeLastLine = content.lastIndexOf(0x0a, content.length - 2) + 1;
  if (beforeLastLine >= segmentSealBytes) return refuse('TREE_SHAPE', `${at} holds a line beyond its seal`);
  return ok({ segment, content, lines: splitLines(content).lines });
}

/** The lines of one segment. Ends as `readSegments`. */
export async function readSegment(reader: ObjectReader, layout: LogLayout, index: number): Promise<SegmentRead> {
  for await (const part of readSegments(reader, { ...layout, segments: layout.segments.slice(0, index + 1) }, index))
    return part;
  return refuse('TREE_SHAPE', `there is no segment ${index}`);
}

/** The same fault in our own copy of a log: an operating failure. */
export function logError(
  host: string,
  fault: { readonly code: TreeFaultCode; readonly detail: string },
): OperatingError {
  return treeError(`log ${host}`, fault);
}
