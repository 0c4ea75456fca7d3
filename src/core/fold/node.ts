/**
 * The index of the fold: one node per id, linked both ways along `supersedes` and `basis`. An id that is named before
 * any line carries it has a node too, so nothing is searched when it arrives. Source: docs/fold.md, Input.
 */
import { scopeOf, type Auth, type Body, type Kind } from '../event.ts';
import type { HeldFault } from '../line.ts';
import type { Level } from './levels.ts';
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

export interface EventNode {
  readonly id: string;
  /** null while unseen, and for an invalid body, a newer version or a hole. */
  body: Body | null;
  /** '' while no subject can be read. */
  subject: string;
  scope: string;
  readonly carriers: Carrier[];
  /** null while no line of it carries an approval. */
  approvals: Map<string, Approval> | null;

  /** Along the lists of the body: each id once. */
  targets: readonly EventNode[];
  basis: readonly EventNode[];
  /** Against them: events whose `supersedes` or `basis` names this one. */
  readonly namedBy: EventNode[];
  readonly citedBy: EventNode[];

  /** R0, R1. `held` null: admitted. */
  level: Level;
  held: HeldReason | null;
  place: Carrier | null;
  signers: readonly string[];
  /** Comparable part of a claim, numbered within its subject; -1 for every other kind. */
  key: number;

  /** R2 and R5, worked out on demand. */
  lineage: Lineage | undefined;
  stale: boolean | undefined;

  /** R3, of the last evaluation of the subject. */
  withdrawnBySigned: boolean;
  /** Unsigned, and aimed at signed truth: parks, and bears no edges. */
  overSigned: boolean;
  /** Withdrawn by another host's revision alone. */
  revised: boolean;
  /** Sources of edges in effect to this event, and targets within the subject of edges in effect from it. */
  readonly by: EventNode[];
  readonly reaches: EventNode[];
  /** Sources of eligible revisions of this event, and targets of eligible revisions by it, in effect or not. */
  readonly revisers: EventNode[];
  readonly revises: EventNode[];

  /** Outcome in its own scope. */
  status: EventStatus;
  reason: EventReason | null;

  /** Scratch of walks: the number of the last one that came by. */
  mark: number;
}

/** A node of an id that nothing carries yet. */
export function unseenNode(id: string): EventNode {
  return {
    id,
    body: null,
    subject: '',
    scope: '*',
    carriers: [],
    approvals: null,
    targets: [],
    basis: [],
    namedBy: [],
    citedBy: [],
    level: 'unsigned',
    held: null,
    place: null,
    signers: [],
    key: -1,
    lineage: undefined,
    stale: undefined,
    withdrawnBySigned: false,
    overSigned: false,
    revised: false,
    by: [],
    reaches: [],
    revisers: [],
    revises: [],
    status: 'held',
    reason: null,
    mark: 0,
  };
}

/** Events of one subject ('' gathers those whose subject cannot be read). */
export interface SubjectEvents {
  readonly name: string;
  readonly events: EventNode[];
  /** Claim key to its number. */
  readonly keys: Map<string, number>;
}

/** True once a usable line carries the id. Pure. */
export function isSeen(node: EventNode): boolean {
  return node.carriers.length > 0;
}

/** Kinds that say what is true or how to behave. Pure. */
export function isClaimKind(kind: Kind): boolean {
  return kind === 'assert' || kind === 'lesson';
}

/** A claim whose body is known, admitted or not. Pure. */
export function isClaim(node: EventNode): boolean {
  return node.body !== null && isClaimKind(node.body.kind);
}

/** Admitted, and not quarantined: takes part in the rules. Needs `lineage`. Pure. */
export function takesPart(node: EventNode): boolean {
  return node.body !== null && node.held === null && node.lineage === 'clean';
}

/** Puts what a body says into its node. */
export function fillNode(node: EventNode, body: Body): void {
  node.body = body;
  node.subject = body.subject;
  node.scope = scopeOf(body);
}
