/**
 * What the charter makes of signers and delegations, laid out for the judging of lines. Source: docs/fold.md R1.
 */
import { sameBytes } from '../../crypto/ssh-wire.ts';
import type { Kind } from '../event.ts';
import type { HostKeySpan } from '../log.ts';
import type { Charter, CharterDelegation, CharterSigner } from '../trust/charter.ts';
import { scopeCovers } from '../trust/scope.ts';
import { carriersOf, type Carrier, type EventNode } from './node.ts';
import { sortedUnique } from './order.ts';

/** A stretch of one log in which unsigned lines may be delegated ones. Both ends belong to it. */
export interface Stretch {
  readonly from: number;
  readonly upto: number;
  readonly subjects: readonly string[];
  readonly kinds: readonly Kind[];
}

/** What levels are judged by. */
export interface Authority {
  readonly charter: Charter;
  /** By log. */
  readonly stretches: ReadonlyMap<string, readonly Stretch[]>;
  /** Link of a line that was taken; undefined while the log is shorter. */
  readonly linkAt: (log: string, seq: number) => string | undefined;
}

/** The stretches of all delegations: where the key of the log is the one that was delegated to. Pure. */
export function stretchesOf(charter: Charter): ReadonlyMap<string, readonly Stretch[]> {
  const stretches = new Map<string, Stretch[]>();
  for (const delegation of charter.delegations) {
    for (const span of charter.hosts.get(delegation.host)?.spans ?? []) {
      const stretch = stretchIn(delegation, span);
      if (stretch === undefined) continue;
      const known = stretches.get(delegation.host);
      if (known === undefined) stretches.set(delegation.host, [stretch]);
      else known.push(stretch);
    }
  }
  return stretches;
}

function stretchIn(delegation: CharterDelegation, span: HostKeySpan): Stretch | undefined {
  const { key, subjects, kinds } = delegation;
  if (key.raw32 === undefined || !sameBytes(key.raw32, span.key)) return undefined;
  const from = Math.max(delegation.from, span.from);
  const upto = Math.min(delegation.upto, span.upto ?? delegation.upto);
  return from > upto ? undefined : { from, upto, subjects, kinds };
}

/** True iff a delegation covers what stands at this place of the log, as an unsigned line of the log's own host. Pure. */
export function isDelegated({ stretches }: Authority, node: EventNode, { log, seq }: Carrier): boolean {
  const own = stretches.get(log);
  if (own === undefined || node.said === null) return false;
  const { kind } = node.said;
  return own.some(
    ({ from, upto, subjects, kinds }) =>
      seq >= from && seq <= upto && kinds.includes(kind) && scopeCovers(subjects, node.subject),
  );
}

/** Signers whose approval of the event counts and stands, sorted. Pure. */
export function standingSigners(authority: Authority, node: EventNode): readonly string[] {
  const names = new Set<string>();
  for (const carrier of carriersOf(node)) if (isGoodApproval(carrier)) names.add(carrier.approval?.auth.signer ?? '');
  return sortedUnique([...names].filter((name) => stands(authority, node, name)));
}

/**
 * For every revocation in force some line carries the approval from before its marks. What the revoker had not seen
 * then, or saw in another branch of the log, it did not mean to keep.
 */
function stands(authority: Authority, node: EventNode, name: string): boolean {
  const signer = authority.charter.signers.get(name);
  if (signer === undefined) return false;
  return signer.revocations.every((revocation) =>
    carriersOf(node).some(
      (carrier) =>
        isGoodApproval(carrier) &&
        carrier.approval?.auth.signer === name &&
        isWithinMark(authority, revocation, carrier),
    ),
  );
}

function isWithinMark(
  { linkAt }: Authority,
  { marks }: CharterSigner['revocations'][number],
  { log, seq }: Carrier,
): boolean {
  const mark = marks.get(log);
  if (mark === undefined || seq > mark.seq) return false;
  return (linkAt(log, mark.seq) ?? mark.link) === mark.link;
}

function isGoodApproval({ fault, approval }: Carrier): boolean {
  return fault === null && approval?.verdict === 'ok';
}
