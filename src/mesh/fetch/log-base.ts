/** What we hold of a log, as far as judging an extension needs it: its files by id, and the bytes of the open one. */
import type { LogTip } from '../node.ts';
import { recordingReader, type FolderCache } from '../judge/recording-reader.ts';
import { childDeadlineMs } from '../../core/limits.ts';
import { parseLine } from '../../core/line.ts';
import { splitLines } from '../../core/segments.ts';
import type { Repository } from '../../store/git/repository.ts';
import { logError, readLogLayout, readSegments, type LogLayout } from '../../store/logs/log-tree.ts';

/** Our copy of a log at one commit. */
export interface LogBase {
  readonly tip: LogTip;
  readonly layout: LogLayout;
  /** Content of the last segment. */
  readonly open: Buffer;
  /** Objects of this commit that are known to be durable. */
  readonly durable: ReadonlySet<string>;
}

interface BaseSource {
  readonly tip: LogTip;
  readonly mesh: string;
  readonly cache: FolderCache;
}

/**
 * Reads it from our repository: the folders and the last segment.
 * Throws OperatingError when our own copy is damaged.
 */
export async function readLogBase(repository: Repository, log: string, from: BaseSource): Promise<LogBase> {
  const reader = recordingReader(repository, { cache: from.cache, keep: false, deadlineMs: childDeadlineMs });
  try {
    const layout = await readLogLayout(reader, from.tip.oid);
    if (!layout.ok) throw logError(log, layout);
    let open: Buffer = Buffer.alloc(0);
    for await (const part of readSegments(reader, layout.value, layout.value.segments.length - 1)) {
      if (!part.ok) throw logError(log, part);
      open = part.value.content;
    }
    requireTip(log, open, from);
    return { tip: from.tip, layout: layout.value, open, durable: reader.seen() };
  } finally {
    await reader.close();
  }
}

/** A copy with a damaged tail has an earlier tip than its commit. Judging a peer by it would blame the peer for our damage. */
function requireTip(log: string, open: Buffer, from: BaseSource): void {
  const last = splitLines(open).lines.at(-1);
  const line = last === undefined ? undefined : parseLine(last, from.mesh);
  if (line?.ok === true && line.value.link === from.tip.link) return;
  throw logError(log, { code: 'TREE_SHAPE', detail: `our copy holds lines after ${from.tip.seq} that are not usable` });
}
