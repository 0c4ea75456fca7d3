/** What a view line says, taken from the fold and the book of one moment. Pure. */
import { readState, type Fold } from '../../core/fold/fold.ts';
import { rulesVersion } from '../../core/fold/state.ts';
import { viewHostsMax } from '../../core/limits.ts';
import { viewsDigest, type Statement, type ViewHead, type ViewLine } from '../../core/view-line.ts';
import { renderViews } from '../../core/views/render.ts';
import type { ViewCache } from '../../core/views/selection.ts';
import { viewSourceOf } from '../../core/views/view-source.ts';
import type { LogBook } from '../beliefs/log-book.ts';

/** The input of a fold and its root; undefined where a line could not hold its heads. */
export function statementOf(fold: Fold, book: Pick<LogBook, 'logs' | 'head'>): Statement | undefined {
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

/** By audience: the digest over its view files, as they are at this moment. */
export function viewDigests(fold: Fold, cacheOf: (audience: string) => ViewCache): ViewLine['views'] {
  const source = viewSourceOf(fold);
  const digest = (audience: string): string => viewsDigest(renderViews(source, { audience, cache: cacheOf(audience) }));
  return new Map([...fold.charter.audiences.keys()].map((audience) => [audience, digest(audience)]));
}

/** Names every park and alarm that stands, and every purge: when it changes, somebody has something to hear. */
export function alarmsMark(fold: Fold): string {
  const alarms = [...readState(fold).alarms.keys()].toSorted((left, right) => (left < right ? -1 : 1));
  return [...alarms, ...fold.charter.purges.keys()].join('\n');
}
