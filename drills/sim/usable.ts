/** What of the logs of a host counts, and the fold of it from nothing. */
import { createFold, foldLines, type Fold } from '../../src/core/fold/fold.ts';
import type { VerifiedLine } from '../../src/core/log.ts';
import type { Charter } from '../../src/core/trust/charter.ts';
import { usableUpto } from '../../src/core/trust/usable.ts';
import { simPorts } from './charter.ts';
import type { Memory } from './types.ts';

/** Lines of a log that the fold may be given: T3, T4. */
export function usableLines(charter: Charter, memory: Pick<Memory, 'logs'>, log: string): readonly VerifiedLine[] {
  const lines = memory.logs.get(log)?.lines ?? [];
  const host = charter.hosts.get(log);
  if (host === undefined) return [];
  const { upto } = usableUpto(host, (seq) => lines[seq - 1]?.link, lines.length);
  return upto === lines.length ? lines : lines.slice(0, upto);
}

/** What the fold of exactly these inputs is, made at once and in another order. */
export function foldAnew(memory: Memory): Fold {
  const { charter, hash } = memory.trust;
  const fold = createFold(charter, hash, simPorts);
  const logs = [...memory.logs.keys()].toSorted((a, b) => (a < b ? 1 : -1));
  foldLines(
    fold,
    logs.flatMap((log) => usableLines(charter, memory, log)),
  );
  return fold;
}
