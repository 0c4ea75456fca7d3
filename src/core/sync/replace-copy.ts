/**
 * When another copy of a log may take the place of ours, which is damaged. What can still be read of ours is not all that it
 * held: good lines may stand behind the damage, and perhaps nobody else has them.
 */
import type { SignedLine } from './peer.ts';

/** What is known of a damaged copy. */
export interface DamagedCopy {
  /** Commit that its branch names, if that may hold lines that nobody has read; else ''. */
  readonly branch: string;
  /** The last line that could be read and is good. */
  readonly good: SignedLine | undefined;
  /** The last line that this host ever saw of it, and the commit that it saw it in; a link that is not known is undefined. */
  readonly last: { readonly oid: string; readonly seq: number; readonly link: string | undefined } | undefined;
  /** Lines of which a signer said that they are the log's. */
  readonly pins?: readonly SignedLine[];
}

/** What is offered in its place: verified lines from the first one on, and the commits that they came in. */
export interface WholeCopy {
  readonly lines: number;
  readonly linkAt: (seq: number) => string | undefined;
  readonly hasCommit: (oid: string) => boolean;
}

/**
 * Why it must not: `shorter` than what is known to have been here, another line (`other`) at a place that is known, or ours
 * has a commit of which nothing says that all its lines are among these (`unknown`). Undefined when it may. Pure.
 */
export function whyNotInPlace(
  { branch, good, last, pins = [] }: DamagedCopy,
  offered: WholeCopy,
): 'shorter' | 'other' | 'unknown' | undefined {
  const held = heldUpto({ good, last });
  if (offered.lines < held) return 'shorter';
  // Behind all that is known of ours a signer said which branch is the log: ours was another one.
  const isDecided = pins.some(({ seq, link }) => seq >= held && offered.linkAt(seq) === link);
  for (const known of isDecided ? [] : [good, last]) {
    if (known?.link !== undefined && known.seq > 0 && offered.linkAt(known.seq) !== known.link) return 'other';
  }
  const isKnown = branch === '' || branch === last?.oid || offered.hasCommit(branch);
  return isKnown ? undefined : 'unknown';
}

/** Lines that a damaged copy is known to have held; 0 when nothing is known. Pure. */
export function heldUpto({ good, last }: Pick<DamagedCopy, 'good' | 'last'>): number {
  return Math.max(good?.seq ?? 0, last?.seq ?? 0);
}
