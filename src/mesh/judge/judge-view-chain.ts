/** The commits of a fetched view journal: how far they are good, and which of two journals of a host is its word. */
import type { ViewFaultCode } from '../../core/sync/peer.ts';
import { wordOf, type ViewOwner } from '../../core/view-chain.ts';
import type { ViewLine } from '../../core/view-line.ts';
import type { ObjectReader } from '../../store/git/reader.ts';
import { emptyViewBase, judgeViews, readViewBase, type ViewBase, type ViewExtension } from './judge-views.ts';

/** `replaces`: it is another journal than ours, by a later key of the host, and takes its place whatever its length. */
export interface JudgedChain {
  readonly taken?: { readonly commit: string; readonly extension: ViewExtension };
  readonly replaces?: boolean;
  readonly fault?: { readonly code: ViewFaultCode; readonly detail: string };
}

/** The last commit at once; if it is not good, one after the other as far as they are. Kept one by one, each is read. */
export async function judgeChain(
  reader: ObjectReader,
  commits: readonly string[],
  about: { readonly owner: ViewOwner; readonly base: ViewBase; readonly keep: boolean },
): Promise<JudgedChain> {
  const { owner, keep } = about;
  const last = commits.at(-1);
  if (last === undefined) return {};
  if (!keep) {
    const whole = await judgeViews(reader, last, { owner, base: about.base });
    if (whole.ok) return { taken: { commit: last, extension: whole.value } };
    if (whole.code === 'VIEW_FORKED') return { fault: whole };
  }
  let { base } = about;
  let judged: JudgedChain = {};
  const lines: ViewLine[] = [];
  for (const commit of commits) {
    const next = await judgeViews(reader, commit, { owner, base });
    if (!next.ok) return { ...judged, fault: { code: next.code, detail: next.detail } };
    base = next.value.base;
    lines.push(...next.value.lines);
    judged = { taken: { commit, extension: { base, lines: lines.slice(-64) } } };
  }
  return judged;
}

/**
 * Judges another journal of a host than the one that is held (`ours`), whole. A host that was rekeyed says with its new
 * key which one goes on: the one whose newest line a later key signed. With equal keys nobody has said, and ours stays.
 */
export async function judgeOther(
  reader: ObjectReader,
  commits: readonly string[],
  about: { readonly owner: ViewOwner; readonly ours: ViewLine },
): Promise<JudgedChain> {
  const { owner, ours } = about;
  const fault = { code: 'VIEW_FORKED', detail: 'it is another journal than the one that is here' } as const;
  const theirs = await readViewBase(reader, commits.at(-1) ?? '');
  if (!theirs.ok || theirs.value.last === null) return { fault };
  const word = wordOf({ theirs: theirs.value.last, ours }, owner);
  // That one is settled: whoever sends it takes ours.
  if (word === 'ours') return {};
  if (word === 'unsaid') return { fault };
  const whole = await judgeChain(reader, commits, { owner, base: emptyViewBase, keep: false });
  return isLater(whole, about) ? { ...whole, replaces: true } : { fault };
}

/**
 * What a peer holds of our own journal, judged whole: others have built on it, so it stays, and what we said instead is
 * said again; but never for one that an older key of ours signed last.
 */
export async function judgeOwn(
  reader: ObjectReader,
  commits: readonly string[],
  about: { readonly owner: ViewOwner; readonly ours: ViewLine | null; readonly keep: boolean },
): Promise<JudgedChain> {
  const { owner, ours, keep } = about;
  const whole = await judgeChain(reader, commits, { owner, base: emptyViewBase, keep });
  const last = whole.taken?.extension.base.last ?? null;
  if (last === null || ours === null) return whole;
  const word = wordOf({ theirs: last, ours }, owner);
  return word === 'ours' ? {} : { ...whole, replaces: word === 'theirs' };
}

function isLater({ taken }: JudgedChain, about: { readonly owner: ViewOwner; readonly ours: ViewLine }): boolean {
  const last = taken?.extension.base.last ?? null;
  return last !== null && wordOf({ theirs: last, ours: about.ours }, about.owner) === 'theirs';
}
