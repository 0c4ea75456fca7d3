/**
 * The logs as read and verified, and the fold over them. Loaded from the repository when first needed; the book and the
 * fold are always of one moment.
 */
import { counted } from './counted.ts';
import { createFold, foldLines, type Fold } from '../core/fold/fold.ts';
import type { VerifiedLine } from '../core/log.ts';
import type { Repository } from '../store/git/repository.ts';
import { createLogBook, loadLogs, type LogBook } from './log-book.ts';
import type { TrustState } from './trust-keeper.ts';

type Progress = (text: string) => void;

/** Told that the book was read anew: every line that it stands for. */
export type LoadListener = (loaded: readonly VerifiedLine[]) => void;

export interface FoldKeeper {
  /** Empty until the first load is done. While another load runs it stays as it was. */
  readonly book: LogBook;
  /** True once a load was asked for, and has not failed. */
  readonly isAskedFor: () => boolean;
  /** The fold that the book is of. What a caller does with both in the same turn finds them belonging together. */
  readonly latest: () => Promise<Fold>;
  /** Reads everything again. */
  readonly reload: (progress: Progress, onLoaded: LoadListener) => Promise<Fold>;
}

export interface FoldKeeperOptions {
  readonly repository: Repository;
  readonly trust: () => TrustState;
  readonly progress: Progress;
  /** Of the first load. Called before anybody gets the fold. */
  readonly onLoaded: LoadListener;
}

export function createFoldKeeper(options: FoldKeeperOptions): FoldKeeper {
  const { repository, trust } = options;
  const book = createLogBook();
  let folding: Promise<Fold> | undefined;

  const reload = (progress: Progress, onLoaded: LoadListener): Promise<Fold> => {
    const loading = loadFold({ repository, trust: trust(), book, progress, onLoaded });
    folding = loading;
    // A failure is told to whoever asked, and the next one who asks tries again.
    loading.catch(() => {
      if (folding === loading) folding = undefined;
    });
    return loading;
  };
  return {
    book,
    isAskedFor: () => folding !== undefined,
    reload,
    latest: async () => {
      for (;;) {
        const asked = folding ?? reload(options.progress, options.onLoaded);
        const fold = await asked;
        if (folding === asked) return fold;
      }
    },
  };
}

interface Loading {
  readonly repository: Repository;
  readonly trust: TrustState;
  readonly book: LogBook;
  readonly progress: Progress;
  readonly onLoaded: LoadListener;
}

/** Reads, verifies and folds every log of the charter. The book changes at the end, at once. */
async function loadFold({ repository, trust, book, progress, onLoaded }: Loading): Promise<Fold> {
  const { charter, hash } = trust;
  const fold = createFold(charter, hash);
  const loaded: VerifiedLine[] = [];
  const read = createLogBook();
  await loadLogs({ repository, charter, book: read, progress }, (lines) => {
    for (const line of lines) loaded.push(line);
  });
  progress(`folding ${counted(loaded.length, 'line')}`);
  foldLines(fold, loaded);
  book.become(read);
  onLoaded(loaded);
  return fold;
}
