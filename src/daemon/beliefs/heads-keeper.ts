/** Keeps `last-heads.json`, and tells when a branch says less than that file. */
import { existsSync } from 'node:fs';
import { encodeBase64 } from '../../crypto/base64.ts';
import type { OperatingError } from '../../store/errors.ts';
import { isOperatingError } from '../../store/errors.ts';
import type { Home } from '../../store/home/home.ts';
import {
  checkLastHead,
  checkLastTrust,
  damagedLastHeads,
  readLastHeads,
  setAsideLastHeads,
  viewRewound,
  writeLastHeads,
  type LastHead,
  type LastHeads,
  type LastView,
} from '../../store/notes/last-heads.ts';
import type { LogBook } from './log-book.ts';
import { withOwnWord, type OwnWord } from './own-word.ts';
import type { TrustState } from '../trust/trust-keeper.ts';

/** What is held of every log now: as the book has it, or the database that is up to date. */
export type HeldLogs = Pick<LogBook, 'tip' | 'linkAt' | 'oids'>;

export interface HeadsKeeper {
  /**
   * BRANCH_REWOUND for every branch that says less than when this host last looked: the trust branch under '', logs under
   * their host. Asked anew each time, so that a log which a peer brought back is sound again.
   */
  readonly faults: (held: HeldLogs, trust: TrustState) => ReadonlyMap<string, OperatingError>;
  /** Lines of a log that this host once held; 0 when the charter says that they were never that host's. */
  readonly seen: (host: string, trust: TrustState) => number;
  /** The last line of a log that this host saw, unless the charter says that it never was that host's. */
  readonly lastOf: (host: string, trust: TrustState) => LastHead | undefined;
  /** Why what was last seen is not known, or will not be: the file could not be read, now or earlier, or not written. */
  readonly notes: () => readonly { readonly kind: string; readonly detail: string }[];
  /** Newest line of this host's view journal when this host last looked. */
  readonly lastView: () => LastView | undefined;
  /**
   * Writes the heads as they are now, if they moved. What was last seen of a faulty branch stays: it is the evidence. A
   * file that cannot be written is a note, and tried again: an older one is a weaker check, never a wrong one.
   */
  readonly write: (book: LogBook, trust: TrustState) => Promise<void>;
}

/** A line of this host's journal. `hasGoneOn`: this process wrote on, after peers had said what they hold of the journal. */
export interface ViewSeen extends LastView {
  readonly hasGoneOn?: boolean;
}

/**
 * `view`: newest line of this host's journal, as far as it is known. `word`: what this host signed about its own log, where
 * the file says nothing.
 */
export function openHeadsKeeper(
  home: Home,
  view: () => ViewSeen | undefined = () => undefined,
  word?: OwnWord,
): HeadsKeeper {
  const read = readLastHeads(home);
  let last = withOwnWord(read.heads, word);
  const aside = damagedLastHeads(home);
  let unwritten: OperatingError | undefined;
  // Before it is written anew: whoever looks must be able to hear of it later.
  if (read.state === 'damaged') setAsideLastHeads(home);

  const faults = (held: HeldLogs, trust: TrustState): ReadonlyMap<string, OperatingError> => {
    const found = new Map<string, OperatingError>();
    const note = (branch: string, check: () => void): void => {
      const fault = faultOf(check);
      if (fault !== undefined) found.set(branch, fault);
    };
    note('', () => checkLastTrust(last.trust, { oid: trust.oid === '' ? null : trust.oid, ops: trust.filesEver }));
    const oids = held.oids();
    for (const [host, head] of Object.entries(last.logs)) {
      if (isSettled(trust, host, { head, held })) continue;
      const tip = held.tip(host);
      const linkAt = (seq: number): string | undefined => held.linkAt(host, seq);
      note(host, () =>
        checkLastHead(host, head, { oid: tip?.oid ?? oids[host] ?? null, lines: tip?.seq ?? 0, linkAt }),
      );
    }
    return found;
  };
  const lastOf = (host: string, trust: TrustState): LastHead | undefined => {
    const head = last.logs[host];
    return head === undefined || isDisowned(trust, host, head) ? undefined : head;
  };
  return {
    faults,
    lastView: () => last.view,
    seen: (host, trust) => lastOf(host, trust)?.seq ?? 0,
    lastOf,
    notes: () => [
      ...(existsSync(aside) ? [{ kind: 'LAST_HEADS_DAMAGED', detail: damageSentence(aside) }] : []),
      ...(unwritten === undefined ? [] : [{ kind: unwritten.code, detail: unwritten.message }]),
    ],
    async write(book, trust) {
      const now = view();
      // What is missing is the evidence, until it is back or the journal has gone on without it.
      const isMissed = now?.hasGoneOn !== true && viewRewound(last.view, now) !== undefined;
      const seen = now === undefined || isMissed ? last.view : now;
      const heads = {
        ...headsNow(book, trust, { last, faults: faults(book, trust) }),
        ...(seen === undefined ? {} : { view: { n: seen.n, hash: seen.hash } }),
        ...(last.givenUp === undefined ? {} : { givenUp: last.givenUp }),
      };
      if (JSON.stringify(heads) === JSON.stringify(last)) return;
      try {
        await writeLastHeads(home, heads);
        [last, unwritten] = [heads, undefined];
      } catch (error) {
        if (!isOperatingError(error)) throw error;
        unwritten = error;
      }
    },
  };
}

function damageSentence(aside: string): string {
  return `last-heads.json could not be read, so a branch that was rewound before then shows nowhere; it is kept as ${aside}`;
}

function faultOf(check: () => void): OperatingError | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (isOperatingError(error)) return error;
    throw error;
  }
}

function headsNow(
  book: LogBook,
  trust: TrustState,
  { last, faults }: { readonly last: LastHeads; readonly faults: ReadonlyMap<string, OperatingError> },
): Pick<LastHeads, 'logs' | 'trust'> {
  const names = [...new Set([...book.logs(), ...Object.keys(last.logs)])].toSorted((a, b) => (a < b ? -1 : 1));
  // A damaged copy says less than what was seen of it, too.
  const cut = new Set(book.cuts().map(({ log }) => log));
  const logs = names.flatMap((log) => {
    const head = faults.has(log) || cut.has(log) ? last.logs[log] : headOf(book, trust, log);
    return head === undefined ? [] : [[log, head] as const];
  });
  const trustNow = trust.oid === '' ? null : { oid: trust.oid, ops: trust.filesEver };
  return { logs: Object.fromEntries(logs), trust: faults.has('') ? last.trust : trustNow };
}

function headOf(book: LogBook, trust: TrustState, log: string): LastHead | undefined {
  const head = book.head(log);
  if (head === undefined) return undefined;
  const { oid, seq, link } = head;
  const key = keyOf(trust, log, seq);
  return { oid, seq, link, ...(key === undefined ? {} : { key }) };
}

/**
 * Whether the charter says that what was last seen of a log does not count: its line was never that host's, or a signer
 * said since which branch is the log, and that is the one that is held. Pure.
 */
export function isSettled(
  trust: TrustState,
  host: string,
  { head, held }: { readonly head: LastHead; readonly held: Pick<HeldLogs, 'linkAt'> },
): boolean {
  return isDisowned(trust, host, head) || isPinned(trust, host, { head, held });
}

/** The charter says that the line was never that host's: what is there now owes nothing to it. */
function isDisowned(trust: TrustState, host: string, head: LastHead): boolean {
  const key = keyOf(trust, host, head.seq);
  return head.key !== undefined && key !== undefined && key !== head.key;
}

/** A signer said since which branch is the log, and that is the one that is held. */
function isPinned(
  { charter }: TrustState,
  host: string,
  { head, held }: { readonly head: LastHead; readonly held: Pick<HeldLogs, 'linkAt'> },
): boolean {
  const pins = charter.hosts.get(host)?.pins ?? [];
  return pins.some(({ seq, link }) => seq >= head.seq && held.linkAt(host, seq) === link);
}

/** The key that a host of the charter has for a line of its log. */
function keyOf({ charter }: TrustState, host: string, seq: number): string | undefined {
  const spans = charter.hosts.get(host)?.spans ?? [];
  const span = spans.find(({ from, upto }) => from <= seq && (upto === null || seq <= upto));
  return span === undefined ? undefined : encodeBase64(span.key);
}
