/**
 * Before a line is written to the own log: whether the branch is where our lines end. A write that failed may have persisted,
 * and a line that is then built on what we hold would be another one of the same number.
 */
import type { SignedLine } from './peer.ts';

/**
 * `branch`, `held`: commits of the branch, and of our last line; null: none. `looked`: what the branch held more has been
 * taken over. `refuse`: it is not ours to write to. Pure.
 */
export function beforeWrite(at: {
  readonly branch: string | null;
  readonly held: string | null;
  readonly looked: boolean;
}): 'write' | 'take-over' | 'refuse' {
  if (at.branch === at.held) return 'write';
  return at.looked ? 'refuse' : 'take-over';
}

/**
 * What the branch holds more, of its verified lines from the first one on: what follows our last line, and nothing of
 * another history. Pure.
 */
export function linesBeyond<Line extends SignedLine>(
  held: SignedLine | undefined,
  lines: readonly Line[],
): readonly Line[] {
  if (held === undefined || held.seq === 0) return lines;
  return lines[held.seq - 1]?.link === held.link ? lines.slice(held.seq) : [];
}
