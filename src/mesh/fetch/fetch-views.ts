/** View journals from one peer: fetch, judge, take over. */
import {
  fetchCommitsMax,
  fetchDeadlineMs,
  fetchLooseObjectsMax,
  fetchObjectsMax,
  viewNotesBytesMax,
} from '../../core/limits.ts';
import type { FetchPackFault, ViewFaultCode, ViewTip } from '../../core/sync/peer.ts';
import type { ViewsFetched } from '../../core/sync/vocabulary.ts';
import type { ViewOwner } from '../../core/view-chain.ts';
import type { ViewLine } from '../../core/view-line.ts';
import { ok, refuse, type Result } from '../../crypto/result.ts';
import { printable } from '../../store/errors.ts';
import type { ObjectReader } from '../../store/git/reader.ts';
import { compareAndSwapRef, viewBranch } from '../../store/git/refs.ts';
import { treeError } from '../../store/tree-fault.ts';
import { listCommits, walkCommits, type CommitChain } from '../judge/commit-chain.ts';
import { packBounds } from './fetch-bounds.ts';
import type { SharedState } from './fetch-log.ts';
import { fetchPack } from './fetch-pack.ts';
import { judgeChain, judgeOther, judgeOwn, type JudgedChain } from '../judge/judge-view-chain.ts';
import { emptyViewBase, readViewBase, type ViewBase, type ViewExtension } from '../judge/judge-views.ts';
import { isOutdatedView, type MeshNode, type ViewStore } from '../node.ts';
import type { IntakeForm, Quarantine } from './quarantine.ts';
import { recordingReader } from '../judge/recording-reader.ts';
import type { PeerConnection } from '../ssh/ssh-client.ts';
import { takeOver } from './take-over.ts';

export interface ViewsFetch {
  readonly node: MeshNode;
  readonly shared: SharedState;
  readonly connection: PeerConnection;
  readonly offered: ReadonlyMap<string, ViewTip>;
  /** It cost something in vain lately: see `packBounds`. */
  readonly doubted: boolean;
  readonly deadlineMs: number;
}

/** One journal of them. */
interface ViewFetch extends Omit<ViewsFetch, 'offered'> {
  readonly views: ViewStore;
  readonly owner: ViewOwner;
  readonly offer: ViewTip;
}

/** Commit, three folders, a segment, and the same again where notes came between. */
const objectsPerLine = 10;
const looseLinesMax = Math.floor(fetchLooseObjectsMax / objectsPerLine);
/** Bytes and objects allowed for notes that were replaced since. */
const notesBytesMax: number = 64 * viewNotesBytesMax;
const notesObjectsMax = 8_192;

/** Fetches what is offered, one journal after the other. Throws OperatingError for failures of this machine. */
export async function fetchViews(fetch: ViewsFetch): Promise<ViewsFetched> {
  const faults = new Map<string, { code: ViewFaultCode; detail: string }>();
  const { node } = fetch;
  let vain = true;
  for (const [host, offer] of fetch.offered) {
    const enrolled = node.charter().hosts.get(host);
    if (node.views === undefined || enrolled === undefined) continue;
    const owner = { host, mesh: node.meshId, keys: enrolled.keys };
    const before = node.views.tip(host)?.oid;
    const fetched = await fetchView({ ...fetch, views: node.views, owner, offer });
    if (node.views.tip(host)?.oid !== before) vain = false;
    if (fetched.ok) continue;
    const { code, detail } = fetched;
    if (isViewFault(code)) faults.set(host, { code, detail: printable(detail) });
    else return { faults, failure: { code, detail: printable(detail) } };
  }
  return { faults, vain };
}

type ViewFetched = Result<true, ViewFaultCode | FetchPackFault>;

function isViewFault(code: ViewFaultCode | FetchPackFault): code is ViewFaultCode {
  return code === 'VIEW_CUT' || code === 'VIEW_FORKED';
}

async function fetchView(fetch: ViewFetch): Promise<ViewFetched> {
  const { views, owner, offer } = fetch;
  const ours = views.isDamaged(owner.host) ? undefined : views.tip(owner.host);
  const lines = Math.max(1, offer.n - (ours?.n ?? 0));
  if (lines <= looseLinesMax) {
    const few = await fetchAs(fetch, ours, { form: 'loose', lines });
    if (few !== 'unrelated' && (few.ok || few.code !== 'TOO_LARGE')) return few;
  }
  const many = await fetchAs(fetch, ours, { form: 'pack', lines: offer.n });
  return many === 'unrelated' ? ok(true) : many;
}

async function fetchAs(
  fetch: ViewFetch,
  ours: ViewTip | undefined,
  { form, lines }: { readonly form: IntakeForm; readonly lines: number },
): Promise<ViewFetched | 'unrelated'> {
  const { node, connection, offer, views, owner } = fetch;
  const deadlineMs = Math.min(fetchDeadlineMs, fetch.deadlineMs);
  const bounds = packBounds(lines, fetch.doubted);
  const fetched = await fetchPack({
    connection,
    repository: node.repository,
    wants: [offer.oid],
    haves: ours === undefined ? [] : [ours.oid],
    form,
    bytesMax: bounds.bytesMax + notesBytesMax,
    objectsMax:
      form === 'loose' ? fetchLooseObjectsMax : Math.min(fetchObjectsMax, bounds.objectsMax + notesObjectsMax),
    deadlineMs,
  });
  if (!fetched.ok) return fetched;
  const { quarantine } = fetched.value;
  try {
    return await views.alone(owner.host, () => judgeAndTake(fetch, quarantine, { form, deadlineMs }));
  } finally {
    quarantine.remove();
  }
}

/** Nobody else moves the branch meanwhile; it may have moved while we fetched. */
async function judgeAndTake(
  fetch: ViewFetch,
  quarantine: Quarantine,
  how: { readonly form: IntakeForm; readonly deadlineMs: number },
): Promise<ViewFetched | 'unrelated'> {
  const { node, views, owner, offer, shared } = fetch;
  const isDamaged = views.isDamaged(owner.host);
  const ours = isDamaged ? undefined : views.tip(owner.host);
  if (ours !== undefined && (ours.oid === offer.oid || (ours.n > offer.n && !isOutdatedView(node, owner.host))))
    return ok(true);
  const keep = how.form === 'loose';
  const reader = recordingReader(quarantine.view, { cache: shared.folders, keep, deadlineMs: how.deadlineMs });
  try {
    const ends = {
      commit: offer.oid,
      base: ours?.oid ?? null,
      commitsMax: fetchCommitsMax,
      deadlineMs: how.deadlineMs,
    };
    const chain = keep ? await walkCommits(reader, ends) : await listCommits(quarantine.view, ends);
    if (!chain.ok) return refuse('VIEW_CUT', chain.detail);
    if (keep && !chain.value.descends) return 'unrelated';
    const { base, durable } = ours === undefined ? nothing : await readBase(fetch, ours);
    const isOwn = owner.host === node.host;
    const good = await judge(reader, chain.value, { owner, base, keep, isOwn });
    if (good.taken !== undefined && (good.replaces === true || isMore(good.taken.extension, ours))) {
      const { commit, extension } = good.taken;
      const { commits } = chain.value;
      const whole = { commits: commits.slice(0, commits.indexOf(commit) + 1), base: ours?.oid };
      await takeOver(node.repository, quarantine, keep ? reader.objects(durable) : whole);
      const expected = isDamaged ? undefined : (ours?.oid ?? null);
      await compareAndSwapRef(node.repository, { ref: viewBranch(owner.host).ref, expected, next: commit });
      views.took(owner.host, newestOf(extension));
    }
    // Fewer lines of another journal say nothing, unless they take the place of ours.
    if (good.fault?.code === 'VIEW_FORKED' && ours !== undefined && ours.n > offer.n) return ok(true);
    return good.fault === undefined ? ok(true) : refuse(good.fault.code, good.fault.detail);
  } finally {
    await reader.close();
  }
}

async function judge(
  reader: ObjectReader,
  { commits, descends }: CommitChain,
  about: { readonly owner: ViewOwner; readonly base: ViewBase; readonly keep: boolean; readonly isOwn: boolean },
): Promise<JudgedChain> {
  const { owner, base, keep } = about;
  if (about.isOwn && !descends) return judgeOwn(reader, commits, { owner, ours: base.last, keep });
  const judged = await judgeChain(reader, commits, { owner, base, keep });
  const isOther = judged.fault?.code === 'VIEW_FORKED' && !descends && !keep;
  return isOther && base.last !== null ? judgeOther(reader, commits, { owner, ours: base.last }) : judged;
}

function newestOf({ lines, base }: ViewExtension): readonly ViewLine[] {
  return lines.length > 0 || base.last === null ? lines : [base.last];
}

function isMore({ base }: ViewExtension, ours: ViewTip | undefined): boolean {
  return base.last !== null && base.last.n >= (ours?.n ?? 1);
}

/** `durable`: objects of it that need not be written again. */
interface OwnCopy {
  readonly base: ViewBase;
  readonly durable: ReadonlySet<string>;
}

const nothing: OwnCopy = { base: emptyViewBase, durable: new Set() };

/** Our copy at its last line. Throws OperatingError when it is damaged. */
async function readBase({ node, owner, shared, deadlineMs }: ViewFetch, ours: ViewTip): Promise<OwnCopy> {
  const reader = recordingReader(node.repository, { cache: shared.folders, keep: false, deadlineMs });
  try {
    const read = await readViewBase(reader, ours.oid);
    if (!read.ok) throw treeError(viewBranch(owner.host).name, read);
    return { base: read.value, durable: reader.seen() };
  } finally {
    await reader.close();
  }
}
