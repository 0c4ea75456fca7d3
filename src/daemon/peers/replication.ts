/** How many peers hold what this host appended, and waiting until enough of them do. */
import { syncTimeoutMaxMs } from '../../core/limits.ts';
import { peersOf } from '../../mesh/node.ts';
import type { AppendedJson, Params } from '../api/api-types.ts';
import type { Engine } from '../engine.ts';
import { Refusal } from '../refusal.ts';

/** What `--sync` asks for. */
export type SyncWanted = NonNullable<Params<'append'>['sync']>;

type Mesh = Pick<Engine, 'charter' | 'identity' | 'peers' | 'peerBook' | 'beliefs'>;

/** Peers whose last word was that they hold this line of our own log; of those not asked in this process, an earlier word. */
export function holdersOfOwn({ charter, identity, peerBook, beliefs }: Mesh, seq: number): readonly string[] {
  const { host } = identity;
  return peersOf(charter(), host).filter((peer) => {
    const said = peerBook.said(peer);
    if (said === undefined) return (peerBook.of(peer)?.holds ?? 0) >= seq;
    const tip = said.heads[host];
    return tip !== undefined && tip.seq >= seq && beliefs.book.linkAt(host, tip.seq) === tip.link;
  });
}

/** The last line of our own log that some peer is known to hold, as `holdersOfOwn` knows it; 0: none. */
export function heldElsewhere({ charter, identity, peerBook, beliefs }: Mesh): number {
  const { host } = identity;
  const held = peersOf(charter(), host).map((peer) => {
    const said = peerBook.said(peer);
    if (said === undefined) return peerBook.of(peer)?.holds ?? 0;
    const tip = said.heads[host];
    return tip !== undefined && beliefs.book.linkAt(host, tip.seq) === tip.link ? tip.seq : 0;
  });
  return Math.max(0, ...held);
}

/** How many peers a request must wait for. Refuses TOO_FEW_PEERS before anything is appended: it could never be kept. */
export function peersWanted({ charter, identity }: Mesh, { peers }: SyncWanted): number {
  const there = peersOf(charter(), identity.host).length;
  const wanted = peers === 'all' ? Math.max(1, there) : peers;
  if (wanted <= there) return wanted;
  throw new Refusal({
    code: 'TOO_FEW_PEERS',
    message: `--sync asks for ${wanted} of the other hosts to hold it, and this mesh has ${there}; nothing was appended`,
    hint: there === 0 ? 'enrol a second host: memctl host request there' : `--sync=${there}, or without --sync`,
    exit: 2,
  });
}

/** Waits until enough peers hold the last of these, or time is over; then says of each how many are known to. */
export async function awaitPeers(
  engine: Mesh,
  results: readonly AppendedJson[],
  wanted: { readonly peers: number; readonly timeoutMs: number },
): Promise<{ readonly results: readonly AppendedJson[]; readonly confirmed: boolean }> {
  const { host } = engine.identity;
  const seq = Math.max(...results.map((one) => one.seq));
  const link = engine.beliefs.book.linkAt(host, seq);
  if (link === undefined) return { results, confirmed: false };
  const deadlineMs = Math.min(wanted.timeoutMs, syncTimeoutMaxMs);
  const { peers, enough } = await engine.peers.replicated({ seq, link }, { peers: wanted.peers, deadlineMs });
  return {
    confirmed: enough,
    results: results.map((one) => ({
      ...one,
      replicated: Math.max(peers.length, holdersOfOwn(engine, one.seq).length),
    })),
  };
}
