/** T3, T4: how much of a log, as held by one host, the charter lets it use. Source: docs/fold.md T3. */
import type { HostKeySpan } from '../log.ts';
import type { CharterHost } from './charter-types.ts';

/** `upto`: last seq that may be used, 0 for none. WRONG_BRANCH: the log has another link at a pin. */
export interface Usable {
  readonly upto: number;
  readonly fault?: 'WRONG_BRANCH';
}

/**
 * How far a log of this host may be used. `linkAt` gives the link that is held at a seq from 1 to `tipSeq`. A log that
 * differs at a pin may be used up to the last earlier pin that it matches. Pins beyond its tip say nothing yet. Pure.
 */
export function usableUpto(host: CharterHost, linkAt: (seq: number) => string | undefined, tipSeq: number): Usable {
  let matched = 0;
  for (const { seq, link } of host.pins) {
    if (seq > tipSeq) break;
    if (seq > 0 && linkAt(seq) !== link) return { upto: matched, fault: 'WRONG_BRANCH' };
    matched = seq;
  }
  return { upto: host.end === null ? tipSeq : Math.min(host.end, tipSeq) };
}

/**
 * The keys that a log is verified with for holding and relaying. Where a revocation ends it, lines behind the end stay
 * verifiable: whoever has them keeps them, so that every copy is one and the same, and nobody uses them. Pure.
 */
export function holdingKeys({ spans, end }: Pick<CharterHost, 'spans' | 'end'>): readonly HostKeySpan[] {
  const last = spans.at(-1);
  return last === undefined || end === null || last.upto !== end
    ? spans
    : [...spans.slice(0, -1), { ...last, upto: null }];
}
