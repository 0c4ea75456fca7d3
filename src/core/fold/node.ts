/**
 * The index of the fold: one node per id, linked both ways along `supersedes` and `basis`. An id that is named before
 * any line carries it has a node too, so nothing is searched when it arrives. Source: docs/fold.md, Input.
 */
import type { Auth, Kind } from '../event.ts';
import { grown } from '../kept.ts';
import type { HeldFault } from '../line.ts';
import type { CharterPurge } from '../trust/charter.ts';
import type { Level } from './levels.ts';
import type { Said } from './said.ts';
import type { ApprovalVerdict, EventReason, EventStatus, HeldReason } from './state.ts';

/** One distinct approval of one id, judged once. */
export interface Approval {
  readonly auth: Auth;
  verdict: ApprovalVerdict;
}

/** One place where an id stands. `approval` null: a line without `auth`. */
export interface Carrier {
  readonly log: string;
  readonly seq: number;
  readonly fault: HeldFault | null;
  readonly approval: Approval | null;
}

/** R2: what the basis of an event says about it. `undefined` until asked for, and again when its basis changes. */
export type Lineage = 'clean' | 'untrusted' | 'untrusted-basis';

/** Grows by `withNode` only, which leaves the shared empty list empty. */
export type NodeList = readonly EventNode[];

/** Members stand in order of use, most used first: a fold of many events waits for memory more than for anything else. */
export interface EventNode {
  /** The events of its subject; null while unseen. */
  family: SubjectEvents | null;
  /** R0, R1. `held` null: admitted. */
  level: Level;
  held: HeldReason | null;
  /** R2, worked out on demand. */
  lineage: Lineage | undefined;
  /** Comparable part of a claim, numbered within its subject; -1 for every other kind. */
  key: number;
  /** Along the `supersedes` of the body, each id once, and against it; no circle (`cutCircles`). */
  targets: NodeList;
  namedBy: NodeList;

  /** R3, of the last evaluation of the subject. */
  withdrawnBySigned: boolean;
  /** Unsigned, and aimed at signed truth: parks, and bears no edges. */
  overSigned: boolean;
  /** Sources of edges in effect to this event, and targets within the subject of edges in effect from it. */
  by: NodeList;
  reaches: NodeList;
  /** Sources of eligible revisions of this event, and targets of eligible revisions by it, in effect or not. */
  revisers: NodeList;
  revises: NodeList;
  /** Withdrawn by another host's revision alone. */
  revised: boolean;

  scope: string;
  /** Outcome in its own scope. */
  status: EventStatus;
  reason: EventReason | null;
  /** Scratch of walks: the number of the last one that came by. */
  mark: number;

  readonly id: string;
  /** null while unseen, and for an invalid body, a newer version or a hole. Of a purged event what its skeleton says. */
  said: Said | null;
  /** Place of the body in `Bodies`; -1 while none can be read, and of a purged event. */
  words: number;
  /** T5: the purge that stands for the event, whether or not a line still shows its body. */
  purge: CharterPurge | null;
  /** '' while no subject can be read. Of the events of one subject always the same string, so comparing is cheap. */
  subject: string;
  place: Carrier | null;
  /** The first line of it that came; the others, which few events have, after it. Read by `carriersOf`. */
  carrier: Carrier | null;
  moreCarriers: readonly Carrier[];
  /** Along the `basis` of the body, and against it. */
  basis: NodeList;
  citedBy: NodeList;
  /** R5, worked out on demand. */
  stale: boolean | undefined;
  /** null while no line of it carries an approval. */
  approvals: Map<string, Approval> | null;
  /** Signers whose approvals count and stand, sorted. */
  signers: readonly string[];
}

/** Most lists of most nodes stay empty: one list serves them all. */
export const noNodes: NodeList = [];
const noSigners: readonly string[] = [];
const noCarriers: readonly Carrier[] = [];

/** The list with one more node, as `grown` has it. */
export function withNode(list: NodeList, node: EventNode): NodeList {
  return grown(list, node);
}

/** Adds a place. */
export function addCarrier(node: EventNode, carrier: Carrier): void {
  if (node.carrier === null) node.carrier = carrier;
  else node.moreCarriers = grown(node.moreCarriers, carrier);
}

/** Every place of an event, in order of arrival. Pure. */
export function carriersOf({ carrier, moreCarriers }: EventNode): readonly Carrier[] {
  if (carrier === null) return noCarriers;
  return moreCarriers.length === 0 ? [carrier] : [carrier, ...moreCarriers];
}

/** A node of an id that nothing carries yet. */
export function unseenNode(id: string): EventNode {
  return {
    family: null,
    level: 'unsigned',
    held: null,
    lineage: undefined,
    key: -1,
    targets: noNodes,
    namedBy: noNodes,
    withdrawnBySigned: false,
    overSigned: false,
    by: noNodes,
    reaches: noNodes,
    revisers: noNodes,
    revises: noNodes,
    revised: false,
    scope: '*',
    status: 'held',
    reason: null,
    mark: 0,
    id,
    said: null,
    words: -1,
    purge: null,
    subject: '',
    place: null,
    carrier: null,
    moreCarriers: noCarriers,
    basis: noNodes,
    citedBy: noNodes,
    stale: undefined,
    approvals: null,
    signers: noSigners,
  };
}

/** Events of one subject ('' gathers those whose subject cannot be read). */
export interface SubjectEvents {
  readonly name: string;
  readonly className: string;
  /** Grows by `grown` only. */
  events: readonly EventNode[];
  readonly keys: ClaimKeys;
}

/** Numbers of the claim keys of one subject. */
export interface ClaimKeys {
  /** By number. Looked through one by one while they are few: a map for each subject would take more room than its events. */
  marks: readonly string[];
  /** Numbers by mark; null while there are few. */
  byMark: Map<string, number> | null;
  /** By the digest that a skeleton has of a key; null until a purged claim, whose text is gone, has to be compared. */
  byDigest: Map<string, number> | null;
}

/** True once a usable line carries the id, or a signed skeleton speaks for it. Pure. */
export function isSeen(node: EventNode): boolean {
  return node.family !== null;
}

/** Kinds that say what is true or how to behave. Pure. */
export function isClaimKind(kind: Kind): boolean {
  return kind === 'assert' || kind === 'lesson';
}

/** A known claim, admitted or not. Its key must be settled. Pure. */
export function isClaim(node: EventNode): boolean {
  return node.key !== -1;
}

/**
 * Admitted, and not quarantined: takes part in the rules. Of a seen event with settled level and lineage. A purged event
 * may take part: its edges stay. Pure.
 */
export function takesPart(node: EventNode): boolean {
  return node.held === null && node.lineage === 'clean';
}
