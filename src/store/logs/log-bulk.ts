/**
 * Bulk append: thousands of lines as one commit through `git fast-import`, which makes one pack instead of thousands of
 * loose files. It works on a temporary ref: fast-import has no true compare-and-swap, and a child that outlives a killed
 * daemon must not move a branch; and in an object folder of its own. The pack is moved in and made durable here, folders
 * included, before the branch moves.
 */

import { randomBytes } from 'node:crypto';
import { bulkDeadlineMs } from '../../core/limits.ts';
import { planSegments, segmentPath } from '../../core/segments.ts';
import { assert } from '../../crypto/result.ts';
import { utf8Bytes } from '../../crypto/text.ts';
import { failedChild, startChild, type RunningChild } from '../child.ts';
import { OperatingError } from '../errors.ts';
import { adoptPacks, makeObjectFolder, removeObjectFolder } from '../git/adopt-pack.ts';
import { isOid } from '../git/object-id.ts';
import { compareAndSwapRef, removeTemporaryRef } from '../git/refs.ts';
import { gitRequest, throughQuarantine } from '../git/repository.ts';
import {
  commitMessage,
  commitSeconds,
  logFull,
  readWriterState,
  segmentContent,
  type WritableLine,
  type WriteContext,
  type WriterState,
} from './log-append.ts';
import type { LineBatches } from './log-writer.ts';

/** The source of the lines threw; `cause` is what it threw. Nothing was appended. */
export class SourceFailure extends Error {
  constructor(cause: unknown) {
    super('the source of the lines failed', { cause });
    this.name = 'SourceFailure';
  }
}

/** Level 1, no deltas between segments, always one pack: speed now, `git repack` makes it small later. */
const importArgs = [
  '-c',
  'pack.compression=1',
  '-c',
  'core.compression=1',
  '-c',
  'fastimport.unpackLimit=1',
  'fast-import',
  '--quiet',
  '--done',
  '--depth=0',
  '--cat-blob-fd=1',
];

/** Appends through fast-import; durable on return. Errors: see `LogWriter.appendBulk`; `SourceFailure`. */
export async function appendThroughImport(
  context: WriteContext,
  state: WriterState,
  batches: LineBatches,
): Promise<{ state: WriterState; lines: number }> {
  const { repository, branch } = context;
  const name = `bulk-${randomBytes(8).toString('hex')}`;
  const temporaryRef = `refs/memd/${name}`;
  // A fast-import that finds no room, or is killed, leaves its temporary pack: here it goes with the folder.
  const folder = makeObjectFolder(repository, name);
  const view = throughQuarantine(repository, folder);
  const child = startChild(gitRequest(view, { args: importArgs, deadlineMs: bulkDeadlineMs }));
  try {
    const fed = await feedLines(context, { state, batches, child, temporaryRef });
    const oid = await finish(child);
    await adoptPacks(repository, folder);
    await compareAndSwapRef(repository, { ref: branch.ref, expected: state.oid, next: oid });
    return { state: await readWriterState(repository, branch), lines: fed };
  } finally {
    child.kill();
    await child.done.catch(() => undefined);
    removeObjectFolder(folder);
    removeTemporaryRef(repository, temporaryRef);
  }
}

interface Feed {
  readonly state: WriterState;
  readonly batches: LineBatches;
  readonly child: RunningChild;
  readonly temporaryRef: string;
}

/** Writes every segment as a blob as soon as it is full, then the commit that names them all. */
async function feedLines(context: WriteContext, feed: Feed): Promise<number> {
  const written: string[] = [];
  let open = { index: feed.state.index, content: feed.state.open };
  let lines = 0;
  let last: WritableLine | undefined;
  const flush = async (): Promise<void> => {
    written.push(segmentPath(open.index));
    await send(feed.child, [`blob\nmark :${written.length}\ndata ${open.content.length}\n`, open.content, '\n']);
  };
  for await (const batch of guardSource(feed.batches)) {
    const parts = planSegments(
      { index: open.index, bytes: open.content.length },
      batch.map((line) => utf8Bytes(line.text)),
    );
    if (parts === undefined) throw logFull(context.branch);
    for (const part of parts) {
      if (part.bytesBefore === 0 && open.content.length > 0 && part.index !== open.index) await flush();
      open = {
        index: part.index,
        content: segmentContent(part.bytesBefore === 0 ? Buffer.alloc(0) : open.content, part.lines),
      };
    }
    lines += batch.length;
    last = batch.at(-1) ?? last;
  }
  assert(lines > 0, 'a bulk append has at least one line');
  await flush();
  await send(feed.child, [commitCommand(context, { feed, written, lines, seconds: commitSeconds(last) })]);
  feed.child.stdin.end();
  return lines;
}

/** Marks what the source throws, so that it is not taken for a failure of the disk or of git. */
async function* guardSource(batches: LineBatches): AsyncGenerator<readonly WritableLine[]> {
  try {
    yield* batches;
  } catch (error) {
    throw new SourceFailure(error);
  }
}

function commitCommand(
  context: WriteContext,
  commit: { feed: Feed; written: readonly string[]; lines: number; seconds: number },
): string {
  const { feed, written, lines, seconds } = commit;
  const message = commitMessage(context.branch, lines);
  const mark = written.length + 1;
  return [
    `commit ${feed.temporaryRef}\nmark :${mark}\ncommitter ${context.author} ${Math.max(0, seconds)} +0000\n`,
    `data ${Buffer.byteLength(message)}\n${message}`,
    feed.state.oid === null ? '' : `from ${feed.state.oid}\n`,
    ...written.map((file, index) => `M 100644 :${index + 1} ${file}\n`),
    `\nget-mark :${mark}\ndone\n`,
  ].join('');
}

/** Writes to the child, waiting while its pipe is full; rejects when it ended early. */
async function send(child: RunningChild, parts: readonly (string | Buffer)[]): Promise<void> {
  let room = true;
  for (const part of parts) room = child.stdin.write(part);
  if (room) return;
  const drained = new Promise<void>((resolve) => child.stdin.once('drain', resolve));
  const ended = child.done.then((result) => {
    throw failedChild({ command: 'git', args: ['fast-import'] }, result);
  });
  await Promise.race([drained, ended]);
}

async function finish(child: RunningChild): Promise<string> {
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  const result = await child.done;
  const oid = Buffer.concat(chunks).toString('latin1').trim();
  if (result.code !== 0) throw failedChild({ command: 'git', args: ['fast-import'] }, result);
  if (!isOid(oid)) throw new OperatingError('CHILD_FAILED', 'git fast-import: gave no commit id');
  return oid;
}
