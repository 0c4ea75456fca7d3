/** Ranked selections for session texts, kept in memory per audience and scope and made anew only for what changed. */
import type { Fold } from '../../core/fold/fold.ts';
import { forgetSubjects } from '../../core/views/render.ts';
import { readerOf, selectForSession } from '../../core/views/session-text.ts';
import type { Selection, ViewCache } from '../../core/views/selection.ts';
import type { Reader } from '../../core/views/subject-summary.ts';
import { viewSourceOf, type ViewSource } from '../../core/views/view-source.ts';
import type { FoldListener } from '../beliefs/beliefs.ts';

export interface SessionView {
  readonly source: ViewSource;
  readonly reader: Reader;
  readonly selection: Selection;
}

export interface SessionViews {
  /** The selection of one reader over the fold as it is now. */
  readonly of: (fold: Fold, audience: string, scope: string | null) => SessionView;
  /** To be told of every change of the fold. */
  readonly changed: FoldListener;
}

interface Kept {
  readonly cache: ViewCache;
  selection: Selection | undefined;
}

/** Readers that are kept: an audience in a project each. More than a host has at work at one time. */
const readersMax = 16;

/** `sharedCache` gives what the view files of an audience were made with: most of it holds for every project. */
export function createSessionViews(sharedCache: (audience: string) => ViewCache): SessionViews {
  const kept = new Map<string, Kept>();
  return {
    of(fold, audience, scope) {
      const source = viewSourceOf(fold);
      const reader = readerOf(source, audience, scope);
      const key = `${audience} ${scope ?? ''}`;
      const known = kept.get(key) ?? { cache: new Map(), selection: undefined };
      kept.delete(key);
      kept.set(key, known);
      for (const oldest of [...kept.keys()].slice(0, Math.max(0, kept.size - readersMax))) kept.delete(oldest);
      const caches = { own: known.cache, shared: sharedCache(audience) };
      known.selection ??= selectForSession(source, reader, caches);
      return { source, reader, selection: known.selection };
    },
    changed(subjects) {
      if (subjects === 'all') return kept.clear();
      for (const one of kept.values()) {
        forgetSubjects(one.cache, subjects);
        one.selection = undefined;
      }
    },
  };
}
