/**
 * A log without what purges name: those lines become holes, every other line stays byte for byte, and the branch becomes
 * one commit without a parent, since a parent would keep what is to go. The commit follows from the lines and the purged
 * ids alone, so that hosts with the same lines get the same one.
 */

import { holeOf, parseLine } from '../../core/line.ts';
import type { PurgedIds } from '../../core/log.ts';
import { utf8Bytes } from '../../crypto/text.ts';
import { encodeCommit } from '../git/object-id.ts';
import { openReader, type ObjectReader } from '../git/reader.ts';
import { compareAndSwapRef, logBranch, logRef, readRef, removeRef } from '../git/refs.ts';
import type { ObjectView, Repository } from '../git/repository.ts';
import { commitMessage, commitSeconds } from './log-append.ts';
import { objectOutput, openLogTree } from './log-output.ts';
import { logError, readLogLayout, readSegments, type LogLayout } from './log-tree.ts';

/** A log and the ids that must not keep a body in it. */
export interface RewriteContext {
  readonly repository: Repository;
  readonly host: string;
  readonly meshId: string;
  readonly purged: PurgedIds;
}

/** What a rewriting came to: the new commit, its lines, and how many of them lost their body now. */
export interface RewrittenLog {
  readonly oid: string;
  readonly lines: number;
  readonly holes: number;
}

type RawLine = string | Uint8Array;

/** A log whose last bodies are all gone is dated by the last body that is left; reading ends with the child's deadline. */
const readDeadlineMs = 600_000;

/**
 * Rewrites the branch of a log. Durable on return; undefined when no line of it has a body that must go. A crash leaves the
 * old branch or the new one. Nothing is dropped yet: see `dropUnreachable`.
 * Errors: `REF_DAMAGED`, `REF_CHANGED`, `REF_LOCKED`, `OBJECT_DAMAGED`, `OBJECT_MISSING`, `BRANCH_DAMAGED`, `DISK_FAILED`,
 * `DISK_FULL`.
 */
export async function rewriteLog(context: RewriteContext): Promise<RewrittenLog | undefined> {
  const { repository, host } = context;
  const ref = logRef(host);
  const commit = readRef(repository, ref);
  if (commit === null) return undefined;
  const rewritten = await writeRewritten(context, { view: repository, commit });
  if (rewritten === undefined) return undefined;
  await compareAndSwapRef(repository, { ref, expected: commit, next: rewritten.oid });
  return rewritten;
}

/**
 * Shortens the branch of a log to its first lines, in one commit without a parent, which follows from those lines alone;
 * with none the branch is gone. Durable on return. Errors: as `rewriteLog`.
 */
export async function cutLog(context: RewriteContext, lines: number): Promise<void> {
  const { repository, host } = context;
  const ref = logRef(host);
  const commit = readRef(repository, ref);
  if (commit === null) return;
  if (lines === 0) return removeRef(repository, { ref, expected: commit });
  const reader = openReader(repository, { deadlineMs: readDeadlineMs });
  try {
    const read = await readLogLayout(reader, commit);
    if (!read.ok) throw logError(host, read);
    const start = { segment: 0, lines: 0, at: undefined, upto: lines };
    const { oid } = await writeFrom({ context, reader, layout: read.value }, start);
    await compareAndSwapRef(repository, { ref, expected: commit, next: oid });
  } finally {
    await reader.close();
  }
}

/**
 * Writes the objects of a rewritten log, and moves no branch. `view` other than our repository: a quarantine, of which
 * nothing else is kept; then all files are written. Undefined when no line has a body that must go. Errors: as `rewriteLog`.
 */
export async function writeRewritten(
  context: RewriteContext,
  source: { readonly view: ObjectView; readonly commit: string },
): Promise<RewrittenLog | undefined> {
  const reader = openReader(source.view, { deadlineMs: readDeadlineMs });
  try {
    const read = await readLogLayout(reader, source.commit);
    if (!read.ok) throw logError(context.host, read);
    const log: OpenLog = { context, reader, layout: read.value };
    const first = await findFirst(log);
    if (first === undefined) return undefined;
    return await writeFrom(log, source.view === context.repository ? first : { ...first, segment: 0, lines: 0 });
  } finally {
    await reader.close();
  }
}

interface OpenLog {
  readonly context: RewriteContext;
  readonly reader: ObjectReader;
  readonly layout: LogLayout;
}

/** Where writing begins: a file, the lines before it, and the last claimed time before it. */
interface Start {
  readonly segment: number;
  readonly lines: number;
  readonly at: string | undefined;
  /** Lines to end after; absent: all. */
  readonly upto?: number;
}

/** The first file with a body that must go. */
async function findFirst({ context, reader, layout }: OpenLog): Promise<Start | undefined> {
  let lines = 0;
  let at: string | undefined;
  for await (const part of readSegments(reader, layout)) {
    if (!part.ok) throw logError(context.host, part);
    const held = part.value.lines.map((line) => withoutBody(context, line));
    if (held.some(({ hole }) => hole)) return { segment: part.value.segment.index, lines, at };
    lines += held.length;
    at = held.findLast((line) => line.at !== undefined)?.at ?? at;
  }
  return undefined;
}

/** A line as it is to be kept; `at` is the claimed time of a body that stays. Lines that cannot be read stay as they are. */
export function withoutBody(
  { meshId, purged }: Pick<RewriteContext, 'meshId' | 'purged'>,
  line: RawLine,
): { readonly line: RawLine; readonly hole: boolean; readonly at: string | undefined } {
  const parsed = parseLine(line, meshId);
  if (!parsed.ok) return { line, hole: false, at: undefined };
  const { id, fault, body } = parsed.value;
  if (fault === 'HOLE' || !purged.has(id)) return { line, hole: false, at: body?.at };
  return { line: holeOf(parsed.value).text, hole: true, at: undefined };
}

async function writeFrom({ context, reader, layout }: OpenLog, start: Start): Promise<RewrittenLog> {
  const { repository, host } = context;
  const output = objectOutput(repository);
  const before = layout.segments.slice(0, start.segment).map(({ oid }) => oid);
  const log = openLogTree(output, host, before);
  let { lines, at } = start;
  let holes = 0;
  const { upto = Infinity } = start;
  for await (const part of readSegments(reader, layout, start.segment)) {
    if (!part.ok) throw logError(host, part);
    if (lines >= upto) break;
    for (const given of part.value.lines.slice(0, upto - lines)) {
      const kept = withoutBody(context, given);
      await log.add(typeof kept.line === 'string' ? utf8Bytes(kept.line) : kept.line);
      lines += 1;
      holes += kept.hole ? 1 : 0;
      at = kept.at ?? at;
    }
  }
  const tree = await log.end();
  const author = `memd <${host}@${context.meshId}>`;
  const seconds = commitSeconds(at === undefined ? undefined : { text: '', body: { at } });
  const message = commitMessage(logBranch(host), lines);
  const oid = await output.put(encodeCommit({ tree, parent: null, author, seconds, message }));
  await output.end();
  return { oid, lines, holes };
}
