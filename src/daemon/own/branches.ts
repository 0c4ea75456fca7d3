/**
 * What the trust set cut off. A rekey with a pin says which branch of a log counts; the lines behind the pin that its new key
 * did not sign leave the log, and stay as evidence. Then what was said there is said again: by the host itself with its own
 * bodies, and of what a signer approved by every host that holds it nowhere else. The ids stay, so nothing is said twice.
 */
import { eventNamespace } from '../../core/event.ts';
import { eventView, type Fold } from '../../core/fold/fold.ts';
import { extendLog } from '../../core/log.ts';
import { holeOf, parseLine, type Line } from '../../core/line.ts';
import { approvalVerdict, type CharterHost } from '../../core/trust/charter.ts';
import { canonicalJson, type JsonValue } from '../../crypto/canonical.ts';
import { keepBranch, listBranches } from '../../store/logs/fork-branches.ts';
import type { Home } from '../../store/home/home.ts';
import type { Repository } from '../../store/git/repository.ts';
import { cutLog } from '../../store/logs/log-rewrite.ts';
import { readLog } from '../../store/logs/log-store.ts';
import type { LogCut } from '../beliefs/log-book.ts';
import type { Said } from './own-log.ts';
import type { TrustState } from '../trust/trust-keeper.ts';

export interface BranchPlace {
  readonly home: Home;
  readonly repository: Repository;
  readonly meshId: string;
  readonly trust: () => TrustState;
}

/** Cuts that a pin made: not damage, and not to be mended. Pure. */
export function pinCuts(cuts: readonly LogCut[], hosts: ReadonlyMap<string, CharterHost>): readonly LogCut[] {
  return cuts.filter(({ log, seq, code }) => {
    const host = hosts.get(log);
    if (host === undefined || host.pins.length === 0) return false;
    if (code === 'WRONG_BRANCH') return true;
    return (code === 'SIGNATURE' || code === 'KEY_SPAN') && host.pins.some((pin) => pin.seq === seq - 1);
  });
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
  const signed = signedByAny(behind, host, meshId);
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

/** As far as one key that the host ever had vouches for them. */
function signedByAny(lines: readonly Line[], host: CharterHost, mesh: string): readonly Line[] {
  const [first] = lines;
  if (first === undefined) return [];
  const from = { seq: first.seq - 1, link: first.prev };
  const purged = { has: () => true };
  const texts = lines.map(({ text }) => text);
  const counts = host.spans.map(
    ({ key }) =>
      extendLog({ host: host.name, mesh, from, keys: [{ key, from: 1, upto: null }], purged }, texts).lines.length,
  );
  return lines.slice(0, Math.max(0, ...counts));
}

/** What this host said on branches that count no more, and says nowhere else: to be said again, in the order of the branches. */
export function unsaid({ home, meshId }: BranchPlace, fold: Fold, own: string): readonly Said[] {
  const found = new Map<string, Said>();
  for (const branch of listBranches(home, own)) {
    for (const { id, body, auth } of parsedLines(branch.lines, meshId)) {
      if (body === null || found.has(id) || fold.charter.purges.has(id)) continue;
      const carried = eventView(fold, id)?.lines.some(({ log }) => log === own) === true;
      if (carried || (auth === null && body.host !== own)) continue;
      if (auth !== null && !isApproved(fold, { body, auth })) continue;
      found.set(id, { body, auth });
    }
  }
  return [...found.values()];
}

/** What a signer approved and no usable line carries. `beyond`: lines that are held and not usable. */
export async function approvedBeyond(
  { home, repository, meshId }: BranchPlace,
  fold: Fold,
  beyond: readonly { readonly log: string; readonly from: number }[],
): Promise<readonly Said[]> {
  const found = new Map<string, Said>();
  const look = (lines: readonly Line[]): void => {
    for (const { id, body, auth } of lines) {
      if (body === null || auth === null || found.has(id) || fold.charter.purges.has(id)) continue;
      if (eventView(fold, id)?.level === 'signed' || !isApproved(fold, { body, auth })) continue;
      found.set(id, { body, auth });
    }
  };
  for (const { log, from } of beyond) look(parsedLines((await readLog(repository, log)).lines.slice(from - 1), meshId));
  for (const host of fold.charter.hosts.keys())
    for (const branch of listBranches(home, host)) look(parsedLines(branch.lines, meshId));
  return [...found.values()];
}

/** By a signer whose word still stands: that of a revoked one would not, said again after the revocation. */
function isApproved({ charter }: Fold, { body, auth }: Said): boolean {
  if (auth === null || charter.signers.get(auth.signer)?.status !== 'active') return false;
  const message = canonicalJson(body as unknown as JsonValue);
  return approvalVerdict(charter, auth, { message, namespace: eventNamespace, subject: body.subject }) === 'ok';
}
