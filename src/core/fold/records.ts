/** One bounded record per (subject, scope). Source: docs/fold.md, Records. */
import { kept } from '../kept.ts';
import type { Judgement } from './claims.ts';
import type { Concession } from './concessions.ts';
import { idListOf } from './id-list.ts';
import { isClaim, takesPart, type EventNode } from './node.ts';
import type { RecordCounts, RecordFlag, SubjectRecord } from './state.ts';

/** What a record is made of. */
export interface RecordParts {
  readonly subject: string;
  readonly scope: string;
  /** Events of the scope and of `*`. */
  readonly members: readonly EventNode[];
  readonly judgement: Judgement;
  readonly concessions: readonly Concession[];
  /** Targets of revisions in effect. */
  readonly revised: ReadonlySet<EventNode>;
  readonly stale: boolean;
}

/**
 * The record. Members of every object stand in sorted order and no text in it needs escaping beyond JSON's own, so
 * `JSON.stringify` of it is its JCS. Pure.
 */
export function recordOf(parts: RecordParts): SubjectRecord {
  const { subject, scope, judgement } = parts;
  const counts = countMembers(parts.members);
  const { agreeing, served } = judgement;
  const hosts = agreeing.length === 0 ? [] : otherHosts(agreeing, served);
  return {
    corroboration: { hosts: idListOf(hosts), ids: idListOf(idsOf(agreeing)) },
    counts,
    flags: flagsOf(parts, counts),
    parked: idListOf(judgement.parked.flatMap(({ claims }) => idsOf(claims))),
    scope,
    served: served?.id ?? null,
    status: judgement.status,
    subject,
  };
}

function otherHosts(agreeing: readonly EventNode[], served: EventNode | null): readonly string[] {
  const hosts = new Set(agreeing.map(hostOf));
  if (served !== null) hosts.delete(hostOf(served));
  return [...hosts];
}

function countMembers(members: readonly EventNode[]): RecordCounts {
  const counts = {
    corrections: 0,
    decisions: 0,
    held: 0,
    live: 0,
    proposals: 0,
    purged: 0,
    quarantined: 0,
    questions: 0,
  };
  for (const node of members) {
    if (node.purge !== null) counts.purged += 1;
    else if (node.held !== null) counts.held += 1;
    else if (!takesPart(node)) counts.quarantined += node.by.length === 0 ? 1 : 0;
    else countMember(counts, node);
  }
  return counts;
}

function countMember(counts: { -readonly [K in keyof RecordCounts]: number }, node: EventNode): void {
  const open = node.by.length === 0 ? 1 : 0;
  if (isClaim(node)) {
    counts.live += open;
    counts.corrections += node.reaches.length > 0 ? 1 : 0;
    return;
  }
  const kind = node.body?.kind;
  if (kind === 'decision') counts.decisions += open;
  else if (kind === 'question') counts.questions += open;
  else if (kind === 'propose') counts.proposals += open;
}

function flagsOf(parts: RecordParts, counts: RecordCounts): readonly RecordFlag[] {
  const { concessions, judgement, members, revised, stale } = parts;
  const flags: RecordFlag[] = [];
  if (concessions.length > 0) flags.push('conceded');
  if (counts.held > 0) flags.push('held');
  if (homesDiffer(judgement)) flags.push('homes-differ');
  if (members.some(isPinInEffect)) flags.push('pinned');
  if (counts.purged > 0) flags.push('purged');
  if (counts.quarantined > 0) flags.push('quarantined');
  if (revised.size > 0 && members.some((node) => revised.has(node))) flags.push('revised');
  if (judgement.parked.some(({ reason }) => reason === 'SIGNERS_DISAGREE')) flags.push('signers-disagree');
  if (stale) flags.push('stale');
  if (counts.questions > 0) flags.push('undecided');
  return kept(flags);
}

/** Only an approval gives a pin its effect. Kind first: it rules out nearly all. */
function isPinInEffect(node: EventNode): boolean {
  if (node.body?.kind !== 'pin' || node.level !== 'signed' || node.purge !== null) return false;
  return node.by.length === 0 && takesPart(node);
}

function homesDiffer({ served, agreeing }: Judgement): boolean {
  const home = served?.body?.home;
  return agreeing.some(({ body }) => body?.home !== undefined && body.home !== home);
}

function hostOf(node: EventNode): string {
  return node.body?.host ?? '';
}

function idsOf(nodes: readonly EventNode[]): readonly string[] {
  return nodes.map(({ id }) => id);
}
