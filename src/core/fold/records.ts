/** One bounded record per (subject, scope). Source: docs/fold.md, Records. */
import { kept } from '../kept.ts';
import type { Judgement } from './claims.ts';
import { idListIn, idListOf, noWidePart, partOf } from './id-list.ts';
import { isClaim, takesPart, type EventNode } from './node.ts';
import type { IdList, RecordCounts, RecordFlag, SubjectRecord } from './state.ts';
import type { WideClaims, WideGroup } from './wide-claims.ts';

/** What a record is made of. */
export interface RecordParts {
  readonly subject: string;
  readonly scope: string;
  /** Of the events of the scope and of `*`. */
  readonly members: MemberSummary;
  /** Beside `wide`: of the claims of the scope, compared with those. */
  readonly judgement: Judgement;
  readonly wide: WideClaims | null;
  readonly isConceded: boolean;
  readonly isStale: boolean;
}

/**
 * The record. Members of every object stand in sorted order and no text in it needs escaping beyond JSON's own, so
 * `JSON.stringify` of it is its JCS. Pure.
 */
export function recordOf(parts: RecordParts): SubjectRecord {
  const { subject, scope, judgement, members } = parts;
  const { served } = judgement;
  const group = served === null ? undefined : parts.wide?.withKey(served.key);
  return {
    corroboration: corroborationOf(parts, group),
    counts: members.counts,
    flags: flagsOf(parts, group),
    parked: parkedOf(parts, group),
    scope,
    served: served?.id ?? null,
    status: judgement.status,
    subject,
  };
}

function corroborationOf(
  { judgement: { agreeing, served }, scope }: RecordParts,
  group: WideGroup | undefined,
): SubjectRecord['corroboration'] {
  const ids = idsOf(agreeing);
  if (group === undefined) {
    const hosts = agreeing.length === 0 ? [] : otherHosts(agreeing.map(hostOf), served);
    return { hosts: idListOf(hosts), ids: scope === '*' ? idListIn(partOf(ids), []) : idListIn(noWidePart, ids) };
  }
  const isWide = served === group.best;
  const ofGroup = isWide && group.claims.length === 1 ? [] : group.hosts;
  const hosts = otherHosts([...ofGroup, ...agreeing.map(hostOf)], served);
  return { hosts: idListOf(hosts), ids: idListIn(isWide ? group.withoutBest : group.all, ids) };
}

function parkedOf({ judgement, scope, wide }: RecordParts, group: WideGroup | undefined): IdList {
  const ids = judgement.parked.flatMap(({ claims }) => idsOf(claims));
  if (wide !== null) return idListIn(group?.beside ?? wide.live, ids);
  if (scope !== '*') return idListIn(noWidePart, ids);
  const live = [...ids, ...idsOf(judgement.agreeing), ...(judgement.served === null ? [] : [judgement.served.id])];
  return idListIn({ ...partOf(ids), digest: partOf(live).digest }, []);
}

function otherHosts(hosts: readonly string[], served: EventNode | null): readonly string[] {
  const others = new Set(hosts);
  if (served !== null) others.delete(hostOf(served));
  return [...others];
}

/** What a record says of all its members, whatever is served. */
export interface MemberSummary {
  readonly counts: RecordCounts;
  readonly isPinned: boolean;
  readonly isRevised: boolean;
}

/** Of no members. */
export const noMembers: MemberSummary = {
  counts: {
    corrections: 0,
    decisions: 0,
    held: 0,
    live: 0,
    proposals: 0,
    purged: 0,
    quarantined: 0,
    questions: 0,
  },
  isPinned: false,
  isRevised: false,
};

/** The summary of these members and of those that `before` speaks of. `revised`: targets of revisions in effect. Pure. */
export function summarizeMembers(
  members: readonly EventNode[],
  revised: ReadonlySet<EventNode>,
  before: MemberSummary,
): MemberSummary {
  return {
    counts: countMembers(members, before.counts),
    isPinned: before.isPinned || members.some(isPinInEffect),
    isRevised: before.isRevised || (revised.size > 0 && members.some((node) => revised.has(node))),
  };
}

function countMembers(members: readonly EventNode[], before: RecordCounts): RecordCounts {
  const counts = { ...before };
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
  const kind = node.said?.kind;
  if (kind === 'decision') counts.decisions += open;
  else if (kind === 'question') counts.questions += open;
  else if (kind === 'propose') counts.proposals += open;
}

function flagsOf(parts: RecordParts, group: WideGroup | undefined): readonly RecordFlag[] {
  const { isConceded, isStale, judgement } = parts;
  const { counts, isPinned, isRevised } = parts.members;
  const flags: RecordFlag[] = [];
  if (isConceded) flags.push('conceded');
  if (counts.held > 0) flags.push('held');
  if (homesDiffer(judgement, group)) flags.push('homes-differ');
  if (isPinned) flags.push('pinned');
  if (counts.purged > 0) flags.push('purged');
  if (counts.quarantined > 0) flags.push('quarantined');
  if (isRevised) flags.push('revised');
  if (judgement.reason === 'SIGNERS_DISAGREE') flags.push('signers-disagree');
  if (isStale) flags.push('stale');
  if (counts.questions > 0) flags.push('undecided');
  return kept(flags);
}

/** Only an approval gives a pin its effect. Kind first: it rules out nearly all. */
function isPinInEffect(node: EventNode): boolean {
  if (node.said?.kind !== 'pin' || node.level !== 'signed' || node.purge !== null) return false;
  return node.by.length === 0 && takesPart(node);
}

function homesDiffer({ served, agreeing }: Judgement, group: WideGroup | undefined): boolean {
  const home = served?.said?.home;
  if (agreeing.some(({ said }) => said?.home !== undefined && said.home !== home)) return true;
  return group !== undefined && [...group.homes].some((other) => other !== home);
}

function hostOf(node: EventNode): string {
  return node.said?.host ?? '';
}

function idsOf(nodes: readonly EventNode[]): readonly string[] {
  return nodes.map(({ id }) => id);
}
