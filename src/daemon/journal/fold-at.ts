/**
 * What a host believed when it wrote a view line: exactly the prefixes that the line names, folded under the trust set
 * that it names, and held against the root that it signed.
 */
import { createFold, foldLines, readState, type Fold } from '../../core/fold/fold.ts';
import { rulesVersion } from '../../core/fold/state.ts';
import { extendLog, type VerifiedLine } from '../../core/log.ts';
import { withPurges } from '../../core/replay.ts';
import type { Charter } from '../../core/trust/charter.ts';
import type { ViewHead, ViewLine } from '../../core/view-line.ts';
import { logRef, readRef } from '../../store/git/refs.ts';
import { streamLog } from '../../store/logs/log-store.ts';
import { approvalsOf, createApprovalChecks } from '../beliefs/approval-checks.ts';
import { counted } from '../counted.ts';
import type { Engine } from '../engine.ts';
import { Refusal } from '../refusal.ts';
import { trustAt, type TrustThen } from './trust-at.ts';

/** A fold of the past. */
export interface FoldThen {
  readonly line: ViewLine;
  readonly trust: TrustThen;
  readonly fold: Fold;
  readonly root: string;
  /** The root is the one that the host signed. */
  readonly verified: boolean;
  /** Why it cannot be, where that is known. */
  readonly why?: string;
}

/**
 * Folds what the line names. Refuses REPLAY_TRUST (no such trust set can be made of the ops here), REPLAY_BEHIND (lines
 * that it names are not here), REPLAY_BRANCH (they are others here).
 */
export async function foldAt(
  engine: Engine,
  line: ViewLine,
  progress: (text: string) => void = () => undefined,
): Promise<FoldThen> {
  const trust = await trustAt(engine.repository, engine.trust(), line.trust);
  if (trust === undefined) throw trustUnknown(line);
  const checks = createApprovalChecks();
  const lines: VerifiedLine[] = [];
  for (const [log, head] of line.heads) {
    progress(`reading log ${log} up to line ${head.seq}`);
    const prefix = await engine.gate.use(() => readPrefix(engine, line, { log, head, charter: trust.charter }));
    for (const one of prefix) lines.push(one);
    checks.begin(approvalsOf(trust.charter, prefix));
  }
  await checks.settled();
  progress(`folding ${counted(lines.length, 'line')}`);
  const { charter, gone } = withPurges(trust.charter, engine.charter(), lines);
  const fold = createFold(charter, line.trust, checks.ports);
  foldLines(fold, lines);
  const { root } = readState(fold);
  const why = whyOther(line, gone);
  return { line, trust, fold, root, verified: root === line.root, ...(why === undefined ? {} : { why }) };
}

/** The first lines of a log, as many as the head says, judged by the keys of then. */
async function readPrefix(
  engine: Engine,
  line: ViewLine,
  { log, head, charter }: { readonly log: string; readonly head: ViewHead; readonly charter: Charter },
): Promise<readonly VerifiedLine[]> {
  const { repository, meshId } = engine;
  const oid = readRef(repository, logRef(log));
  const raw: (string | Uint8Array)[] = [];
  if (oid !== null)
    for await (const part of streamLog(repository, log, oid)) {
      for (const one of part) if (raw.length < head.seq) raw.push(one);
      if (raw.length === head.seq) break;
    }
  const from = { seq: 0, link: meshId };
  const keys = charter.hosts.get(log)?.spans ?? [];
  const { lines, fault } = extendLog({ host: log, mesh: meshId, from, keys, purged: engine.charter().purges }, raw);
  const last = lines.at(-1);
  if (last?.seq === head.seq && last.link === head.link) return lines;
  if (last?.seq === head.seq) throw otherBranch(line, log, head);
  throw behind(line, log, { head, held: lines.length, why: fault?.detail });
}

function whyOther({ rules }: ViewLine, gone: readonly string[]): string | undefined {
  if (rules !== rulesVersion) return `it was folded under rules ${rules}, and this version has rules ${rulesVersion}`;
  if (gone.length === 0) return undefined;
  const ids = gone.slice(0, 3).map((id) => id.slice(0, 12));
  return `${counted(gone.length, 'event')} purged since (${ids.join(', ')}${gone.length > 3 ? ', …' : ''}): what is left of them is folded`;
}

function trustUnknown({ host, at, trust }: ViewLine): Refusal {
  return new Refusal({
    code: 'REPLAY_TRUST',
    message: `${host} folded under trust set ${trust.slice(0, 12)} at ${at}, and the trust ops that are here do not make that set`,
    hint: 'memctl fetch brings ops that are missing; replay on that host, or at another time',
    exit: 4,
  });
}

function behind(
  { host, at }: ViewLine,
  log: string,
  { head, held, why }: { readonly head: ViewHead; readonly held: number; readonly why: string | undefined },
): Refusal {
  const because = why === undefined ? '' : ` (${why})`;
  return new Refusal({
    code: 'REPLAY_BEHIND',
    message: `at ${at} ${host} held log ${log} up to line ${head.seq}, and here it ends at line ${held}${because}`,
    hint: 'memctl fetch, then again',
    exit: 4,
  });
}

function otherBranch({ host, at }: ViewLine, log: string, { seq }: ViewHead): Refusal {
  return new Refusal({
    code: 'REPLAY_BRANCH',
    message: `at ${at} ${host} held another line ${seq} of log ${log} than is here: that log was forked, and this host has the other branch`,
    hint: `replay on ${host} itself, or at another time; memctl host list shows forked logs`,
    exit: 4,
  });
}
