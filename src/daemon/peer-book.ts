/** What is known of each peer: the three different answers down, behind and empty, and what it refused or was refused. */
import type { Heads, HeadsTip } from '../mesh/heads.ts';
import type { MeshAlarm, PeerOutcome } from '../mesh/node.ts';

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
  /** Notes the outcome of one cycle. @returns true when the state or the reason changed. */
  note(outcome: PeerOutcome, now: string): boolean;
  /** Notes what a peer says it holds, while the cycle with it still runs. */
  heard(peer: string, heads: Heads): void;
  /** Resolves once each of these peers was heard, or a cycle with it is over. */
  known(peers: readonly string[]): Promise<void>;
  /** What peers last said they hold of a log. */
  offersOf(log: string): readonly { readonly peer: string; readonly tip: HeadsTip }[];
  alarms(): readonly MeshAlarm[];
  /** Address that a host last told of itself, never what others tell of it: a hint, never trust. */
  hint(host: string): string | undefined;
}

/** `isEnrolled`: whether the charter, as of now, names a host. Nothing is known of one that left it. */
export function createPeerBook(isEnrolled: (host: string) => boolean = () => true): PeerBook {
  const peers = new Map<string, PeerHealth>();
  const said = new Map<string, Heads>();
  const forgetOthers = (): void => {
    for (const known of [peers, said]) for (const host of known.keys()) if (!isEnrolled(host)) known.delete(host);
  };
  const waiting = new Set<() => void>();
  const tell = (): void => waiting.forEach((check) => check());
  return {
    heard(peer, heads) {
      said.set(peer, heads);
      tell();
    },
    known: (names) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (!names.every((name) => said.has(name) || peers.has(name))) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
    offersOf(log) {
      forgetOthers();
      return [...said].flatMap(([peer, { heads }]) => {
        const tip = heads[log];
        return tip === undefined ? [] : [{ peer, tip }];
      });
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
      tell();
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
