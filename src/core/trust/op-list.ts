/** Which ops of a trust set would not count any more, for people to read. Source: docs/fold.md T1. */
import type { Evaluation } from './items.ts';
import type { TrustBody } from './op.ts';
import { placeIn } from './preview.ts';
import { evaluationOf, type TrustSet } from './set.ts';
import { counts } from './standing.ts';

/** Ids of the valid ops that count now. Pure. */
function countedOpIds(set: TrustSet): ReadonlySet<string> {
  const evaluation = evaluationOf(set);
  return evaluation === undefined ? new Set() : countedIn(evaluation);
}

/**
 * Ids of the ops that count now and would not once a signer approved this body, ancestors first. Empty for a body that
 * would not be valid. Pure.
 */
export function fallenBy(set: TrustSet, body: TrustBody): readonly string[] {
  const placed = placeIn(set, body);
  if (!placed.ok) return [];
  const after = countedIn(placed.value.evaluation);
  return [...countedOpIds(set)].filter((id) => !after.has(id));
}

function countedIn({ register, standing }: Evaluation): ReadonlySet<string> {
  return new Set([...register.byId.values()].filter((held) => counts(standing, held)).map(({ op }) => op.id));
}
