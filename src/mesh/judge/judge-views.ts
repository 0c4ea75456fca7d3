/**
 * A fetched view journal, line by line: it extends what is here, each line follows the one before, and each is signed by
 * its host. A segment is read once; what is here already is compared by object ids, and the open segment by its lines.
 */
import { viewNotesBytesMax } from '../../core/limits.ts';
import type { ViewFaultCode } from '../../core/sync/peer.ts';
import { nextViewLine, type ViewOwner } from '../../core/view-chain.ts';
import { keysBehind, parseViewLine, type ViewLine } from '../../core/view-line.ts';
import { ok, refuse, type Result } from '../../crypto/result.ts';
import type { ObjectReader } from '../../store/git/reader.ts';
import {
  readLogLayout,
  readSegment,
  readSegments,
  type LogLayout,
  type SegmentLines,
} from '../../store/logs/log-tree.ts';
import type { TreeFaultCode } from '../../store/tree-fault.ts';

/** A journal at one commit, as far as judging an extension needs it. */
export interface ViewBase {
  readonly segments: LogLayout['segments'];
  /** Lines of the last segment. */
  readonly open: SegmentLines['lines'];
  /** null: no line yet. */
  readonly last: ViewLine | null;
}

/** Nothing is held. */
export const emptyViewBase: ViewBase = { segments: [], open: [], last: null };

/** What is known of our own copy at a commit: its last segment is read, and nothing is judged anew. */
export async function readViewBase(reader: ObjectReader, commit: string): Promise<Result<ViewBase, TreeFaultCode>> {
  const layout = await readLogLayout(reader, commit, { notes: true });
  if (!layout.ok) return layout;
  const { segments } = layout.value;
  const part = await readSegment(reader, layout.value, segments.length - 1);
  if (!part.ok) return refuse(part.code, part.detail);
  const open = part.value.lines;
  const text = open.at(-1);
  const last = typeof text === 'string' ? parseViewLine(text) : undefined;
  return last?.ok === true ? ok({ segments, open, last: last.value }) : refuse('TREE_SHAPE', 'its last line is none');
}

/** `lines`: the newest of the lines that are new, in order. */
export interface ViewExtension {
  readonly base: ViewBase;
  readonly lines: readonly ViewLine[];
}

/** New lines that are handed on: what hosts say of the same input is compared over these. */
const linesKept = 64;

/** Judges a commit on top of what is known. Never throws for what a peer sent. */
export async function judgeViews(
  reader: ObjectReader,
  commit: string,
  about: { readonly owner: ViewOwner; readonly base: ViewBase },
): Promise<Result<ViewExtension, ViewFaultCode>> {
  const { owner, base } = about;
  const read = await readLogLayout(reader, commit, { notes: true });
  if (!read.ok) return refuse('VIEW_CUT', read.detail);
  const { segments, notes } = read.value;
  const from = Math.max(0, base.segments.length - 1);
  const sealed = base.segments.slice(0, from);
  if (sealed.some(({ oid }, index) => segments[index]?.oid !== oid)) return forked();
  if (notes !== undefined && !(await isNotes(reader, notes))) return refuse('VIEW_CUT', 'its notes cannot be read');
  return judgeSegments(readSegments(reader, read.value, from), { owner, base, segments });
}

async function judgeSegments(
  parts: ReturnType<typeof readSegments>,
  about: { readonly owner: ViewOwner; readonly base: ViewBase; readonly segments: LogLayout['segments'] },
): Promise<Result<ViewExtension, ViewFaultCode>> {
  const { owner, base, segments } = about;
  const lines: ViewLine[] = [];
  let known = base.open;
  let { last } = base;
  let behind = keysBehind(last, owner.keys, owner.verify);
  let open: SegmentLines['lines'] = [];
  for await (const part of parts) {
    if (!part.ok) return refuse('VIEW_CUT', part.detail);
    open = part.value.lines;
    if (known.some((text, index) => !sameText(text, open[index]))) return forked();
    for (const text of open.slice(known.length)) {
      const next = nextViewLine(text, last, { owner, behind });
      if (!next.ok) return next;
      last = next.value.line;
      behind += next.value.key;
      lines.push(last);
      if (lines.length > linesKept) lines.shift();
    }
    known = [];
    await nextTurn();
  }
  return ok({ base: { segments, open, last }, lines });
}

async function isNotes(reader: ObjectReader, oid: string): Promise<boolean> {
  const [answer] = await reader.read([oid], { type: 'blob', bytesMax: viewNotesBytesMax });
  return answer?.ok === true;
}

function forked(): Result<never, ViewFaultCode> {
  return refuse('VIEW_FORKED', 'it is another journal than the one that is here');
}

function sameText(left: string | Uint8Array, right: string | Uint8Array | undefined): boolean {
  return typeof left === 'string' && left === right;
}

/** Each line costs two signatures; others want their turn between segments. */
function nextTurn(): Promise<void> {
  return new Promise((resume) => {
    setImmediate(resume);
  });
}
