/**
 * Admission of a fetched commit of a log: the commits in between, the commit itself, and if it is not wholly good, the
 * last one before it that is. The order of checks is: linear history, shape and sizes, lines.
 */
import type { HostKeySpan, PurgedIds, VerifiedLine } from '../../core/log.ts';
import type { AdmissionFault } from '../../core/sync/vocabulary.ts';
import { assert } from '../../crypto/result.ts';
import type { EncodedObject } from '../../store/git/object-id.ts';
import type { ObjectView } from '../../store/git/repository.ts';
import { readLogLayout, readSegments, type LogLayout } from '../../store/logs/log-tree.ts';
import { listCommits, walkCommits, type CommitChain } from './commit-chain.ts';
import { equalSegments, judgeCommit, treeFault, type JudgeContext, type Judgement } from './judge-commit.ts';
import type { LogBase } from '../fetch/log-base.ts';
import type { IntakeForm } from '../fetch/quarantine.ts';
import { recordingReader, type FolderCache, type RecordingReader } from './recording-reader.ts';

export interface AdmissionRequest {
  /** Quarantine first, then ours. */
  readonly view: ObjectView;
  /** How it will be kept: objects written one by one, or the pack as it is. */
  readonly keep: IntakeForm;
  readonly cache: FolderCache;
  readonly log: string;
  readonly mesh: string;
  readonly keys: readonly HostKeySpan[];
  /** Ids whose bodies are purged. */
  readonly purged?: PurgedIds | undefined;
  readonly base: LogBase | null;
  /** The commit that the peer offers. */
  readonly commit: string;
  readonly commitsMax: number;
  readonly deadlineMs: number;
}

/**
 * `extended`: what to take over; with `fault`, only a good prefix of what was offered; `covered`: the lines only, since the
 * objects hold bodies that are purged. `unrelated`: with `keep: 'loose'`
 * only: the history is another one than ours, so which objects are new is not known; it has to be kept as a pack.
 */
export type Admission =
  | {
      readonly kind: 'extended';
      readonly lines: readonly VerifiedLine[];
      readonly base: LogBase;
      /** The commits that are new with it, oldest first. */
      readonly commits: readonly string[];
      /** Kept loose: everything to write. Kept as a pack: empty. */
      readonly objects: readonly EncodedObject[];
      readonly covered: boolean;
      readonly fault?: AdmissionFault;
    }
  | { readonly kind: 'same' | 'shorter' | 'unrelated' }
  | { readonly kind: 'refused'; readonly fault: AdmissionFault };

/** Judges what a quarantine holds. Never throws for what the peer sent; throws OperatingError when our copy is damaged. */
export async function admitCommit(request: AdmissionRequest): Promise<Admission> {
  const { view, keep, cache, base, commit, commitsMax, deadlineMs } = request;
  const reader = recordingReader(view, { cache, keep: keep === 'loose', deadlineMs });
  try {
    const ends = { commit, base: base?.tip.oid ?? null, commitsMax, deadlineMs };
    const chain = keep === 'loose' ? await walkCommits(reader, ends) : await listCommits(view, ends);
    if (!chain.ok) return { kind: 'refused', fault: { code: chain.code, detail: chain.detail } };
    if (keep === 'loose' && !chain.value.descends) return { kind: 'unrelated' };
    return await judgeChain({ ...request, reader }, chain.value);
  } finally {
    await reader.close();
  }
}

type ChainContext = JudgeContext & {
  readonly reader: RecordingReader;
  readonly keep: IntakeForm;
  readonly base: LogBase | null;
};

async function judgeChain(context: ChainContext, chain: CommitChain): Promise<Admission> {
  const newest = chain.commits.at(-1);
  if (newest === undefined) return { kind: 'same' };
  const judged = await judgeCommit(context, newest);
  if (judged.kind === 'same' || judged.kind === 'shorter') return { kind: judged.kind };
  const { fault } = judged;
  if (judged.kind === 'extends' && fault === undefined) return take(context, chain.commits, judged);
  assert(fault !== undefined, 'what is not taken wholly has a fault');
  const last = await lastGoodCommit(context, chain.commits.slice(0, -1));
  if (last === undefined) return { kind: 'refused', fault };
  const taken = await take(context, chain.commits.slice(0, last.count), last.judged);
  return taken.kind === 'extended' ? { ...taken, fault } : { kind: 'refused', fault };
}

type Whole = Extract<Judgement, { kind: 'extends' }>;

/**
 * A log only grows, so commits up to some one are good and all later ones hold the fault: halving finds it in at most 17
 * steps. If a peer breaks that rule, a good commit is still found or none; only a wholly good one is ever taken.
 */
async function lastGoodCommit(
  context: ChainContext,
  commits: readonly string[],
): Promise<{ count: number; judged: Whole } | undefined> {
  let good: { count: number; judged: Whole } | undefined;
  let [low, high] = [0, commits.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const judged = await judgeCommit(context, commits[middle - 1] ?? '');
    if (judged.kind === 'extends' && judged.fault === undefined) {
      good = { count: middle, judged };
      low = middle;
    } else if (judged.kind === 'same') low = middle;
    else high = middle - 1;
  }
  return good;
}

async function take(context: ChainContext, commits: readonly string[], judged: Whole): Promise<Admission> {
  const last = judged.lines.at(-1);
  if (last === undefined) return { kind: 'same' };
  const { base, keep, reader } = context;
  if (keep === 'loose') {
    const fault = await readBetween(context, commits.slice(0, -1));
    if (fault !== undefined) return { kind: 'refused', fault };
  }
  const tip = { oid: judged.layout.commit, seq: last.seq, link: last.link };
  const durable = reader.seen();
  return {
    kind: 'extended',
    lines: judged.lines,
    base: { tip, layout: judged.layout, open: judged.open, durable },
    commits,
    covered: judged.covered,
    objects: keep === 'loose' ? reader.objects(base?.durable ?? new Set()) : [],
  };
}

/**
 * Reads the commits between ours and the one taken, so that our repository holds them whole: shape, sizes, and that each
 * only grows from the one before. (In a pack of thousands git has checked that nothing is missing; their lines count for
 * nothing.)
 */
async function readBetween(context: ChainContext, commits: readonly string[]): Promise<AdmissionFault | undefined> {
  let before: { layout: LogLayout; open: Buffer } | null = context.base;
  for (const commit of commits) {
    const read = await readLogLayout(context.reader, commit);
    if (!read.ok) return treeFault(read);
    const layout: LogLayout = read.value;
    const kept = before === null ? 0 : equalSegments(before.layout, layout);
    const known: number = before?.layout.segments.length ?? 0;
    if (kept < known - 1 || layout.segments.length < known)
      return { code: 'COMMIT_CHAIN', detail: `${commit} holds less than the commit before it` };
    let open = before?.open ?? Buffer.alloc(0);
    for await (const part of readSegments(context.reader, layout, kept)) {
      if (!part.ok) return treeFault(part);
      const { content, segment } = part.value;
      if (segment.index === known - 1 && !content.subarray(0, open.length).equals(open))
        return { code: 'COMMIT_CHAIN', detail: `${commit} changes lines of the commit before it` };
      open = content;
    }
    before = { layout, open };
  }
  return undefined;
}
