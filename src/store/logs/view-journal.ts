/**
 * View journals in the repository: branch `view/<host>`, laid out like a log, with a file `notes` beside the segments.
 * Lines are read from the end, a segment at a time, so that the newest ones cost the same however long a journal is.
 * Source: docs/format.md, sections 7 and 8.
 */
import { viewNotesBytesMax } from '../../core/limits.ts';
import { splitLines } from '../../core/segments.ts';
import { parseViewLine, type ViewLine } from '../../core/view-line.ts';
import { assert } from '../../crypto/result.ts';
import { decodeUtf8 } from '../../crypto/text.ts';
import { diskError } from '../errors.ts';
import { openReader, type ObjectReader } from '../git/reader.ts';
import { readRef, viewBranch, type LineBranch } from '../git/refs.ts';
import type { Repository } from '../git/repository.ts';
import { appendLines, readWriterState, type WriteContext, type WriterState } from './log-append.ts';
import { readLogLayout, readSegment } from './log-tree.ts';
import { treeError } from '../tree-fault.ts';

/** Commit of a host's view journal here; null without one. Errors: `REF_DAMAGED`. */
export function viewCommit(repository: Repository, host: string): string | null {
  return readRef(repository, viewBranch(host).ref);
}

/**
 * The lines of the journal of a host, newest first. None without a branch. Each is well formed; whether it is signed and
 * chained is the reader's to judge.
 * Errors: `REF_DAMAGED`, `OBJECT_DAMAGED`, `OBJECT_MISSING`, `BRANCH_DAMAGED`.
 */
export async function* readViewLines(repository: Repository, host: string): AsyncGenerator<ViewLine> {
  const branch = viewBranch(host);
  const oid = readRef(repository, branch.ref);
  if (oid === null) return;
  const reader = openReader(repository);
  try {
    const layout = await readLogLayout(reader, oid, { notes: true });
    if (!layout.ok) throw treeError(branch.name, layout);
    for (let index = layout.value.segments.length - 1; index >= 0; index -= 1) {
      const part = await readSegment(reader, layout.value, index);
      if (!part.ok) throw treeError(branch.name, part);
      for (const text of part.value.lines.toReversed()) yield readLine(branch, text);
    }
  } finally {
    await reader.close();
  }
}

/** The newest line of a journal; undefined without one. Errors: as `readViewLines`. */
export async function readNewestViewLine(repository: Repository, host: string): Promise<ViewLine | undefined> {
  for await (const line of readViewLines(repository, host)) return line;
  return undefined;
}

/** The file `notes` of a host's journal; null when it has none, undefined without a journal. Errors: as `readViewLines`. */
export async function readNotes(repository: Repository, host: string): Promise<string | null | undefined> {
  const branch = viewBranch(host);
  const oid = readRef(repository, branch.ref);
  if (oid === null) return undefined;
  const reader = openReader(repository);
  try {
    const layout = await readLogLayout(reader, oid, { notes: true });
    if (!layout.ok) throw treeError(branch.name, layout);
    const { notes } = layout.value;
    return notes === undefined ? null : await readNotesBlob(reader, branch, notes);
  } finally {
    await reader.close();
  }
}

async function readNotesBlob(reader: ObjectReader, { name }: LineBranch, oid: string): Promise<string> {
  const [answer] = await reader.read([oid], { type: 'blob', bytesMax: viewNotesBytesMax });
  const text = answer?.ok === true ? decodeUtf8(answer.content) : undefined;
  if (text !== undefined) return text;
  throw treeError(name, { code: 'TREE_SHAPE', detail: 'its notes cannot be read' });
}

/** The one writer of this host's journal, under the home lock. After a failure it must be opened again. */
export interface ViewWriter {
  /** The last line; null for a new journal. */
  newest(): ViewLine | null;
  /** Commit of the branch; null for a new journal. */
  head(): string | null;
  /** Appends one line, durable on return. Errors: as `LogWriter.append`. */
  append(line: ViewLine): Promise<void>;
  /** Replaces the notes, at most `viewNotesBytesMax` bytes; there is a line already. Errors: as `LogWriter.append`. */
  writeNotes(text: string): Promise<void>;
}

/** Opens the journal of a host for appending. Errors: as `readViewLines`, `DISK_FAILED`. */
export async function openViewWriter(options: {
  readonly repository: Repository;
  readonly host: string;
  readonly meshId: string;
}): Promise<ViewWriter> {
  const { repository, host, meshId } = options;
  const branch = viewBranch(host);
  const context: WriteContext = { repository, host, branch, author: `memd <${host}@${meshId}>` };
  let state = await readWriterState(repository, branch, { notes: true });
  let newest = newestOf(branch, state);
  const write = async (lines: readonly ViewLine[], notes?: Buffer): Promise<void> => {
    try {
      state = await appendLines(
        context,
        state,
        lines.map(({ text, at }) => ({ text, body: { at } })),
        notes,
      );
    } catch (error) {
      throw diskError(error, 'append to', branch.name);
    }
  };
  return {
    newest: () => newest,
    head: () => state.oid,
    append: async (line) => {
      await write([line]);
      newest = line;
    },
    writeNotes: (text) => {
      const bytes = Buffer.from(text);
      assert(bytes.length <= viewNotesBytesMax, 'notes are bounded by whoever writes them');
      assert(newest !== null, 'notes stand beside a line');
      return write([], bytes);
    },
  };
}

function newestOf(branch: LineBranch, state: WriterState): ViewLine | null {
  const text = splitLines(state.open).lines.at(-1);
  return text === undefined ? null : readLine(branch, text);
}

function readLine({ name }: LineBranch, text: string | Uint8Array): ViewLine {
  const line = typeof text === 'string' ? parseViewLine(text) : undefined;
  if (line?.ok === true) return line.value;
  const detail = line === undefined ? 'is not text' : `${line.detail} (${line.code})`;
  throw treeError(name, { code: 'TREE_SHAPE', detail: `a line cannot be read: ${detail}` });
}
