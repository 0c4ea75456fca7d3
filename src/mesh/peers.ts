/** All peers of a node: one kept connection each, and cycles that run side by side, so that none delays another. */
import { cycleDeadlineMs } from '../core/limits.ts';
import { refuse } from '../crypto/result.ts';
import { parsePeerAddress } from './address.ts';
import type { SharedState } from './fetch-log.ts';
import type { Charter } from '../core/trust/charter.ts';
import { createLocks } from './log-lock.ts';
import type { MeshNode, PeerFault, PeerOutcome } from './node.ts';
import { emptyMemory, runPeerCycle, type PeerMemory, type RunningFetches } from './peer-cycle.ts';
import { folderCache } from './recording-reader.ts';
import { revokedText } from './ssh-login.ts';
import { peerConnection, type PeerConnection } from './ssh-client.ts';

export interface PeersOptions {
  readonly node: MeshNode;
  /** Where to dial a host (`ssh://host:port`): config, what heads told, the charter; undefined or '' = it cannot be dialled. */
  readonly addressOf: (host: string) => string | undefined;
}

export interface CycleOptions {
  /** These hosts only; default every other host of the charter. */
  readonly only?: readonly string[];
  /** For each peer; default 6 min, which a first fetch must fit in. */
  readonly deadlineMs?: number;
  /** Asks what they hold, and fetches nothing but proof of what they say of our own log. */
  readonly headsOnly?: boolean;
}

export interface Peers {
  /**
   * One cycle with every peer, side by side. Never rejects. Resolves when each is done or its deadline has passed; a peer
   * whose last cycle is still running is reported as TIMEOUT and not started again.
   */
  cycle(options?: CycleOptions): Promise<readonly PeerOutcome[]>;
  /** Ends the connections to hosts that the charter, as it is now, no longer lets in, and what runs over them. */
  expel(): void;
  /**
   * Gives up the cycles that run, ends all connections, and resolves when nothing of a cycle is left: afterwards the mesh
   * writes nothing any more. Waits for what this machine is doing, never for a peer.
   */
  close(): Promise<void>;
}

interface Peer {
  readonly address: string;
  readonly connection: PeerConnection;
  readonly memory: PeerMemory;
}

/** Dials nobody yet. */
export function createPeers(options: PeersOptions): Peers {
  const { node } = options;
  const shared: SharedState = { locks: createLocks(), folders: folderCache(), bases: new Map() };
  const fetches: RunningFetches = new Map();
  const peers = new Map<string, Peer>();
  const running = new Map<string, { readonly giveUp: AbortController; readonly done: Promise<unknown> }>();
  let closed = false;

  /** The peer at its present address, or why there is none. */
  function peerOf(host: string): Peer | PeerFault {
    const enrolled = node.charter().hosts.get(host);
    if (enrolled?.status === 'revoked') return { code: 'NOT_ENROLLED', detail: revokedText(enrolled) };
    if (enrolled === undefined) return { code: 'NOT_ENROLLED', detail: 'the charter names no such host' };
    const url = options.addressOf(host) ?? '';
    const known = peers.get(host);
    if (known?.address === url && isStillItself(node, host, known.connection)) return known;
    known?.connection.close();
    if (url === '') return { code: 'NO_ADDRESS', detail: 'no address is known for it' };
    const address = parsePeerAddress(url);
    if (!address.ok) return { code: 'NO_ADDRESS', detail: `its address is not usable: ${address.detail}` };
    const connection = peerConnection({
      address: address.value,
      sshKey: node.sshKey,
      acceptsServerKey: (blob) => isKeyOf(node, host, blob),
    });
    const peer: Peer = { address: url, connection, memory: known?.memory ?? emptyMemory() };
    peers.set(host, peer);
    return peer;
  }

  async function cycleWith(host: string, deadlineMs: number, headsOnly: boolean): Promise<PeerOutcome> {
    if (closed) return downOutcome(host, { code: 'CLOSED', detail: 'this host is stopping' });
    if (running.has(host)) return downOutcome(host, { code: 'TIMEOUT', detail: 'its last cycle is still running' });
    const peer = peerOf(host);
    if ('code' in peer) return downOutcome(host, peer);
    const giveUp = new AbortController();
    const connection = during(peer.connection, giveUp.signal);
    const deadlineAt = performance.now() + deadlineMs;
    const { memory } = peer;
    const fixed = { node, shared, running: fetches, connection, peer: host, memory };
    const done = runPeerCycle({ ...fixed, deadlineAt, headsOnly });
    running.set(host, { giveUp, done });
    void done.finally(() => running.delete(host));
    return withDeadline(done, deadlineMs, () => {
      giveUp.abort();
      peer.connection.close();
      return downOutcome(host, { code: 'TIMEOUT', detail: `not done after ${Math.round(deadlineMs / 1_000)} s` });
    });
  }

  return {
    cycle: ({ only, deadlineMs = cycleDeadlineMs, headsOnly = false } = {}) => {
      const hosts = only ?? peersOf(node.charter(), node.host);
      forgetOthers(node, peers);
      return Promise.all(hosts.map((host) => cycleWith(host, deadlineMs, headsOnly)));
    },
    expel() {
      for (const host of forgetOthers(node, peers)) running.get(host)?.giveUp.abort();
    },
    async close() {
      closed = true;
      for (const { giveUp } of running.values()) giveUp.abort();
      for (const { connection } of peers.values()) connection.close();
      await Promise.allSettled(Array.from(running.values(), ({ done }) => done));
    },
  };
}

/** The connection as one cycle sees it: once the cycle is given up, nothing more is dialled for it. */
function during(connection: PeerConnection, signal: AbortSignal): PeerConnection {
  const over = refuse('CLOSED', 'the cycle was given up');
  return {
    ...connection,
    start: async (command, options) => (signal.aborted ? over : connection.start(command, options)),
    run: async (command, options) => (signal.aborted ? over : connection.run(command, options)),
  };
}

function isKeyOf(node: MeshNode, host: string, blob: Uint8Array): boolean {
  const enrolled = node.charter().hosts.get(host);
  return enrolled !== undefined && enrolled.status !== 'revoked' && Buffer.from(enrolled.ssh.blob).equals(blob);
}

/** A kept connection outlives a rekey of the host; the next cycle must not. */
function isStillItself(node: MeshNode, host: string, connection: PeerConnection): boolean {
  const key = connection.serverKey();
  return key === undefined || isKeyOf(node, host, key);
}

/** Ends connections to hosts that the charter no longer names, or has revoked. @returns their names. */
function forgetOthers(node: MeshNode, peers: Map<string, Peer>): readonly string[] {
  const live = new Set(peersOf(node.charter(), node.host));
  const others = [...peers].filter(([host]) => !live.has(host));
  for (const [host, { connection }] of others) {
    connection.close();
    peers.delete(host);
  }
  return others.map(([host]) => host);
}

/**
 * Hosts that this one talks to: those of the charter that were not revoked. A host that was itself goes on asking: it is
 * told why, and hears of it when the revocation falls. Pure.
 */
export function peersOf({ hosts }: Pick<Charter, 'hosts'>, self: string): readonly string[] {
  return [...hosts.values()].flatMap(({ name, status }) => (name === self || status === 'revoked' ? [] : name));
}

function downOutcome(peer: string, reason: PeerFault): PeerOutcome {
  return { peer, state: 'down', reason, newEvents: 0, lines: {}, trustAdded: [], alarms: [] };
}

function withDeadline<T>(work: Promise<T>, deadlineMs: number, onLate: () => T): Promise<T> {
  return new Promise((resolve) => {
    // A little later than the deadlines inside, which tell more.
    const timer = setTimeout(() => resolve(onLate()), deadlineMs + 500);
    void work.then((result) => {
      clearTimeout(timer);
      resolve(result);
    });
  });
}
