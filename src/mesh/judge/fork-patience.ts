/**
 * A host with its own key can prove itself forked at line 900, then at 899, and so on: each proof is valid, cuts its log
 * lower, and has everything folded again. The first one counts at once, always. What lower ones cost is charged to the host
 * that signed both lines, whoever brought them, as everything that is done in vain; while it rests they wait: they are not
 * kept, so a later cycle is offered them again.
 */
import { foldFreeMs } from '../../core/limits.ts';
import { addDebt, restsUntil } from '../../core/sync/patience.ts';
import type { Debt } from '../../core/sync/state.ts';
import type { Charter } from '../../core/trust/charter.ts';
import type { OfferedOp } from '../../core/trust/op.ts';

export interface ForkPatience {
  /** The ops without those that have to wait. */
  heard(ops: readonly OfferedOp[], charter: Charter): readonly OfferedOp[];
  /** Charges the hosts that some of these ops prove forked. `ms`: what it took to put everything under them. */
  charge(ops: readonly OfferedOp[], ms: number): void;
}

/** `now`: milliseconds on a clock that never runs backwards. */
export function createForkPatience(now: () => number = () => performance.now()): ForkPatience {
  const debts = new Map<string, Debt>();
  const rests = (host: string): boolean => {
    const debt = debts.get(host);
    return debt !== undefined && restsUntil(debt) > now();
  };
  return {
    heard: (ops, charter) =>
      ops.filter((op) => {
        const host = forkedBy(op);
        return host === undefined || !rests(host) || (charter.hosts.get(host)?.fork ?? null) === null;
      }),
    charge(ops, ms) {
      const hosts = new Set(ops.map(forkedBy).filter((host) => host !== undefined));
      const beyond = (ms - foldFreeMs) / hosts.size;
      if (beyond <= 0) return;
      for (const host of hosts) debts.set(host, addDebt(debts.get(host) ?? { ms: 0, at: 0 }, now(), beyond));
    },
  };
}

function forkedBy({ auth, body }: OfferedOp): string | undefined {
  return auth === null && 'host' in body && typeof body.host === 'string' ? body.host : undefined;
}
