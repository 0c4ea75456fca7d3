/** What is known of each peer: the three different answers down, behind and empty, and what it refused or was refused. */
import type { Heads } from '../mesh/heads.ts';
import type { MeshAlarm, PeerOutcome, SignedLine } from '../mesh/node.ts';

export interface PeerHealth {
  readonly state: PeerOutcome['state'];
  readonly lastContact: string | null;
  readonly lastNewEvent: string | null;
  readonly reason: string | undefined;
  /** What it said it holds, last time. */
  readonly heads: Heads | undefined;
  readonly alarms: readonly MeshAlarm[];
}

export interface PeerBook {
  of(peer: string): PeerHealth | undefined;
  /** What it said last, while its cycle still runs too. */
  said(peer: string): Heads | undefined;
  /** Notes the outcome of one cycle. @returns true when the state or the reason changed. */
  note(outcome: PeerOutcome, now: string): boolean;
  /** Notes what a peer says it holds, while the cycle with it still runs. */
  heard(peer: string, heads: Heads): void;
  /** Notes what came of a peer's claim to hold what we lack of our own log. */
  claimed(peer: string, claim: 'looking' | 'unproven' | SignedLine): void;
  /** Lines of our own log, signed by us, that peers were seen to hold and this home did not. */
  proofs(): readonly { readonly peer: string; readonly line: SignedLine }[];
  alarms(): readonly MeshAlarm[];
  /** Address that a host last told of itself, never what others tell of it: a hint, never trust. */
  hint(host: string): string | undefined;
}

/** `isEnrolled`: whether the charter, as of now, names a host. Nothing is known of one that left it. */
export function createPeerBook(isEnrolled: (host: string) => boolean = () => true): PeerBook {
  const peers = new Map<string, PeerHealth>();
  const said = new Map<string, Heads>();
  const proven = new Map<string, SignedLine>();
  const forgetOthers = (): void => {
    for (const known of [peers, said, proven])
      for (const host of known.keys()) if (!isEnrolled(host)) known.delete(host);
  };
  return {
    heard: (peer, heads) => void said.set(peer, heads),
    // What was proven once stays so: the signature is ours, whatever the peer says later.
    claimed(peer, claim) {
      if (typeof claim === 'object') proven.set(peer, claim);
    },
    proofs() {
      forgetOthers();
      return [...proven].map(([peer, line]) => ({ peer, line }));
    },
    said(peer) {
      forgetOthers();
      return said.get(peer) ?? peers.get(peer)?.heads;
    },
    of(peer) {
      forgetOthers();
      return peers.get(peer);
    },
    note(outcome, now) {
      const before = peers.get(outcome.peer);
      const reached = outcome.state !== 'down';
      const reason = outcome.reason === undefined ? undefined : `${outcome.reason.code}: ${outcome.reason.detail}`;
      peers.set(outcome.peer, {
        state: outcome.state,
        lastContact: reached ? now : (before?.lastContact ?? null),
        lastNewEvent: outcome.newEvents > 0 ? now : (before?.lastNewEvent ?? null),
        reason,
        heads: outcome.heads ?? before?.heads,
        alarms: reached ? outcome.alarms : (before?.alarms ?? []),
      });
      return before?.state !== outcome.state || before.reason !== reason;
    },
    alarms() {
      forgetOthers();
      return [...peers.values()].flatMap((peer) => peer.alarms);
    },
    hint(host) {
      forgetOthers();
      const address = (said.get(host) ?? peers.get(host)?.heads)?.addresses[host];
      return address === '' ? undefined : address;
    },
  };
}
