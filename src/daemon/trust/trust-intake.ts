/** The one way in for trust ops: durable first, then everything stands under the charter that they make. */
import type { OfferedOp } from '../../core/trust/op.ts';
import type { Added } from '../../core/trust/set.ts';
import { createLocks } from '../../mesh/fetch/log-lock.ts';
import type { Repository } from '../../store/git/repository.ts';
import { growTrust, type TrustState } from './trust-keeper.ts';

type Progress = (text: string) => void;

export interface TrustIntakeOptions {
  readonly repository: Repository;
  /** This host. */
  readonly host: string;
  readonly trust: () => TrustState;
  readonly grown: (state: TrustState) => void;
  /** Puts this host under the charter as it is now. */
  readonly settle: (progress: Progress) => Promise<void>;
  readonly progress: Progress;
}

/** Adds what verifies, durably. One call at a time: each grows the set that the one before it left. */
export type TrustIntake = (ops: readonly OfferedOp[], via: string, progress?: Progress) => Promise<Added>;

export function createTrustIntake(options: TrustIntakeOptions): TrustIntake {
  const { repository, host, trust, grown, settle, progress } = options;
  const locks = createLocks();
  return (ops, via, said = progress) =>
    locks.run('trust', async () => {
      const { state, report } = await growTrust(repository, trust(), { ops, via, host });
      grown(state);
      if (report.added.length + report.unsupported.length > 0) await settle(said);
      return report;
    });
}
