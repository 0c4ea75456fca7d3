/**
 * Everything the fold remembers, and the taking of lines into it. Nothing here judges: levels, edges and claims are
 * worked out from the index afterwards, so that order of arrival cannot matter. Source: docs/fold.md, Input.
 */
import { canonicalJson, type JsonValue } from '../../crypto/canonical.ts';
import { assert } from '../../crypto/result.ts';
import { classOf, scopeOf, type Auth, type Body } from '../event.ts';
import { grown } from '../kept.ts';
import { emptyLinks, type LinkList } from '../link-list.ts';
import type { VerifiedLine } from '../log.ts';
import type { StateTree } from '../root.ts';
import type { Charter } from '../trust/charter.ts';
import { stretchesOf, type Authority } from './authority.ts';
import { emptyKeys } from './claim-keys.ts';
import {
  addCarrier,
  unseenNode,
  withNode,
  type Approval,
  type Carrier,
  type EventNode,
  type SubjectEvents,
} from './node.ts';
import { purgedBody } from './purged-body.ts';
import { saidOf, type Bodies, type Said } from './said.ts';
import type { Observation } from './staleness.ts';
import type { Alarm, ApprovalVerdict, Notice, StateCounts, SubjectRecord } from './state.ts';
import type { SubjectOutcome } from './evaluate.ts';

/** What the fold asks of the trust layer; replaced by a table in property tests. */
export interface FoldPorts {
  /**
   * What `auth` is worth as an approval of `message` (the canonical body) on `subject`. Asked once per (id, auth), and
   * again when the charter says something else of the signer.
   */
  readonly approve: (
    charter: Charter,
    auth: Auth,
    message: string,
    subject: string,
  ) => Exclude<ApprovalVerdict, 'unjudged'>;
}

/** Opaque outside src/core/fold. Mutable: one fold is one growing state. */
export interface Fold {
  charter: Charter;
  trust: string;
  readonly ports: FoldPorts;
  readonly bodies: Bodies;
  /** By `saidOf`. */
  readonly said: Map<string, Said>;
  readonly nodes: Map<string, EventNode>;
  readonly subjects: Map<string, SubjectEvents>;
  /** Links of the lines taken, per log: that of seq 1 first. */
  readonly links: Map<string, LinkList>;
  /** Events of which a line carries an approval in the name of a signer, by that name. */
  readonly approved: Map<string, Set<EventNode>>;
  /** What follows from the charter for the judging of lines. */
  authority: Authority;
  /** `log seq` of every mark of a revocation in force. */
  marks: ReadonlySet<string>;
  /** By `observationKey`. */
  readonly observations: Map<string, Observation>;
  readonly outcomes: Map<string, SubjectOutcome>;
  readonly records: Map<string, SubjectRecord>;
  readonly alarms: Map<string, Alarm>;
  readonly notices: Map<string, Notice>;
  readonly tree: StateTree;
  readonly totals: StateTotals;
  /** The last number given to a walk. */
  mark: number;
}

/** Running totals of the state. */
export type StateTotals = { -readonly [K in keyof Omit<StateCounts, 'subjects' | 'alarms' | 'notices'>]: number };

/** A number that no node carries yet. */
export function nextMark(fold: Fold): number {
  fold.mark += 1;
  return fold.mark;
}

/** The node of an id, made when it is new. */
export function nodeOf(fold: Fold, id: string): EventNode {
  const known = fold.nodes.get(id);
  if (known !== undefined) return known;
  const node = unseenNode(id);
  fold.nodes.set(id, node);
  return node;
}

/** Puts one line into the index; undefined when it was taken before. */
export function takeLine(fold: Fold, line: VerifiedLine): EventNode | undefined {
  const links = linksOf(fold, line.log);
  const taken = links.length();
  if (line.seq <= taken) return undefined;
  assert(line.seq === taken + 1, `lines of a log are folded in order: ${line.log} ${line.seq} after ${taken}`);
  links.push(line.link);
  fold.totals.lines += 1;
  const node = nodeOf(fold, line.id);
  if (node.said === null) takeSaid(fold, node, line);
  if (node.carrier === null) fold.totals.events += 1;
  addCarrier(node, carrierOf(fold, node, line));
  return node;
}

/** What is said of an event: by the skeleton of its purge whoever still shows it, else by its body, if there is one. */
function takeSaid(fold: Fold, node: EventNode, line: VerifiedLine): void {
  if (fold.charter.purges.has(node.id)) takePurge(fold, node);
  else if (line.body !== null) {
    node.words = fold.bodies.keep(line.body);
    takeBody(fold, node, line.body);
  } else takeHeld(fold, node, line);
}

/** Puts the skeleton in the place of the body. */
export function takePurge(fold: Fold, node: EventNode): void {
  const purge = fold.charter.purges.get(node.id);
  if (purge === undefined || node.purge !== null) return;
  node.purge = purge;
  takeBody(fold, node, purgedBody(fold.charter.meshId, purge.target));
}

/** Reads off the charter what lines are judged by. */
export function authorityOf(fold: Pick<Fold, 'charter' | 'links'>): Pick<Fold, 'authority' | 'marks'> {
  const { charter, links } = fold;
  const marks = [...charter.signers.values()].flatMap(({ revocations }) =>
    revocations.flatMap((one) => [...one.marks]),
  );
  return {
    authority: { charter, stretches: stretchesOf(charter), linkAt: (log, seq) => links.get(log)?.at(seq) },
    marks: new Set(marks.map(([log, { seq }]) => `${log} ${seq}`)),
  };
}

function linksOf(fold: Fold, log: string): LinkList {
  const known = fold.links.get(log);
  if (known !== undefined) return known;
  const links = emptyLinks();
  fold.links.set(log, links);
  return links;
}

/** Judges every approval whose signer `changed` accepts anew. */
export function rejudgeApprovals(fold: Fold, node: EventNode, changed: (signer: string) => boolean): void {
  if (node.approvals === null) return;
  for (const approval of node.approvals.values()) {
    if (changed(approval.auth.signer)) approval.verdict = verdictOf(fold, node, approval.auth);
  }
}

function takeBody(fold: Fold, node: EventNode, body: Body): void {
  if (node.subject !== body.subject || node.family === null) joinSubject(fold, node, body.subject);
  node.said = saidOf(fold.said, body);
  node.scope = scopeOf(body);
  if (body.supersedes !== undefined)
    node.targets = body.supersedes.map((id) => link(nodeOf(fold, id), node, 'namedBy'));
  if (body.basis !== undefined) node.basis = body.basis.map((id) => link(nodeOf(fold, id), node, 'citedBy'));
  // Approvals that came with an unreadable line of the same id were not judged: there was no body to judge them on.
  rejudgeApprovals(fold, node, () => true);
}

/** The subject of an unreadable body, where it shows one. */
function takeHeld(fold: Fold, node: EventNode, { held }: VerifiedLine): void {
  if (node.family !== null && (node.subject !== '' || held === null)) return;
  joinSubject(fold, node, held?.subject ?? '');
  node.scope = held?.scope ?? '*';
}

function link(to: EventNode, from: EventNode, list: 'namedBy' | 'citedBy'): EventNode {
  to[list] = withNode(to[list], from);
  return to;
}

/** A subject follows from the body, so an event changes it at most once: from unreadable ('') to the one it has. */
function joinSubject(fold: Fold, node: EventNode, name: string): void {
  if (node.family !== null) node.family.events = node.family.events.filter((other) => other !== node);
  let family = fold.subjects.get(name);
  if (family === undefined) {
    family = { name, className: classOf(name), events: [node], keys: emptyKeys() };
    fold.subjects.set(name, family);
  } else {
    family.events = grown(family.events, node);
  }
  node.family = family;
  node.subject = family.name;
}

function carrierOf(fold: Fold, node: EventNode, line: VerifiedLine): Carrier {
  const { log, seq, fault, auth } = line;
  return { log, seq, fault, approval: auth === null ? null : approvalOf(fold, node, auth) };
}

/** Re-appends of an approved body are common, and a signature costs 85 µs: each distinct approval is judged once. */
function approvalOf(fold: Fold, node: EventNode, auth: Auth): Approval {
  node.approvals ??= new Map();
  const key = `${auth.signer} ${auth.key} ${auth.sshsig}`;
  const known = node.approvals.get(key);
  if (known !== undefined) return known;
  const approval: Approval = { auth, verdict: verdictOf(fold, node, auth) };
  node.approvals.set(key, approval);
  const approved = fold.approved.get(auth.signer);
  if (approved === undefined) fold.approved.set(auth.signer, new Set([node]));
  else approved.add(node);
  return approval;
}

function verdictOf(fold: Fold, node: EventNode, auth: Auth): ApprovalVerdict {
  // The body of a purged event is here or not, depending on the host: nowhere is an approval of it judged.
  if (node.words === -1) return 'unjudged';
  const message = canonicalJson(fold.bodies.read(node.words) as unknown as JsonValue);
  return fold.ports.approve(fold.charter, auth, message, node.subject);
}
