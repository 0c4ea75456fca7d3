/**
 * The fold: lines in, beliefs out. Pure: no clock, no I/O, no locale; the state depends on the set of lines and the
 * charter, never on the order or the portions in which they came. Source: docs/fold.md.
 */
import { eventNamespace } from '../event.ts';
import type { VerifiedLine } from '../log.ts';
import { assert } from '../../crypto/result.ts';
import { verifySshsig, type ApprovalVerifier } from '../../crypto/sshsig.ts';
import { charterLeaves, emptyTree, purgeSays, rootOf, setLeaf } from '../root.ts';
import { approvalVerdict, type Charter } from '../trust/charter.ts';
import { charterChange } from './charter-change.ts';
import { cutCircles } from './circles.ts';
import { keyNumber, purgedKeyNumber } from './claim-keys.ts';
import { evaluateSubject } from './evaluate.ts';
import {
  authorityOf,
  nextMark,
  nodeOf,
  rejudgeApprovals,
  takeLine,
  takePurge,
  type Fold,
  type FoldPorts,
} from './fold-index.ts';
import { settleLevel } from './levels.ts';
import { forgetAbove } from './lineage.ts';
import { isClaimKind, type EventNode } from './node.ts';
import { replaceOutcome } from './outcomes.ts';
import { plainBodies, type Bodies } from './said.ts';
import { lookAgain, observationsOf, takeObserve, type Observation } from './staleness.ts';
import { rulesVersion, type State } from './state.ts';

export { eventsOf, eventView, idsWithPrefix, namersOf, recordsOf, subjectsOf } from './event-view.ts';
export type { Fold, FoldPorts } from './fold-index.ts';
export type { Bodies } from './said.ts';

/** A usable line (R0). The fold trusts log, seq, id and body of it, and judges the approval itself. */
export type FoldLine = VerifiedLine;

/** Subjects that were worked out anew: a superset of those whose outcome differs. '' stands for unreadable ones. */
export interface Changed {
  readonly subjects: ReadonlySet<string>;
}

/** Ports of a fold whose approvals are verified by `verify`: the caller may have worked verdicts out before. */
export function portsWith(verify: ApprovalVerifier): FoldPorts {
  return {
    approve: (charter, auth, message, subject) =>
      approvalVerdict(charter, auth, { message, namespace: eventNamespace, subject }, verify),
  };
}

const trustPorts: FoldPorts = portsWith(verifySshsig);

/**
 * A fold of no lines under `charter`; `trust` is the trust hash that the root commits to. What the charter purged folds as
 * its skeleton from the beginning. Pure.
 */
export function createFold(
  charter: Charter,
  trust: string,
  ports: FoldPorts = trustPorts,
  bodies: Bodies = plainBodies(),
): Fold {
  const links: Fold['links'] = new Map();
  const fold: Fold = {
    charter,
    trust,
    ports,
    bodies,
    said: new Map(),
    nodes: new Map(),
    subjects: new Map(),
    links,
    approved: new Map(),
    ...authorityOf({ charter, links }),
    observations: new Map(),
    outcomes: new Map(),
    records: new Map(),
    alarms: new Map(),
    notices: new Map(),
    tree: emptyTree(),
    totals: emptyTotals(),
    mark: 0,
  };
  plantCharter(fold);
  plantSkeletons(fold);
  return fold;
}

/**
 * Takes lines of any logs, in log order within each log, in portions of any size, and brings the state up to date once
 * at the end: the larger the portion, the less is worked out twice. A line already taken changes nothing.
 */
export function foldLines(fold: Fold, lines: Iterable<FoldLine>): Changed {
  const cold = fold.totals.lines === 0;
  const touched: EventNode[] = [];
  let marked = false;
  const mark = nextMark(fold);
  for (const line of lines) {
    const node = takeLine(fold, line);
    if (node === undefined) continue;
    marked ||= fold.marks.size > 0 && fold.marks.has(`${line.log} ${line.seq}`);
    if (node.mark === mark) continue;
    node.mark = mark;
    touched.push(node);
  }
  for (const node of cutCircles(fold, touched)) touched.push(node);
  for (const node of touched) settleNode(fold, node);
  const moved = new Set<Observation>();
  for (const node of touched) takeObserve(fold.observations, node, moved);
  if (marked) for (const node of resettle(fold, approvedByRevoked(fold), moved)) touched.push(node);
  return evaluate(fold, cold ? new Set(fold.subjects.keys()) : affectedBy(fold, touched, moved));
}

/**
 * Puts the fold under another charter that purges the same events (`purgesAlike`), and works out anew what the change
 * can touch. The lines taken must be usable under it too.
 */
export function setCharter(fold: Fold, charter: Charter, trust: string): Changed {
  const before = { charter: fold.charter, authority: fold.authority };
  assert(purgesAlike(before.charter, charter), 'a fold is made anew when another event is purged');
  const change = charterChange(fold, before, { charter, ...authorityOf({ charter, links: fold.links }) });
  for (const item of charterLeaves(before.charter).keys()) setLeaf(fold.tree, item, null);
  Object.assign(fold, { charter, trust, ...authorityOf({ charter, links: fold.links }) });
  plantCharter(fold);
  if (change.events.size === 0) return { subjects: new Set() };
  for (const node of change.events) if (node.purge !== null) node.purge = charter.purges.get(node.id) ?? node.purge;
  for (const node of change.events) rejudgeApprovals(fold, node, (signer) => change.signers.has(signer));
  const moved = new Set<Observation>();
  const touched = resettle(fold, change.events, moved);
  return evaluate(fold, affectedBy(fold, touched, moved));
}

/** True iff both purge the same events in the same words: bodies that are gone cannot be folded again. Pure. */
export function purgesAlike(a: Charter, b: Charter): boolean {
  const said = ({ purges }: Charter): string =>
    JSON.stringify([...purges].map(([id, purge]) => [id, purgeSays(purge)]));
  return a.purges === b.purges || said(a) === said(b);
}

/** Levels and current digests anew, also where they get lower than they were. */
function resettle(fold: Fold, nodes: ReadonlySet<EventNode>, moved: Set<Observation>): readonly EventNode[] {
  for (const node of nodes) settleNode(fold, node);
  for (const observation of observationsOf(fold.observations, nodes)) {
    if (lookAgain(observation)) moved.add(observation);
  }
  return [...nodes];
}

/** What a mark of a revocation may end once the log is long enough to tell whether it has the mark's link. */
function approvedByRevoked({ charter, approved }: Fold): ReadonlySet<EventNode> {
  const revoked = [...charter.signers.values()].filter(({ revocations }) => revocations.length > 0);
  return new Set(revoked.flatMap(({ name }) => [...(approved.get(name) ?? [])]));
}

/** The state as it is now. Its maps are live, and `root` is worked out when it is read. */
export function readState(fold: Fold): State {
  const { trust, records, alarms, notices, totals } = fold;
  const subjects = fold.subjects.size - (fold.subjects.has('') ? 1 : 0);
  return {
    rules: rulesVersion,
    trust,
    records,
    alarms,
    notices,
    counts: { ...totals, subjects, alarms: alarms.size, notices: notices.size },
    get root() {
      return rootOf(fold.tree, { rules: rulesVersion, trust: fold.trust });
    },
  };
}

function emptyTotals(): Fold['totals'] {
  const records = { served: 0, contested: 0, parked: 0, none: 0, stale: 0, undecided: 0 };
  return { events: 0, lines: 0, ...records, quarantined: 0, held: 0 };
}

function plantCharter(fold: Fold): void {
  for (const [item, digest] of charterLeaves(fold.charter)) setLeaf(fold.tree, item, digest);
}

/** Signed skeletons speak for events that no usable line may carry any more. */
function plantSkeletons(fold: Fold): void {
  const planted: EventNode[] = [];
  for (const [id, { target }] of fold.charter.purges) {
    if (target.level !== 'signed') continue;
    const node = nodeOf(fold, id);
    takePurge(fold, node);
    planted.push(node);
  }
  cutCircles(fold, planted);
  for (const node of planted) settleNode(fold, node);
  evaluate(fold, new Set(fold.subjects.keys()));
}

function settleNode(fold: Fold, node: EventNode): void {
  settleLevel(fold.authority, node);
  if (node.key !== -1 || node.family === null || node.said === null || !isClaimKind(node.said.kind)) return;
  if (node.purge === null) node.key = keyNumber(node.family.keys, fold.bodies.read(node.words));
  else if (node.purge.target.key !== null) node.key = purgedKeyNumber(fold.bodies, node.family, node.purge.target.key);
}

/** The table of docs/fold.md, "What an input can affect", for lines. */
function affectedBy(fold: Fold, touched: readonly EventNode[], moved: ReadonlySet<Observation>): Set<string> {
  const subjects = new Set<string>(fold.outcomes.has('') ? [''] : []);
  const mark = nextMark(fold);
  const affect = (node: EventNode): void => {
    subjects.add(node.subject);
    for (const target of node.targets) subjects.add(target.subject);
  };
  for (const node of touched) {
    forgetAbove(node, mark, affect);
    for (const naming of node.namedBy) subjects.add(naming.subject);
  }
  for (const { nodes } of moved) for (const node of nodes) forgetAbove(node, mark, affect);
  return subjects;
}

function evaluate(fold: Fold, subjects: ReadonlySet<string>): Changed {
  const mark = (): number => nextMark(fold);
  for (const name of subjects) {
    const subject = fold.subjects.get(name);
    // A target that nothing carries yet has no subject of its own.
    if (subject !== undefined) replaceOutcome(fold, name, evaluateSubject(fold, subject, mark));
  }
  return { subjects };
}
