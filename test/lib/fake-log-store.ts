/** The `LogStore` port in memory: runs through the same contract suite as the real one. */
import { OperatingError } from '../../src/store/errors.ts';
import type { WritableLine } from '../../src/store/logs/log-append.ts';
import type { LogStore } from '../../src/store/logs/log-store.ts';
import type { LogWriter } from '../../src/store/logs/log-writer.ts';

/** What the next write does: fails, fails although it persisted, or the process "dies" before or after it. */
export type FakeFault = 'failed' | 'persisted' | 'crash before' | 'crash after';

interface FakeLog {
  readonly oid: string;
  readonly lines: readonly string[];
}

/** What outlives a process: hand the same memory to a new fake to "restart". */
export interface FakeMemory {
  readonly logs: Map<string, FakeLog>;
  commits: number;
}

export function emptyMemory(): FakeMemory {
  return { logs: new Map(), commits: 0 };
}

export function fakeLogStore(memory: FakeMemory): LogStore & { failNext(fault: FakeFault): void } {
  let planned: FakeFault | undefined;
  let dead = false;
  const persist = (host: string, expected: string | null, lines: readonly WritableLine[]): string => {
    const current = memory.logs.get(host);
    if ((current?.oid ?? null) !== expected) throw new OperatingError('REF_CHANGED', `log ${host} moved`);
    memory.commits += 1;
    const oid = memory.commits.toString(16).padStart(40, '0');
    memory.logs.set(host, { oid, lines: [...(current?.lines ?? []), ...lines.map((line) => line.text)] });
    return oid;
  };
  const write = (host: string, expected: string | null, lines: readonly WritableLine[]): string => {
    const fault = planned;
    planned = undefined;
    if (fault === 'crash before' || fault === 'crash after') dead = true;
    const oid = fault === 'failed' || fault === 'crash before' ? '' : persist(host, expected, lines);
    if (fault !== undefined) throw new OperatingError('DISK_FAILED', `log ${host}: simulated fault`);
    return oid;
  };
  return {
    failNext: (fault) => {
      planned = fault;
    },
    logs: () =>
      new Map(
        [...memory.logs].map(([host, log]): [string, string] => [host, log.oid]).sort((a, b) => (a[0] < b[0] ? -1 : 1)),
      ),
    readLog: async (host) => ({
      host,
      oid: memory.logs.get(host)?.oid ?? null,
      lines: memory.logs.get(host)?.lines ?? [],
    }),
    openWriter: async (host) =>
      openFakeWriter(host, memory.logs.get(host)?.oid ?? null, (expected, lines) => {
        if (dead) throw new OperatingError('DISK_FAILED', 'the process is dead');
        return write(host, expected, lines);
      }),
  };
}

function openFakeWriter(
  host: string,
  head: string | null,
  write: (expected: string | null, lines: readonly WritableLine[]) => string,
): LogWriter {
  let oid = head;
  let broken = false;
  const append = async (lines: readonly WritableLine[]): Promise<{ oid: string; lines: number }> => {
    if (broken) throw new OperatingError('WRITER_BROKEN', `log ${host}: an earlier write failed`);
    try {
      oid = write(oid, lines);
      return { oid, lines: lines.length };
    } catch (error) {
      broken = true;
      throw error;
    }
  };
  return {
    host,
    head: () => oid,
    append,
    appendBulk: async (batches) => {
      const lines: WritableLine[] = [];
      for await (const batch of batches) lines.push(...batch);
      return append(lines);
    },
  };
}
