/**
 * The logs as read and verified, and the fold over them. Loaded from the repository when first needed; the book and the
 * fold are always of one moment.
 */
import { approvalsOf, createApprovalChecks, worthCheckingAhead, type ApprovalChecks } from './approval-checks.ts';
import { counted } from '../counted.ts';
import { createFold, foldLines, type Fold } from '../../core/fold/fold.ts';
import type { VerifiedLine } from '../../core/log.ts';
import type { Repository } from '../../store/git/repository.ts';
import { createLogBook, loadLogs, type LogBook } from './log-book.ts';
import { packedBodies, type PackedBodies } from './packed-bodies.ts';
import type { TrustState } from '../trust/trust-keeper.ts';

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
  /** Has the approvals of lines that are about to be folded verified on all cores. Changes nothing that anybody sees. */
  readonly checkAhead: (lines: readonly VerifiedLine[]) => Promise<void>;
  /** Makes the bodies of the fold smaller, for about a millisecond. @returns false when nothing was left to do. */
  readonly pack: () => boolean;
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
  const checks = createApprovalChecks();
  let folding: Promise<Fold> | undefined;
  let bodies = packedBodies();

  const reload = (progress: Progress, onLoaded: LoadListener): Promise<Fold> => {
    // One after the other: the book is of the load that ended last, and the fold of the one that began last.
    const before = folding?.catch(() => undefined);
    const load = (): Promise<Fold> => {
      bodies = packedBodies();
      return loadFold({ repository, trust: trust(), book, checks, bodies, progress, onLoaded });
    };
    const loading = before === undefined ? load() : before.then(load);
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
    pack: () => bodies.pack(),
    reload,
    checkAhead: async (lines) => {
      const approved = lines.filter(({ auth }) => auth !== null);
      if (approved.length < worthCheckingAhead) return;
      checks.begin(approvalsOf(trust().charter, approved));
      await checks.settled();
    },
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
  readonly checks: ApprovalChecks;
  readonly bodies: PackedBodies;
  readonly progress: Progress;
  readonly onLoaded: LoadListener;
}

/**
 * Reads, verifies and folds every log of the charter; approvals of one log are verified while the next is read. The book
 * changes at the end, at once.
 */
async function loadFold({ repository, trust, book, checks, bodies, progress, onLoaded }: Loading): Promise<Fold> {
  const { charter, hash } = trust;
  const fold = createFold(charter, hash, checks.ports, bodies);
  const loaded: VerifiedLine[] = [];
  const read = createLogBook();
  await loadLogs({ repository, charter, book: read, progress }, (lines) => {
    for (const line of lines) loaded.push(line);
    checks.begin(approvalsOf(charter, lines));
  });
  await checks.settled();
  progress(`folding ${counted(loaded.length, 'line')}`);
  foldLines(fold, loaded);
  checks.forget();
  book.become(read);
  onLoaded(loaded);
  return fold;
}
