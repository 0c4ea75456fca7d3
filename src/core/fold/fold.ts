/**
 * The fold: lines in, beliefs out. Pure: no clock, no I/O, no locale; the state depends on the set of lines and the
 * charter, never on the order or the portions in which they came. Source: docs/fold.md.
 */
import type { VerifiedLine } from '../log.ts';
import { charterLeaves, emptyTree, rootOf, setLeaf } from '../root.ts';
import { approvalVerdict, type Charter, type CharterSigner } from '../trust/charter.ts';
import { keyNumber } from './claims.ts';
import { evaluateSubject } from './evaluate.ts';
import { nextMark, rejudgeApprovals, takeLine, type Fold, type FoldPorts } from './fold-index.ts';
import { settleLevel } from './levels.ts';
import { forgetAbove } from './lineage.ts';
import { isClaimKind, isSeen, type EventNode } from './node.ts';
import { byCodeUnits } from './order.ts';
import { replaceOutcome } from './outcomes.ts';
import { takeObserve, type Observation } from './staleness.ts';
import { rulesVersion, type State } from './state.ts';

export { eventsOf, eventView, idsWithPrefix, recordsOf, subjectsOf } from './event-view.ts';
export type { Fold, FoldPorts } from './fold-index.ts';

/** A usable line (R0). The fold trusts log, seq, id and body of it, and judges the approval itself. */
export type FoldLine = VerifiedLine;

/** Subjects that were worked out anew: a superset of those whose outcome differs. '' stands for unreadable ones. */
export interface Changed {
  readonly subjects: ReadonlySet<string>;
}

/** SSHSIG namespace of approvals of events. */
const approvalNamespace = 'memd-event';

const trustPorts: FoldPorts = {
  approve: (charter, auth, message, subject) =>
    approvalVerdict(charter, auth, { message, namespace: approvalNamespace, subject }),
};

/** An empty fold under `charter`; `trust` is the trust hash that the root commits to. Pure. */
export function createFold(charter: Charter, trust: string, ports: FoldPorts = trustPorts): Fold {
  const fold: Fold = {
    charter,
    trust,
    ports,
    nodes: new Map(),
    subjects: new Map(),
    heads: new Map(),
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
  return fold;
}

/**
 * Takes lines of any logs, in log order within each log, in portions of any size, and brings the state up to date once
 * at the end: the larger the portion, the less is worked out twice. A line already taken changes nothing.
 */
export function foldLines(fold: Fold, lines: Iterable<FoldLine>): Changed {
  const touched: EventNode[] = [];
  const mark = nextMark(fold);
  for (const line of lines) {
    const node = takeLine(fold, line);
    if (node === undefined || node.mark === mark) continue;
    node.mark = mark;
    touched.push(node);
  }
  const cold = fold.outcomes.size === 0;
  for (const node of touched) settleNode(fold, node);
  const moved = new Set<Observation>();
  for (const node of touched) takeObserve(fold.observations, node, moved);
  return evaluate(fold, cold ? new Set(fold.subjects.keys()) : affectedBy(fold, touched, moved));
}

/**
 * Puts the fold under another charter. If it says anything else of signers, classes or audiences, verdicts of changed
 * signers, levels and every subject are worked out anew.
 */
export function setCharter(fold: Fold, charter: Charter, trust: string): Changed {
  const before = fold.charter;
  fold.charter = charter;
  fold.trust = trust;
  for (const item of charterLeaves(before).keys()) setLeaf(fold.tree, item, null);
  plantCharter(fold);
  if (saysTheSame(before, charter)) return { subjects: new Set() };
  const isChanged = (name: string): boolean => !sameSigner(before.signers.get(name), charter.signers.get(name));
  resettle(fold, isChanged);
  return evaluate(fold, new Set(fold.subjects.keys()));
}

/** Everything that rests on the charter: verdicts of changed signers, levels, sightings, lineage. */
function resettle(fold: Fold, isChanged: (signer: string) => boolean): void {
  fold.observations.clear();
  for (const node of fold.nodes.values()) {
    if (!isSeen(node)) continue;
    rejudgeApprovals(fold, node, isChanged);
    node.lineage = undefined;
    node.stale = undefined;
    settleNode(fold, node);
    takeObserve(fold.observations, node, new Set());
  }
}

/** Hosts and policy are the business of logs and views: no rule from R0 on reads them. */
function saysTheSame(before: Charter, after: Charter): boolean {
  const said = ({ meshId, ...charter }: Charter): string => {
    const leaves = [...charterLeaves({ meshId, ...charter, hosts: new Map(), policy: new Map() })];
    return JSON.stringify([meshId, leaves.toSorted(([a], [b]) => byCodeUnits(a, b))]);
  };
  return said(before) === said(after);
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

function settleNode(fold: Fold, node: EventNode): void {
  settleLevel(fold.charter, node);
  const { body, family } = node;
  if (body === null || family === null || node.key !== -1 || !isClaimKind(body.kind)) return;
  node.key = keyNumber(family.keys, body);
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

function sameSigner(a: CharterSigner | undefined, b: CharterSigner | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.key.text === b.key.text && a.scopes.join(' ') === b.scopes.join(' ');
}
