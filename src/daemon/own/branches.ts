/**
 * What the trust set cut off. A rekey with a pin says which branch of a log counts; the lines behind the pin that its new key
 * did not sign leave the log, and stay as evidence. Then what was said there is said again: by the host itself with its own
 * bodies, and of what a signer approved by every host that holds it nowhere else. The ids stay, so nothing is said twice.
 */
import { eventNamespace } from '../../core/event.ts';
import type { Fold, FoldPorts } from '../../core/fold/fold.ts';
import { holeOf, parseLine, type Line } from '../../core/line.ts';
import { approvedUnused, signedByAny, unsaidOf, type Said } from '../../core/recovery.ts';
import { approvalVerdict } from '../../core/trust/charter.ts';
import { keepBranch, listBranches } from '../../store/logs/fork-branches.ts';
import type { Home } from '../../store/home/home.ts';
import type { Repository } from '../../store/git/repository.ts';
import { cutLog } from '../../store/logs/log-rewrite.ts';
import { readLog } from '../../store/logs/log-store.ts';
import type { LogCut } from '../beliefs/log-book.ts';
import type { TrustState } from '../trust/trust-keeper.ts';

export interface BranchPlace {
  readonly home: Home;
  readonly repository: Repository;
  readonly meshId: string;
  readonly trust: () => TrustState;
}

/**
 * Takes the lines behind a cut out of the branch of their log, once they are kept as evidence. Only lines that an earlier
 * key of that host signed: anything else is damage, and stays where it is. @returns whether they are out.
 */
export async function dropBranch(place: BranchPlace, cut: LogCut): Promise<boolean> {
  const { home, repository, meshId, trust } = place;
  const { charter } = trust();
  const host = charter.hosts.get(cut.log);
  if (host === undefined) return false;
  const keep = cut.seq - 1;
  const { lines } = await readLog(repository, cut.log);
  const behind = parsedLines(lines.slice(keep), meshId);
  const signed = signedByAny(behind, host, { mesh: meshId });
  if (signed.length === 0) return false;
  // A purge that could not be carried out yet must not leave its bodies here.
  const { purges } = charter;
  await keepBranch(
    home,
    signed.map((line) => (line.body !== null && purges.has(line.id) ? holeOf(line) : line)),
  );
  await cutLog({ repository, host: cut.log, meshId, purged: charter.purges }, keep);
  return true;
}

function parsedLines(lines: readonly (string | Uint8Array)[], meshId: string): readonly Line[] {
  const parsed: Line[] = [];
  for (const text of lines) {
    const line = parseLine(text, meshId);
    if (!line.ok) break;
    parsed.push(line.value);
  }
  return parsed;
}

/** What this host said on branches that count no more, and says nowhere else: to be said again, in the order of the branches. */
export function unsaid({ home, meshId }: BranchPlace, fold: Fold, own: string): readonly Said[] {
  const branches = listBranches(home, own).map(({ lines }) => parsedLines(lines, meshId));
  return unsaidOf(branches, fold, { own, approve });
}

/** What a signer approved and no usable line carries. `beyond`: lines that are held and not usable. */
export async function approvedBeyond(
  { home, repository, meshId }: BranchPlace,
  fold: Fold,
  beyond: readonly { readonly log: string; readonly from: number }[],
): Promise<readonly Said[]> {
  const lines: Line[] = [];
  for (const { log, from } of beyond)
    for (const line of parsedLines((await readLog(repository, log)).lines.slice(from - 1), meshId)) lines.push(line);
  for (const host of fold.charter.hosts.keys())
    for (const branch of listBranches(home, host))
      for (const line of parsedLines(branch.lines, meshId)) lines.push(line);
  return approvedUnused(lines, fold, { approve });
}

const approve: FoldPorts['approve'] = (charter, auth, message, subject) =>
  approvalVerdict(charter, auth, { message, namespace: eventNamespace, subject });
