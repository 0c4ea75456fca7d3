/**
 * A restored or copied home holds less of its own log than its peers do. A line appended there would take a number that is
 * used already: a fork, which every peer refuses for ever. So peers are asked before the first append of a process, and
 * none is made once one of them has proved, by a line that this host itself signed, that it holds more, or another line.
 * What a peer merely says stops nobody: any host of the mesh could then stop any other.
 */
import { setTimeout } from 'node:timers/promises';
import { ownLogWaitMs } from '../../core/limits.ts';
import { ownLogFault } from '../../core/sync/own-log.ts';
import type { Peers } from '../../mesh/peers.ts';
import type { Beliefs } from '../beliefs/beliefs.ts';
import type { LogBook } from '../beliefs/log-book.ts';
import type { PeerBook } from '../peers/peer-book.ts';
import { Refusal } from '../refusal.ts';

/** Refuses OWN_LOG_BEHIND while the book lacks a line that this host signed and that a peer was seen to hold. */
export function requireOwnLogWhole(
  book: Pick<LogBook, 'tip' | 'linkAt'>,
  peerBook: Pick<PeerBook, 'proofs'>,
  host: string,
): void {
  const held = { host, tip: book.tip, linkAt: book.linkAt };
  const fault = ownLogFault(held, peerBook.proofs());
  if (fault === undefined) return;
  const { peer, line, ahead } = fault;
  const seq = book.tip(host)?.seq ?? 0;
  throw new Refusal({
    code: 'OWN_LOG_BEHIND',
    message: ahead
      ? `${peer} holds ${line.seq} lines of this host's own log, here are ${seq}: this home was restored or copied, and an append would fork the log`
      : `${peer} holds another line ${line.seq} of this host's own log than this home does: the log was written to in two places`,
    hint: `memctl fetch ${peer} takes what only follows ours; if this stays, the log was written to in two places: memctl host recover`,
  });
}

/**
 * Own log first: before the first append of a process, peers say what they hold of it. What this home holds is known by then.
 * A process that began when the mesh had no other host has nothing to ask for. Refuses PEERS_UNREACHABLE, after a while.
 */
export function askBeforeAppend(parts: {
  readonly beliefs: Pick<Beliefs, 'fold'>;
  readonly peers: Pick<Peers, 'beforeAppend'>;
  readonly peersOf: () => readonly string[];
  /** What came of asking a peer. */
  readonly peerBook: Pick<PeerBook, 'of'>;
  /** Refuses what no peer can mend: the charter, as it is here, counts no line of this home. */
  readonly requireWord: () => void;
}): (alone: boolean) => Promise<void> {
  const { beliefs, peers, peersOf, peerBook, requireWord } = parts;
  let known = peersOf().length === 0;
  return async (alone) => {
    if (known) return;
    requireWord();
    // A log that cannot be read is told by the append itself.
    await beliefs.fold().catch(() => undefined);
    if (alone) return peers.beforeAppend({ alone });
    const late = new AbortController();
    const refused = setTimeout(ownLogWaitMs, undefined, { signal: late.signal }).then(() => {
      throw unreachable(peersOf(), peerBook);
    });
    refused.catch(() => undefined);
    await Promise.race([peers.beforeAppend(), refused]).finally(() => late.abort());
    known = true;
  };
}

function unreachable(peers: readonly string[], book: Pick<PeerBook, 'of'>): Refusal {
  const byAnswer = Map.groupBy(peers, (peer) => {
    const { state, reason } = book.of(peer) ?? {};
    return reason === undefined ? '' : `: ${state}, ${reason}`;
  });
  const asked = [...byAnswer].map(([answer, who]) => `${who.join(', ')}${answer}`);
  const allRefused = peers.every((peer) => book.of(peer)?.state === 'refused');
  return new Refusal({
    code: 'PEERS_UNREACHABLE',
    message: `no peer (${asked.join('; ')}) has said yet what it holds of this host's own log; an append to an old copy of it would fork it`,
    hint: allRefused
      ? 'put right what is refused: docs/errors.md, Peers'
      : 'when one of them runs again; or, if this home is neither restored nor copied, append now: --offline (memctl, memd), MEMD_OFFLINE=1',
    exit: 5,
  });
}
