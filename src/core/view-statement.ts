/** What a view line says, taken from the fold and the heads of one moment. Pure. */
import { readState, type Fold } from './fold/fold.ts';
import { rulesVersion } from './fold/state.ts';
import { viewHostsMax } from './limits.ts';
import type { Statement, ViewHead } from './view-line.ts';

/** Logs that are held, and the last usable line of each. */
export interface HeadBook {
  readonly logs: () => readonly string[];
  readonly head: (log: string) => ViewHead | undefined;
}

/** The input of a fold and its root; undefined where a line could not hold its heads. */
export function statementOf(fold: Fold, book: HeadBook): Statement | undefined {
  const heads = new Map<string, ViewHead>();
  for (const log of book.logs()) {
    const head = book.head(log);
    if (head !== undefined) heads.set(log, { seq: head.seq, link: head.link });
  }
  if (heads.size > viewHostsMax) return undefined;
  const { charter, trust } = fold;
  return { heads, mesh: charter.meshId, root: readState(fold).root, rules: rulesVersion, trust };
}

/** True when both say the same of the same. */
export function sameStatement(left: Statement, right: Statement): boolean {
  if (left.root !== right.root || left.trust !== right.trust || left.rules !== right.rules) return false;
  if (left.heads.size !== right.heads.size) return false;
  return [...left.heads].every(([host, { seq, link }]) => {
    const other = right.heads.get(host);
    return other?.seq === seq && other.link === link;
  });
}
