/**
 * Logs in the repository. `LogStore` is the port, and says what is promised of all of it (a fake of it runs through the
 * same contract suite); this file is the real one. The daemon, which needs no fake, calls its parts: `streamLog`, `readLog`
 * and `openLogWriter`.
 */

import { releaseBuffer } from '../buffers.ts';
import { openReader } from '../git/reader.ts';
import { listLogs, logRef, readRef } from '../git/refs.ts';
import type { Repository } from '../git/repository.ts';
import { logError, readLogLayout, readSegments } from './log-tree.ts';
import { openLogWriter, type LogWriter } from './log-writer.ts';

/** A log as it stands in the repository. */
export interface StoredLog {
  readonly host: string;
  /** Commit of the branch; null and no lines when there is no branch. */
  readonly oid: string | null;
  /** Text of every line without newline; bytes where they are not UTF-8 (the line parser refuses those). */
  readonly lines: readonly (string | Uint8Array)[];
}

/**
 * The port.
 *
 * Durability: when `append` resolves, the lines survive SIGKILL and a power cut. Atomicity: all lines of one call are
 * there or none. After a rejection the lines may be there or not (a failed write can have persisted): that writer refuses
 * everything from then on with `WRITER_BROKEN`; open a new one and read the log again. Concurrency: one writer per log,
 * under the home lock; calls of one writer are done in the order they came. Readers need no lock. Nothing is retried here.
 */
export interface LogStore {
  /** Hosts that have a log, sorted by name, with the commit of each. Errors: `REF_DAMAGED`. */
  logs(): ReadonlyMap<string, string>;
  /**
   * Reads a whole log.
   * Errors: `REF_DAMAGED`, `OBJECT_DAMAGED`, `OBJECT_MISSING`, `BRANCH_DAMAGED`; each names branch, file and next command.
   */
  readLog(host: string): Promise<StoredLog>;
  /** Opens the log of a host for appending. Errors: as `readLog`, `DISK_FAILED`, `DISK_FULL`. */
  openWriter(host: string): Promise<LogWriter>;
}

/** The store over a repository. `meshId` names the mesh in commits. */
export function createLogStore(options: { repository: Repository; meshId: string }): LogStore {
  const { repository, meshId } = options;
  return {
    logs: () => listLogs(repository),
    readLog: (host) => readLog(repository, host),
    openWriter: (host) => openLogWriter({ repository, host, meshId }),
  };
}

/** Reads one log whole. Errors: see `LogStore.readLog`. */
export async function readLog(repository: Repository, host: string): Promise<StoredLog> {
  const oid = readRef(repository, logRef(host));
  const lines: (string | Uint8Array)[] = [];
  if (oid === null) return { host, oid, lines };
  for await (const part of streamLog(repository, host, oid)) for (const line of part) lines.push(line);
  return { host, oid, lines };
}

/**
 * The lines of a log at a commit, one segment at a time: memory stays flat for a log of any length.
 * Errors: see `LogStore.readLog`.
 */
export async function* streamLog(
  repository: Repository,
  host: string,
  oid: string,
): AsyncGenerator<readonly (string | Uint8Array)[]> {
  const reader = openReader(repository, { deadlineMs: streamDeadlineMs });
  try {
    const layout = await readLogLayout(reader, oid);
    if (!layout.ok) throw logError(host, layout);
    for await (const part of readSegments(reader, layout.value)) {
      if (part.ok) {
        const { lines, content } = part.value;
        yield lines;
        // Lines that are not text are parts of it.
        if (lines.every((line) => typeof line === 'string')) releaseBuffer(content);
        continue;
      }
      if (part.before !== undefined) yield part.before;
      throw logError(host, part);
    }
  } finally {
    await reader.close();
  }
}

/** A consumer may fold while it reads; only a child that hangs is ended. */
const streamDeadlineMs = 600_000;
