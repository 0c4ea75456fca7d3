/** The one writer of a log: a queue of appends, each durable before it is acknowledged. */

import { assert } from '../../crypto/result.ts';
import { diskError, OperatingError } from '../errors.ts';
import { logBranch } from '../git/refs.ts';
import type { Repository } from '../git/repository.ts';
import { appendLines, readWriterState, type WritableLine, type WriteContext, type WriterState } from './log-append.ts';
import { appendThroughImport, SourceFailure } from './log-bulk.ts';

/** Where a log stands after an append. */
export interface Appended {
  readonly oid: string;
  /** Lines written by this call. */
  readonly lines: number;
}

/** Lines in pieces, as they are built. */
export type LineBatches = AsyncIterable<readonly WritableLine[]> | Iterable<readonly WritableLine[]>;

/** Writer of one log; `LogStore` says what it promises. */
export interface LogWriter {
  readonly host: string;
  /** Commit that the next append builds on; null for a new log. */
  head(): string | null;
  /**
   * Appends lines (at least one) as one commit.
   * Errors: `WRITER_BROKEN`, `REF_CHANGED`, `REF_LOCKED`, `REF_DAMAGED`, `DISK_FAILED`, `DISK_FULL`, `LOG_FULL`.
   */
  append(lines: readonly WritableLine[]): Promise<Appended>;
  /**
   * Appends many lines as one commit through `git fast-import`, taking them as they are built; for 2 000 lines and more.
   * If the source throws, nothing is appended, its error is passed on, and the writer stays usable. No line at all is
   * refused by assertion. Errors: as `append`, `CHILD_FAILED`, `CHILD_TIMEOUT`, `PROGRAM_MISSING`.
   */
  appendBulk(batches: LineBatches): Promise<Appended>;
}

/**
 * Opens a log for appending. Call under the home lock.
 * Errors: `REF_DAMAGED`, `OBJECT_DAMAGED`, `OBJECT_MISSING`, `BRANCH_DAMAGED`, `DISK_FAILED`.
 */
export async function openLogWriter(options: {
  repository: Repository;
  host: string;
  meshId: string;
}): Promise<LogWriter> {
  const { repository, host, meshId } = options;
  const branch = logBranch(host);
  const context: WriteContext = { repository, host, branch, author: `memd <${host}@${meshId}>` };
  let state = await readWriterState(repository, branch);
  let broken: OperatingError | undefined;
  let queue: Promise<unknown> = Promise.resolve();

  /** One write at a time. A failure ends the writer: whether the branch moved is not known any more. */
  const write = (step: (from: WriterState) => Promise<{ state: WriterState; lines: number }>): Promise<Appended> => {
    const turn = queue.then(async () => {
      if (broken !== undefined) throw brokenError(host, broken);
      try {
        const done = await step(state);
        state = done.state;
        return { oid: state.oid ?? '', lines: done.lines };
      } catch (error) {
        if (error instanceof SourceFailure) throw error.cause;
        broken = diskError(error, 'append to log', host);
        throw broken;
      }
    });
    queue = turn.catch(() => undefined);
    return turn;
  };

  return {
    host,
    head: () => state.oid,
    append: (lines) => {
      assert(lines.length > 0, 'an append has at least one line');
      return write(async (from) => ({ state: await appendLines(context, from, lines), lines: lines.length }));
    },
    appendBulk: (batches) => write((from) => appendThroughImport(context, from, batches)),
  };
}

function brokenError(host: string, cause: OperatingError): OperatingError {
  return new OperatingError(
    'WRITER_BROKEN',
    `log ${host}: an earlier write failed (${cause.message}); whether it persisted is not known`,
    {
      cause,
      hint: 'the log must be read again before the next append; memd does so by itself',
    },
  );
}
