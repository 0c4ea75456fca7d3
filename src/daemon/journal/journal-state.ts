/** What else a view line says, and when there is something to say. Pure. */
import { readState, type Fold } from '../../core/fold/fold.ts';
import { viewsDigest, type ViewLine } from '../../core/view-line.ts';
import { renderViews } from '../../core/views/render.ts';
import type { ViewCache } from '../../core/views/selection.ts';
import { viewSourceOf } from '../../core/views/view-source.ts';

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
