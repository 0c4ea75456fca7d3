/**
 * A restored or copied home holds less of its own log than its peers do. A line appended there would take a number that is
 * used already: a fork, which every peer refuses for ever. So peers are asked before the first append of a process, and
 * none is made once one of them has proved, by a line that this host itself signed, that it holds more, or another line.
 * What a peer merely says stops nobody: any host of the mesh could then stop any other.
 */
import { ownLogAskMs } from '../core/limits.ts';
import { parsePeerAddress, printPeerAddress } from '../mesh/address.ts';
import type { LogBook } from './log-book.ts';
import type { PeerBook } from './peer-book.ts';
import { Refusal } from './refusal.ts';

export interface OwnLogLimits {
  /** A peer that cannot be reached must not keep this host from writing. */
  readonly waitMs: number;
  /** Nor one that says it holds more, and does not come up with it. */
  readonly proofMs: number;
}

export const ownLogLimits: OwnLogLimits = { waitMs: ownLogAskMs, proofMs: 15_000 };

export interface OwnLogFirstOptions {
  readonly peerBook: PeerBook;
  /** Every other host of the charter, as of now. */
  readonly peers: () => readonly string[];
  /** Has the peers asked; what they say reaches the peer book. A memd does that by itself when it starts. */
  readonly ask: () => Promise<unknown>;
  readonly limits?: OwnLogLimits;
}

/**
 * Gives a function that does its work once every peer has said what it holds, or cannot be reached, or the time is over.
 * It waits once: work that comes meanwhile waits for the same, in its order, and afterwards none does.
 */
export function createOwnLogFirst(options: OwnLogFirstOptions): <T>(work: () => Promise<T>) => Promise<T> {
  let looking: Promise<void> | undefined;
  let over = false;
  return (work) => {
    if (over) return work();
    looking ??= lookOnce(options).finally(() => (over = true));
    return looking.then(work);
  };
}

async function lookOnce({ peerBook, peers, ask, limits = ownLogLimits }: OwnLogFirstOptions): Promise<void> {
  const { waitMs, proofMs } = limits;
  const others = peers();
  if (others.length === 0) return;
  void ask().catch(() => undefined);
  await within(waitMs, peerBook.known(others));
  await within(proofMs, peerBook.lookedInto());
}

async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  await Promise.race([work, late]);
  clearTimeout(timer);
}

interface OwnHome {
  readonly host: string;
  /** Its folder. */
  readonly home: string;
  readonly addressOf: (peer: string) => string | undefined;
}

/** Refuses OWN_LOG_BEHIND while the book lacks a line that this host signed and that a peer was seen to hold. */
export function requireOwnLogWhole(
  book: Pick<LogBook, 'tip' | 'linkAt'>,
  peerBook: Pick<PeerBook, 'proofs'>,
  own: OwnHome,
): void {
  const held = book.tip(own.host)?.seq ?? 0;
  for (const { peer, line } of peerBook.proofs()) {
    const ahead = line.seq > held;
    if (!ahead && book.linkAt(own.host, line.seq) === line.link) continue;
    throw new Refusal({
      code: 'OWN_LOG_BEHIND',
      message: ahead
        ? `${peer} holds ${line.seq} lines of this host's own log, here are ${held}: this home was restored or copied, and an append would fork the log`
        : `${peer} holds another line ${line.seq} of this host's own log than this home does: the log was written to in two places`,
      hint: ahead
        ? `stop memd, then ${fetchCommand(peer, own)}`
        : 'docs/operations.md, Restoring; nothing is appended meanwhile',
    });
  }
}

/** Stock git, from memd's own server: there is no command of ours for it yet. */
function fetchCommand(peer: string, { host, home, addressOf }: OwnHome): string {
  const ssh = `GIT_SSH_COMMAND='ssh -i "${home}/keys/ssh_ed25519" -o IdentitiesOnly=yes'`;
  // An address may be a peer's hint: nothing but a name and a port gets into a line that people paste into a shell.
  const parsed = parsePeerAddress(addressOf(peer) ?? '');
  const place = parsed.ok ? printPeerAddress(parsed.value) : 'ssh://HOST:7422';
  const url = `${place.replace('ssh://', 'ssh://memd@')}/log`;
  return `${ssh} git -C "${home}/repo.git" fetch ${url} log/${host}:log/${host}`;
}
