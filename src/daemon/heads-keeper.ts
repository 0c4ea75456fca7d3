/** Keeps `last-heads.json`, and stops every write once a branch says less than that file. */
import type { OperatingError } from '../store/errors.ts';
import { isOperatingError } from '../store/errors.ts';
import type { Home } from '../store/home.ts';
import { checkLastHead, checkLastTrust, readLastHeads, writeLastHeads, type LastHeads } from '../store/last-heads.ts';
import type { LogBook } from './log-book.ts';
import type { TrustState } from './trust-keeper.ts';

export interface HeadsKeeper {
  /** Compares what was read with what was last seen; what it finds is kept for `fault`. */
  readonly check: (book: LogBook, trust: TrustState) => void;
  readonly fault: () => OperatingError | undefined;
  /** Writes the heads as they are now, if they moved. Nothing is written over a fault: it must stay visible. */
  readonly write: (book: LogBook, trust: TrustState) => Promise<void>;
}

export function openHeadsKeeper(home: Home): HeadsKeeper {
  const last = readLastHeads(home).heads;
  let written = JSON.stringify(last);
  let fault: OperatingError | undefined;
  return {
    check(book, trust) {
      try {
        checkLastTrust(last.trust, { oid: trust.oid === '' ? null : trust.oid, ops: opCount(trust) });
        for (const [host, head] of Object.entries(last.logs)) {
          const tip = book.tip(host);
          checkLastHead(host, head, {
            oid: tip?.oid ?? null,
            lines: tip?.seq ?? 0,
            linkAt: (seq) => book.linkAt(host, seq),
          });
        }
        fault = undefined;
      } catch (error) {
        if (!isOperatingError(error)) throw error;
        fault = error;
      }
    },
    fault: () => fault,
    async write(book, trust) {
      const heads = headsNow(book, trust);
      const text = JSON.stringify(heads);
      if (fault !== undefined || text === written) return;
      await writeLastHeads(home, heads);
      written = text;
    },
  };
}

function headsNow(book: LogBook, trust: TrustState): LastHeads {
  const logs = book.logs().flatMap((log) => {
    const tip = book.tip(log);
    return tip === undefined ? [] : [[log, tip] as const];
  });
  return { logs: Object.fromEntries(logs), trust: trust.oid === '' ? null : { oid: trust.oid, ops: opCount(trust) } };
}

function opCount({ set }: TrustState): number {
  return set.held.size + set.unsupported.size;
}
