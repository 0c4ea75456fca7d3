/**
 * Does a commit hold our log and more? Sizes and shape first, then the lines. What we hold is compared by ids and bytes
 * where those are equal, and by links where they are not: a link is what names a prefix.
 */
import { setImmediate } from 'node:timers/promises';
import {
  extendLog,
  extendLogInSteps,
  type HostKeySpan,
  type LogExtension,
  type LogStart,
  type PurgedIds,
  type VerifiedLine,
} from '../../core/log.ts';
import { parseLine, type Line } from '../../core/line.ts';
import { splitLines } from '../../core/segments.ts';
import type { AdmissionFaultCode } from '../../core/sync/peer.ts';
import type { AdmissionFault } from '../../core/sync/vocabulary.ts';
import type { ObjectReader } from '../../store/git/reader.ts';
import { logError, readLogLayout, readSegments, type LogLayout, type SegmentLines } from '../../store/logs/log-tree.ts';
import type { TreeFaultCode } from '../../store/tree-fault.ts';
import type { LogBase } from '../fetch/log-base.ts';

/**
 * `extends`: `lines` follow what we hold; with a `fault`, the commit holds more that is bad. `covered`: its files hold bodies
 * that are purged, so that they must not be kept.
 */
export type Judgement =
  | {
      readonly kind: 'extends';
      readonly lines: readonly VerifiedLine[];
      readonly layout: LogLayout;
      readonly open: Buffer;
      readonly covered: boolean;
      readonly fault?: AdmissionFault;
    }
  | { readonly kind: 'same' }
  | { readonly kind: 'shorter' }
  | { readonly kind: 'refused'; readonly fault: AdmissionFault };

export interface JudgeContext {
  /** Reads their objects first, then ours. */
  readonly reader: ObjectReader;
  readonly log: string;
  readonly mesh: string;
  readonly keys: readonly HostKeySpan[];
  readonly purged?: PurgedIds | undefined;
  /** Null when we hold no line. */
  readonly base: LogBase | null;
}

type RawLine = string | Uint8Array;

/** Judges one commit against what we hold. Never throws for what the peer sent. */
export async function judgeCommit(context: JudgeContext, commit: string): Promise<Judgement> {
  const { base, reader, mesh } = context;
  const read = await readLogLayout(reader, commit);
  if (!read.ok) return refused(treeFault(read));
  const layout = read.value;
  if (base === null) return extendFrom(context, { layout, from: 0, skipBytes: 0, start: { seq: 0, link: mesh } });
  const ours = base.layout.segments;
  const same = equalSegments(base.layout, layout);
  if (same < ours.length - 1 || layout.segments.length < ours.length) return compareLines(context, base, layout);
  if (same === ours.length && layout.segments.length === same) return { kind: 'same' };
  // Also when our last segment is unchanged: a further one may follow it only if it is full.
  const open = await readOpen(context, layout, ours.length - 1);
  if ('code' in open) return refused(open);
  const isPrefix = open.length >= base.open.length && open.subarray(0, base.open.length).equals(base.open);
  if (!isPrefix) return compareLines(context, base, layout);
  return extendFrom(context, { layout, from: ours.length - 1, skipBytes: base.open.length, start: base.tip });
}

function refused(fault: AdmissionFault): Judgement {
  return { kind: 'refused', fault };
}

const treeFaultCodes = {
  OBJECT_MISSING: 'MISSING_OBJECT',
  OBJECT_DAMAGED: 'MISSING_OBJECT',
  NOT_A_COMMIT: 'NOT_A_COMMIT',
  TREE_SHAPE: 'TREE_SHAPE',
  TOO_LARGE: 'TOO_LARGE',
} as const satisfies Record<TreeFaultCode, AdmissionFaultCode>;

export function treeFault(fault: { readonly code: TreeFaultCode; readonly detail: string }): AdmissionFault {
  return { code: treeFaultCodes[fault.code], detail: fault.detail };
}

/** How many segments, from the first on, are the same file in both. */
export function equalSegments(left: LogLayout, right: LogLayout): number {
  const end = Math.min(left.segments.length, right.segments.length);
  let count = 0;
  while (count < end && left.segments[count]?.oid === right.segments[count]?.oid) count += 1;
  return count;
}

async function readOpen({ reader }: JudgeContext, layout: LogLayout, index: number): Promise<Buffer | AdmissionFault> {
  for await (const part of readSegments(reader, layout, index)) return part.ok ? part.value.content : treeFault(part);
  return { code: 'TREE_SHAPE', detail: 'a segment is missing' };
}

/** Where new lines begin in a layout, and after which verified line. */
interface Continuation {
  readonly layout: LogLayout;
  readonly from: number;
  readonly skipBytes: number;
  readonly start: { readonly seq: number; readonly link: string };
}

/** Reads and verifies everything from a place on. */
async function extendFrom(context: JudgeContext, at: Continuation): Promise<Judgement> {
  const lines: RawLine[] = [];
  let open: Buffer = Buffer.alloc(0);
  let shape: AdmissionFault | undefined;
  for await (const part of readSegments(context.reader, at.layout, at.from)) {
    if (!part.ok) {
      shape = treeFault(part);
      break;
    }
    const skip = part.value.segment.index === at.from ? at.skipBytes : 0;
    for (const line of skip === 0 ? part.value.lines : splitLines(part.value.content.subarray(skip)).lines)
      lines.push(line);
    open = part.value.content;
    await setImmediate();
  }
  const extension = await verify(context, { from: at.start }, lines);
  const fault = logFault(extension) ?? shape;
  const covered = extension.covered !== undefined;
  const found = { kind: 'extends', lines: extension.lines, layout: at.layout, open, covered } as const;
  return fault === undefined ? found : { ...found, fault };
}

function readingOf({ log, mesh, keys, purged }: JudgeContext): Omit<LogStart, 'from'> {
  return { host: log, mesh, keys, ...(purged === undefined ? {} : { purged }) };
}

async function verify(
  context: JudgeContext,
  how: { from: { seq: number; link: string }; verifyEvery?: boolean },
  lines: readonly RawLine[],
): Promise<LogExtension> {
  const steps = extendLogInSteps({ ...readingOf(context), ...how }, lines);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    // A long log must not hold up the ssh server and the local socket.
    await setImmediate();
  }
}

function logFault(extension: LogExtension): AdmissionFault | undefined {
  const { fault } = extension;
  return fault === undefined
    ? undefined
    : { code: 'LOG_CUT', seq: fault.seq, detail: `line ${fault.seq}: ${fault.detail} (${fault.code})` };
}

/** Files of ours differ: compares line by line from the first such file on. */
async function compareLines(context: JudgeContext, base: LogBase, layout: LogLayout): Promise<Judgement> {
  const from = equalSegments(base.layout, layout);
  const ours = lineStream(readSegments(context.reader, base.layout, from));
  const theirs = lineStream(readSegments(context.reader, layout, from));
  const all: RawLine[] = [];
  let start: { seq: number; link: string } | undefined;
  let open: Buffer = Buffer.alloc(0);
  for await (const mine of ours) {
    if ('fault' in mine) throw logError(context.log, mine.fault);
    const line = parseLine(mine.line, context.mesh);
    if (!line.ok)
      throw logError(context.log, { code: 'TREE_SHAPE', detail: `a line of ours cannot be read: ${line.detail}` });
    start ??= { seq: line.value.seq - 1, link: line.value.prev };
    const next = await theirs.next();
    if (next.done === true) return { kind: 'shorter' };
    if ('fault' in next.value) return refused(treeFault(next.value.fault));
    const other = parseLine(next.value.line, context.mesh);
    const { seq } = line.value;
    if (!other.ok) return refused({ code: 'LOG_CUT', seq, detail: `line ${seq}: ${other.detail} (${other.code})` });
    if (other.value.link !== line.value.link) return refused(divergence(context, line.value, next.value.line));
    all.push(next.value.line);
    open = next.value.content;
  }
  for await (const more of theirs) {
    if ('fault' in more) return refused(treeFault(more.fault));
    all.push(more.line);
    open = more.content;
  }
  // Other bytes under the same links: every signature is checked, since the last one vouches for links, not for bytes.
  const extension = await verify(context, { from: start ?? base.tip, verifyEvery: true }, all);
  const fault = logFault(extension);
  if (fault !== undefined && extension.tip.seq <= base.tip.seq) return refused(fault);
  const lines = extension.lines.filter((line) => line.seq > base.tip.seq);
  if (lines.length === 0) return { kind: 'same' };
  const covered = extension.covered !== undefined;
  return { kind: 'extends', lines, layout, open, covered, ...(fault === undefined ? {} : { fault }) };
}

/** The first line that differs. If the host signed their version too, the host wrote two histories. */
function divergence(context: JudgeContext, mine: Line, theirs: RawLine): AdmissionFault {
  const { log } = context;
  const { seq } = mine;
  const other = extendLog({ ...readingOf(context), from: { seq: seq - 1, link: mine.prev } }, [theirs]);
  const [line] = other.lines;
  const forked = line !== undefined;
  const who = forked ? `${log} signed both versions: its log is forked` : 'their version does not verify';
  const detail = `line ${seq} is another one than ours; ${who}`;
  return { code: 'NOT_EXTENSION', seq, forked, detail, ...(forked ? { fork: [mine, line] } : {}) };
}

type StreamedLine =
  | { readonly line: RawLine; readonly content: Buffer }
  | { readonly fault: { readonly code: TreeFaultCode; readonly detail: string } };

async function* lineStream(
  segments: AsyncGenerator<{ ok: true; value: SegmentLines } | { ok: false; code: TreeFaultCode; detail: string }>,
): AsyncGenerator<StreamedLine> {
  for await (const part of segments) {
    if (!part.ok) {
      yield { fault: part };
      return;
    }
    const { content } = part.value;
    for (const line of part.value.lines) yield { line, content };
    await setImmediate();
  }
}
