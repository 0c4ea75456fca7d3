/** The engine towards the mesh: what it shows of itself to peers, where it finds them, and what it asks them. */
import type { DamagedCopy } from '../core/sync/replace-copy.ts';
import type { OfferedOp } from '../core/trust/op.ts';
import { keptOp, type Added } from '../core/trust/set.ts';
import { isBehindSshd } from '../mesh/ssh/address.ts';
import type { MeshNode } from '../mesh/node.ts';
import type { ObjectGate } from '../mesh/object-gate.ts';
import { createPeers, type Peers } from '../mesh/peers.ts';
import { keepBranch } from '../store/logs/fork-branches.ts';
import type { HostKeys } from '../store/home/keys.ts';
import { readLastSshKey, readNextKeys } from '../store/home/next-keys.ts';
import { unknownLink, type LastHead } from '../store/notes/last-heads.ts';
import type { AppendQueue } from './own/append-queue.ts';
import type { Beliefs } from './beliefs/beliefs.ts';
import { mayHoldMore } from './beliefs/log-book.ts';
import type { Engine, EngineOptions } from './engine.ts';
import type { Journal } from './journal/journal.ts';
import type { PeerBook } from './peers/peer-book.ts';
import type { PeerKeeper } from './peers/peer-keeper.ts';
import { sshdAccess } from './peers/sshd-access.ts';
import type { Recovery } from './own/recover.ts';
import type { TrustState } from './trust/trust-keeper.ts';

/** Addresses at which a host may be found, the likeliest first: config, hints, charter, what others say. */
export function addressBook({
  config,
  peerBook,
  charter,
}: Pick<Engine, 'config' | 'peerBook' | 'charter'>): Engine['addressesOf'] {
  return (host) => {
    const enrolled = charter().hosts.get(host)?.address;
    // Only a person on this machine has it start the system's ssh: what others tell leads to memd itself.
    const told = [...peerBook.hints(host), enrolled, ...peerBook.relayed(host)].filter(
      (one) => !isBehindSshd(one ?? ''),
    );
    const all = [config?.peers.get(host), ...told];
    return [...new Set(all)].flatMap((address) => (address === undefined || address === '' ? [] : address));
  };
}

/** What comes of every cycle is noted, and logged when it is another state than before. */
export function openPeers(
  node: MeshNode,
  { daemon, config, log, onPeers }: EngineOptions,
  around: Pick<Engine, 'addressesOf' | 'journal' | 'beliefs'> & { readonly keeper: PeerKeeper },
): Peers {
  const { addressesOf, keeper, journal, beliefs } = around;
  const { peerBook } = keeper;
  return createPeers({
    node,
    addressesOf,
    onReached(host, address) {
      // What a person wrote down for this machine is no news for others.
      if (config?.peers.get(host) !== address) peerBook.reachedAt(host, address);
    },
    onOutcome(outcome) {
      const { peer, state, reason } = outcome;
      if (peerBook.note(outcome, new Date().toISOString())) log?.info({ peer, state, reason }, 'peer');
      const tip = outcome.heads?.heads[node.host];
      if (tip !== undefined && node.linkAt(node.host, tip.seq) === tip.link) peerBook.holds(peer, tip.seq);
      keeper.noted();
      onPeers?.('outcome');
    },
    onCaughtUp() {
      // Peers have said by now what they hold of this host's journal.
      journal.open();
      onPeers?.('caught-up');
    },
    onFailure: (error) => log?.error({ err: error }, 'a part of a cycle failed'),
    mayFetch: () => beliefs.trustFault() === undefined,
    sync: { watches: daemon },
  });
}

/** The engine as the mesh sees it. */
export function meshNode(
  {
    meshId,
    identity,
    repository,
    home,
    options,
  }: Pick<Engine, 'meshId' | 'identity' | 'repository' | 'home'> & {
    readonly options: Pick<EngineOptions, 'config'>;
  },
  live: {
    readonly keys: () => HostKeys;
    readonly heard: Recovery['heard'];
    readonly queue: Pick<AppendQueue<never, never>, 'alone'>;
    readonly beliefs: Beliefs;
    readonly trust: () => TrustState;
    readonly admitTrust: (ops: readonly OfferedOp[], via: string) => Promise<Added>;
    readonly peerBook: PeerBook;
    readonly gate: ObjectGate;
    readonly journal: Journal;
  },
): MeshNode {
  const { keys, heard, queue, beliefs, trust, admitTrust, peerBook, gate, journal } = live;
  return {
    meshId,
    host: identity.host,
    repository,
    get sshKey() {
      return keys().ssh.pem;
    },
    sshd: sshdAccess(home, options.config?.file),
    otherSshKeys: () => ({ next: readNextKeys(home).ssh?.pem, last: readLastSshKey(home)?.pem }),
    charter: () => trust().charter,
    purged: () => trust().charter.purges,
    gate,
    views: journal.store,
    tip: beliefs.book.tip,
    linkAt: beliefs.book.linkAt,
    trust,
    // Ops that cannot be applied are read again: each time they are an alarm.
    holdsTrustOp: (id) => keptOp(trust().set, id)?.unsupported === null,
    admitTrust,
    onHeads(peer, heads) {
      peerBook.heard(peer, heads);
      heard(heads);
    },
    onOwnLog: (peer, claim) => peerBook.claimed(peer, claim),
    keepBranch: (lines) => keepBranch(home, lines),
    aloneWithOwnLog: (lines, work) => queue.alone(async () => lines >= beliefs.seenOfOwn() && (await work())),
    damage: {
      of: (log) => beliefs.book.cutOf(log) !== undefined,
      recheck: beliefs.recheck,
      mayHoldMore: (log) => {
        const cut = beliefs.book.cutOf(log);
        return cut !== undefined && mayHoldMore(cut);
      },
      lastOf: (log) => lastSeen(beliefs.lastOf(log)),
    },
    admitLines: ({ log, lines, tip, mended }) =>
      mended === true ? beliefs.mend(log, lines, tip) : beliefs.take(log, lines, tip.oid),
  };
}

function lastSeen(last: LastHead | undefined): DamagedCopy['last'] {
  return last && { ...last, link: last.link === unknownLink ? undefined : last.link };
}
