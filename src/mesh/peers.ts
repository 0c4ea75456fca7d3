/**
 * All peers of a node: one kept connection each, and the sync machine that says what is done with them. Here is no
 * decision: events go into the machine, and what it asks for is carried out.
 */
import { randomInt } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { cycleDeadlineMs, ownLogAskMs, ownLogProofMs } from '../core/limits.ts';
import { forkProofOf } from '../core/sync/fork-proof.ts';
import { nextTime, step } from '../core/sync/step.ts';
import { openSync, type SyncOptions, type SyncState } from '../core/sync/state.ts';
import type { CycleRequest, Effect, SyncEvent } from '../core/sync/vocabulary.ts';
import { createCarrier, type Carrier } from './carrier.ts';
import { worldOf, type Heads, type MeshNode, type PeerOutcome, type SignedLine } from './node.ts';
import { createStepDriver } from './step-driver.ts';
import { openWaits, type Waits } from './waits.ts';

export interface PeersOptions {
  readonly node: MeshNode;
  /** Where to dial a host (`ssh://host:port`), best first: config, what hosts told, the charter. None: it cannot be dialled. */
  readonly addressesOf: (host: string) => readonly string[];
  /** Told of an address at which a host answered. */
  readonly onReached?: (host: string, address: string) => void;
  /** Told of every cycle that ends, whoever asked for it. */
  readonly onOutcome?: (outcome: PeerOutcome) => void;
  /** Told when every peer has been asked once after a start or a sleep. */
  readonly onCaughtUp?: () => void;
  /** Told what the machine asked for and could not be done, as a proof of a fork that could not be written. */
  readonly onFailure?: (error: unknown) => void;
  /** Whether a peer that says unasked what it holds may start a cycle now; always when absent. */
  readonly mayFetch?: () => boolean;
  /** What differs from the usual. */
  readonly sync?: Partial<SyncOptions>;
}

export interface CycleOptions {
  /** These hosts only; default every other host of the charter. */
  readonly only?: readonly string[];
  /** For each peer; default 6 min, which a first fetch must fit in. */
  readonly deadlineMs?: number;
  /** Asks what they hold, and fetches nothing but proof of what they say of our own log. */
  readonly headsOnly?: boolean;
  /** Fetches view journals whatever else there is. */
  readonly views?: boolean;
  /** What becomes of a peer whose last cycle is still running; `refuse` (TIMEOUT) if not given. */
  readonly busy?: CycleRequest['busy'];
}

export interface Peers {
  /**
   * One cycle with every peer, side by side. Never rejects. Resolves when each is done or its deadline has passed, without
   * the peers that were skipped.
   */
  cycle(options?: CycleOptions): Promise<readonly PeerOutcome[]>;
  /** The schedule is due. `slept`: this machine was suspended since the last one. Outcomes go to `onOutcome`. */
  schedule(slept: boolean): void;
  /** A peer said, unasked, what it holds. */
  nudge(peer: string, heads: Heads): void;
  /** A peer dialled us, and proved who it is. */
  met(peer: string): void;
  /** A host that dialled us offers a channel over which it can be asked. */
  offered(host: string, channel: Duplex): void;
  /** Asks a host that offered such a channel, if there is no connection to it. */
  askBack(host: string): void;
  /** What peers ask over our own connections to them is served by this; undefined: nothing is. */
  serveWith(serve: ((stream: Duplex) => void) | undefined): void;
  /**
   * Resolves once peers have said what they hold of our own log, cannot be reached, or took too long. When no peer at all can
   * be reached it resolves for those only who append `alone`.
   */
  beforeAppend(how?: { readonly alone?: boolean }): Promise<void>;
  /** Resolves with the peers that hold a line of our own log: once there are enough of them, or time is over. */
  replicated(
    line: SignedLine,
    wanted: { readonly peers: number; readonly deadlineMs: number },
  ): Promise<{
    readonly peers: readonly string[];
    readonly enough: boolean;
  }>;
  /** Ends the connections to hosts that the charter, as it is now, no longer lets in, and what runs over them. */
  expel(): void;
  /**
   * Gives up the cycles that run, ends all connections, and resolves when nothing of a cycle is left: afterwards the mesh
   * writes nothing any more. Waits for what this machine is doing, never for a peer.
   */
  close(): Promise<void>;
}

/** How often a host that offers to be asked is asked for it, at most. */
const askBackMs = 1_000;

/** Dials nobody yet. */
export function createPeers(options: PeersOptions): Peers {
  const { node, mayFetch = () => true } = options;
  const world = worldOf(node);
  const usual = {
    seed: randomInt(2 ** 32),
    ownAskMs: ownLogAskMs,
    ownProofMs: ownLogProofMs,
    appendAlone: false,
    watches: false,
  };
  const waits = openWaits();
  const machine = createStepDriver<SyncState, SyncEvent, Effect>({
    state: openSync({ ...usual, ...options.sync }),
    step: (state, at, event) => step(state, { at, world, event }),
    nextTime,
    time: { kind: 'time' },
    carry: (effect) => deliver(effect),
    onFault: (error) => options.onFailure?.(error),
  });
  const { tell } = machine;
  const carrier = createCarrier({ ...options, mayFetch, tell });
  const deliver = createDelivery(options, waits, carrier);
  const askedBack = new Map<string, number>();

  return {
    cycle: ({ only, deadlineMs = cycleDeadlineMs, headsOnly = false, views = false, busy = 'refuse' } = {}) => {
      const hosts = only ?? world.peers();
      carrier.forget(world.peers());
      const { token, done } = waits.forOutcomes(hosts);
      tell({ kind: 'cycle', request: { token, only: hosts, deadlineMs, headsOnly, views, busy } });
      return done;
    },
    schedule: (slept) => {
      carrier.forget(world.peers());
      tell({ kind: 'schedule', slept });
    },
    nudge: (peer, heads) => tell({ kind: 'nudge', peer, heads }),
    met: (peer) => tell({ kind: 'met', peer }),
    offered: (host, channel) => carrier.offered(host, channel),
    askBack(peer) {
      // Who comes again and again is heard once a second; the schedule comes anyway.
      if (carrier.isOpen(peer) || performance.now() - (askedBack.get(peer) ?? -Infinity) < askBackMs) return;
      askedBack.set(peer, performance.now());
      tell({ kind: 'reconnect', peer });
    },
    serveWith: (serve) => carrier.serveWith(serve),
    beforeAppend: ({ alone = false } = {}) => {
      const { token, done } = waits.forRelease();
      tell({ kind: 'append', token, alone });
      return done;
    },
    replicated: (line, { peers, deadlineMs }) => {
      const { token, done } = waits.forReplication();
      tell({ kind: 'replicate', wait: { token, line, peers, deadlineMs } });
      return done;
    },
    expel: () => carrier.forget(world.peers()),
    close: () => {
      tell({ kind: 'close' });
      return carrier.close().finally(() => machine.stop());
    },
  };
}

/** Effects to whoever they are for. */
function createDelivery(options: PeersOptions, waits: Waits, carrier: Carrier): (effect: Effect) => void {
  const { node, onOutcome, onCaughtUp, onFailure } = options;
  return (effect) => {
    switch (effect.kind) {
      case 'heard':
        return node.onHeads?.(effect.peer, effect.heads);
      case 'own-claim':
        return node.onOwnLog?.(effect.peer, effect.claim);
      case 'outcome':
        onOutcome?.(effect.outcome);
        return waits.outcome(effect.outcome, effect.tokens);
      case 'skipped':
        return waits.skip(effect.peer, effect.token);
      case 'may-append':
        return waits.release(effect.token);
      case 'replicated':
        return waits.replicated(effect);
      case 'caught-up':
        return onCaughtUp?.();
      case 'prove-fork':
        return void proveFork(node, effect).catch((error: unknown) => onFailure?.(error));
      default:
        return carrier.carry(effect);
    }
  };
}

/** Every host that meets the second line says so; one proof of a host and seq is kept. */
async function proveFork(node: MeshNode, { log, lines }: Extract<Effect, { kind: 'prove-fork' }>): Promise<void> {
  const host = node.charter().hosts.get(log);
  const op = host && forkProofOf(node.meshId, host, lines);
  if (op !== undefined) await node.admitTrust([op], node.host);
}
