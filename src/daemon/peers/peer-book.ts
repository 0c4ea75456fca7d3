/** What is known of each peer: the three different answers down, behind and empty, and what it refused or was refused. */
import { relayedAddressesMax } from '../../core/limits.ts';
import { printPeerAddress } from '../../mesh/ssh/address.ts';
import type { Heads } from '../../mesh/heads.ts';
import type { MeshAlarm, PeerOutcome, SignedLine } from '../../mesh/node.ts';
import type { RememberedPeer } from '../../store/notes/peer-memory.ts';

export interface PeerHealth {
  /** `unknown`: not asked in this process. */
  readonly state: PeerOutcome['state'] | 'unknown';
  /** When it answered for the first time that is remembered; times are of this host's own clock. */
  readonly since: string | null;
  readonly lastContact: string | null;
  readonly lastNewEvent: string | null;
  readonly reason: string | undefined;
  /** What it said it holds, last time. */
  readonly heads: Heads | undefined;
  readonly alarms: readonly MeshAlarm[];
  /** Line of our own log up to which it was seen to hold it; 0: none. */
  readonly holds: number;
}

export interface PeerBook {
  of(peer: string): PeerHealth | undefined;
  /** What it said last, while its cycle still runs too. */
  said(peer: string): Heads | undefined;
  /** Notes that it holds our own log up to this line. */
  holds(peer: string, seq: number): void;
  /** What is worth keeping over a restart. */
  remembered(): ReadonlyMap<string, RememberedPeer>;
  /** Notes the outcome of one cycle. @returns true when the state or the reason changed. */
  note(outcome: PeerOutcome, now: string): boolean;
  /** Notes what a peer says it holds, while the cycle with it still runs. */
  heard(peer: string, heads: Heads): void;
  /** Notes what came of a peer's claim to hold what we lack of our own log. */
  claimed(peer: string, claim: 'looking' | 'unproven' | SignedLine): void;
  /** Lines of our own log, signed by us, that peers were seen to hold and this home did not. */
  proofs(): readonly { readonly peer: string; readonly line: SignedLine }[];
  /** What was proven by old keys of this host counts no more: a signer said where its log goes on. */
  forgetProofs(): void;
  alarms(): readonly MeshAlarm[];
  /** Notes the address from which a host of the charter logged in; `port`: where it is thought to listen. */
  seenAt(host: string, address: string, port: number): void;
  /** Notes an address at which a host answered, and proved who it is. */
  reachedAt(host: string, address: string): void;
  /** Where a host is, as this one knows at first hand; the best first. Hints, never trust. */
  hints(host: string): readonly string[];
  /** Where others say that a host is: tried last, and told to nobody. */
  relayed(host: string): readonly string[];
}

interface Places {
  readonly reached?: string;
  readonly seen?: string;
}

const unknown: PeerHealth = {
  state: 'unknown',
  since: null,
  lastContact: null,
  lastNewEvent: null,
  reason: undefined,
  heads: undefined,
  alarms: [],
  holds: 0,
};

/**
 * `isEnrolled`: whether the charter, as of now, names a host. Nothing is known of one that left it. `remembered`: what an
 * earlier process knew.
 */
export function createPeerBook(
  isEnrolled: (host: string) => boolean = () => true,
  remembered: ReadonlyMap<string, RememberedPeer> = new Map(),
): PeerBook {
  const peers = new Map([...remembered].map(([host, one]): [string, PeerHealth] => [host, { ...unknown, ...one }]));
  const said = new Map<string, Heads>();
  const proven = new Map<string, SignedLine>();
  const places = placesIn(remembered);
  const all = [peers, said, proven, places];
  const forgetUnlessEnrolled = (host: string): void => forgetAmong(all, [host], isEnrolled);
  const forgetOthers = (): void => all.forEach((known) => forgetAmong([known], known.keys(), isEnrolled));
  const hints = (host: string): readonly string[] =>
    hintsOf(host, said.get(host) ?? peers.get(host)?.heads, places.get(host));
  return {
    heard: (peer, heads) => void said.set(peer, heads),
    // What was proven once stays so: the signature is ours, whatever the peer says later.
    claimed(peer, claim) {
      if (typeof claim === 'object') proven.set(peer, claim);
    },
    forgetProofs: () => proven.clear(),
    proofs() {
      forgetOthers();
      return [...proven].map(([peer, line]) => ({ peer, line }));
    },
    said(peer) {
      forgetUnlessEnrolled(peer);
      return said.get(peer) ?? peers.get(peer)?.heads;
    },
    holds(peer, seq) {
      const before = peers.get(peer);
      if (before !== undefined && seq > before.holds) peers.set(peer, { ...before, holds: seq });
    },
    remembered() {
      forgetOthers();
      return new Map([...peers].map(([host, health]) => [host, memoryOf(health, hints(host)[0])]));
    },
    of(peer) {
      forgetUnlessEnrolled(peer);
      return peers.get(peer);
    },
    note(outcome, now) {
      const before = peers.get(outcome.peer) ?? unknown;
      // A line of its own log is news of it, whoever passed it on.
      for (const [log, count] of Object.entries(outcome.lines)) {
        const owner = peers.get(log);
        if (count > 0 && owner !== undefined) peers.set(log, { ...owner, lastNewEvent: now });
      }
      const after = healthAfter(before, outcome, now);
      peers.set(outcome.peer, after);
      return before.state !== after.state || before.reason !== after.reason;
    },
    alarms() {
      forgetOthers();
      return [...peers.values()].flatMap((peer) => peer.alarms);
    },
    seenAt(host, address, port) {
      const seen = dialable(address, port);
      if (seen !== undefined) places.set(host, { ...places.get(host), seen });
    },
    reachedAt: (host, reached) => void places.set(host, { ...places.get(host), reached }),
    hints(host) {
      forgetUnlessEnrolled(host);
      return hints(host);
    },
    relayed(host) {
      forgetOthers();
      const told = [...said].flatMap(([by, { addresses }]) => (by === host ? [] : (addresses[host] ?? [])));
      return addressesIn(told).slice(0, relayedAddressesMax);
    },
  };
}

/** What is asked about one host goes through no other: all of them are asked for one after the other. */
function forgetAmong(
  all: readonly Map<string, unknown>[],
  hosts: Iterable<string>,
  isEnrolled: (host: string) => boolean,
): void {
  for (const host of hosts) if (!isEnrolled(host)) for (const known of all) known.delete(host);
}

function placesIn(remembered: ReadonlyMap<string, RememberedPeer>): Map<string, Places> {
  const known = [...remembered].filter(([, { address }]) => address !== undefined && address !== '');
  return new Map(known.map(([host, { address = '' }]) => [host, { reached: address }]));
}

function hintsOf(host: string, said: Heads | undefined, { reached, seen }: Places = {}): readonly string[] {
  return addressesIn([reached, said?.addresses[host], seen]);
}

function addressesIn(all: readonly (string | undefined)[]): readonly string[] {
  return [...new Set(all)].flatMap((address) => (address === undefined || address === '' ? [] : address));
}

function healthAfter(before: PeerHealth, outcome: PeerOutcome, now: string): PeerHealth {
  const { state, newEvents, reason, heads = before.heads, alarms } = outcome;
  const reached = state !== 'down';
  return {
    state,
    since: before.since ?? (reached ? now : null),
    lastContact: reached ? now : before.lastContact,
    lastNewEvent: newEvents > 0 ? now : before.lastNewEvent,
    reason: reason === undefined ? undefined : `${reason.code}: ${reason.detail}`,
    heads,
    alarms: reached ? alarms : before.alarms,
    holds: before.holds,
  };
}

function memoryOf(
  { since, lastContact, lastNewEvent, holds }: PeerHealth,
  address: string | undefined,
): RememberedPeer {
  return { since, lastContact, lastNewEvent, holds, ...(address === undefined ? {} : { address }) };
}

/** The address of a socket as one to dial; undefined for one that means something on its own link only. Pure. */
function dialable(address: string, port: number): string | undefined {
  const host = address.replace(/^::ffff:(?=\d+\.)/, '');
  return host.includes('%') || /^fe80:/i.test(host) ? undefined : printPeerAddress({ host, port });
}
