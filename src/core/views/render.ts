/**
 * The generated files of one audience. Pure, and a function of the folded state and the charter alone: every host at the
 * same heads writes the same bytes, whatever its name, clock, path, locale or Node version. Source: docs/fold.md R6, R7.
 */
import { indexBytesDefault, indexLinesDefault } from '../limits.ts';
import { audienceClosure } from '../trust/charter.ts';
import type { Budget } from './budget.ts';
import { conflictsFile } from './conflicts-file.ts';
import { heldFile } from './held-file.ts';
import { indexFile } from './index-file.ts';
import { indexJson } from './index-json.ts';
import { selectFor, type ViewCache } from './selection.ts';
import { staleFile } from './stale-file.ts';
import type { Reader } from './subject-summary.ts';
import type { ViewSource } from './view-source.ts';

/** Names of the generated files, in the order in which they are made. */
export const viewNames = ['INDEX.md', 'index.json', 'CONFLICTS.md', 'QUARANTINE.md', 'STALE.md'] as const;
export type ViewName = (typeof viewNames)[number];

/** For whom, and how much of it is resident. */
export interface ViewOptions {
  /** Default `operator`. One that the charter does not declare sees nothing. */
  readonly audience?: string;
  /** One scope and what holds everywhere. Default: every scope, each row marked with its own. */
  readonly scope?: string;
  /** Of INDEX.md. Default: limits.ts. */
  readonly budget?: Budget;
  /** Kept by the caller between calls, one per audience and scope; see `forgetSubjects`. */
  readonly cache?: ViewCache;
}

/** Renders all files of one audience. Pure but for filling the cache. */
export function renderViews(source: ViewSource, options: ViewOptions = {}): ReadonlyMap<ViewName, string> {
  const audience = options.audience ?? 'operator';
  const scope = options.scope ?? null;
  const reader: Reader = { audiences: audiencesOf(source, audience), scope };
  const selection = selectFor(source, reader, options.cache);
  const budget = options.budget ?? { bytes: indexBytesDefault, lines: indexLinesDefault };
  const shown = indexFile(source, selection, budget);
  return new Map<ViewName, string>([
    ['INDEX.md', shown.markdown],
    ['index.json', indexJson(source, selection, { audience, scope, shown })],
    ['CONFLICTS.md', conflictsFile(source, reader, selection)],
    ['QUARANTINE.md', heldFile(source, selection)],
    ['STALE.md', staleFile(source, selection)],
  ]);
}

/** What one audience sees. `operator` sees its own also before the charter is held: somebody must see what is held out. */
function audiencesOf({ charter }: ViewSource, audience: string): ReadonlySet<string> {
  return new Set([...audienceClosure(charter, audience), ...(audience === 'operator' ? [audience] : [])]);
}

/** Drops what a cache knows of these subjects: those that `foldLines` says were worked out anew. */
export function forgetSubjects(cache: ViewCache, subjects: Iterable<string>): void {
  for (const subject of subjects) cache.delete(subject);
}
