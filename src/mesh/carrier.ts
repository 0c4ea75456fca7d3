/** Carries out what the sync machine asks for: dials, asks, fetches, and tells the machine what came of it. */
import { headsBytesMax } from '../core/limits.ts';
import type { FetchPackFault } from '../core/sync/peer.ts';
import type { Effect, LogFetched, OwnVerdict, SyncEvent, TrustFetched } from '../core/sync/vocabulary.ts';
import { ok, refuse, type Result } from '../crypto/result.ts';
import { isOperatingError, printable, type OperatingError } from '../store/errors.ts';
import { parsePeerAddress } from './address.ts';
import { fetchLog, type SharedState } from './fetch-log.ts';
import { fetchTrust } from './fetch-trust.ts';
import { parseHeads } from './heads.ts';
import { createLocks } from './log-lock.ts';
import type { Heads, MeshNode, PeerFault, PeerFaultCode } from './node.ts';
import { judgeOwnClaim } from './own-claim.ts';
import { folderCache } from './recording-reader.ts';
import { watchPeer } from './watch-peer.ts';
import { peerConnection, type PeerConnection } from './ssh-client.ts';

/** Effects that need a connection, or are about one. */
type Wanted = Extract<
  Effect,
  { kind: 'ask-heads' | 'judge-own' | 'fetch-trust' | 'fetch-log' | 'give-up' | 'hang-up' | 'watch' }
>;
type Asking = Extract<Wanted, { readonly deadlineMs: number }>;

export interface CarrierOptions {
  readonly node: MeshNode;
  readonly addressOf: (host: string) => string | undefined;
  readonly mayFetch: () => boolean;
  readonly tell: (event: SyncEvent) => void;
}

export interface Carrier {
  /** Starts it; what comes of it is told later, never within the call. */
  carry(effect: Wanted): void;
  /** Ends connections to hosts that are no peers any more, and what runs over them. */
  forget(peers: readonly string[]): void;
  /** Ends every connection and resolves when nothing that was asked for is under way. */
  close(): Promise<void>;
}

interface Peer {
  readonly address: string;
  readonly connection: PeerConnection;
}

interface Running {
  readonly cycle: number;
  readonly giveUp: AbortController;
  readonly done: Promise<unknown>;
}

export function createCarrier({ node, addressOf, mayFetch, tell }: CarrierOptions): Carrier {
  const shared: SharedState = { locks: createLocks(), folders: folderCache(), bases: new Map() };
  const peers = new Map<string, Peer>();
  const running = new Map<string, Running>();
  const watches = createWatches({ mayFetch, tell });

  /** The connection to the peer at its present address, or why there is none. */
  function connect(host: string): PeerConnection | PeerFault {
    const url = addressOf(host) ?? '';
    const known = peers.get(host);
    if (known?.address === url && isStillItself(node, host, known.connection)) return known.connection;
    known?.connection.close();
    peers.delete(host);
    if (url === '') return { code: 'NO_ADDRESS', detail: 'no address is known for it' };
    const address = parsePeerAddress(url);
    if (!address.ok) return { code: 'NO_ADDRESS', detail: `its address is not usable: ${address.detail}` };
    const acceptsServerKey = (blob: Uint8Array): boolean => isKeyOf(node, host, blob);
    const connection = peerConnection({ address: address.value, sshKey: node.sshKey, acceptsServerKey });
    peers.set(host, { address: url, connection });
    return connection;
  }

  async function answer(effect: Asking, signal: AbortSignal): Promise<SyncEvent> {
    const { peer, cycle } = effect;
    const connection = connect(peer);
    if ('code' in connection) return { kind: 'heads', peer, cycle, answer: refuse(connection.code, connection.detail) };
    try {
      return await ask(effect, { node, shared, connection: during(connection, signal) });
    } catch (error) {
      return { kind: 'failed', peer, cycle, detail: describeFailure(error) };
    }
  }

  return {
    carry(effect) {
      const { peer } = effect;
      if (effect.kind === 'watch') return watches.start(peer, peers.get(peer)?.connection);
      if (effect.kind === 'hang-up') return peers.get(peer)?.connection.close();
      if (effect.kind === 'give-up') {
        if (running.get(peer)?.cycle === effect.cycle) running.get(peer)?.giveUp.abort();
        return peers.get(peer)?.connection.close();
      }
      const giveUp = new AbortController();
      const done = answer(effect, giveUp.signal).then((event) => {
        if (running.get(peer) === entry) running.delete(peer);
        tell(event);
      });
      const entry: Running = { cycle: effect.cycle, giveUp, done };
      running.set(peer, entry);
    },
    forget(names) {
      for (const [host, { connection }] of peers) {
        if (names.includes(host)) continue;
        connection.close();
        peers.delete(host);
        running.get(host)?.giveUp.abort();
      }
    },
    async close() {
      for (const { giveUp } of running.values()) giveUp.abort();
      for (const { connection } of peers.values()) connection.close();
      await Promise.allSettled([...watches.running(), ...Array.from(running.values(), ({ done }) => done)]);
    },
  };
}

interface Watches {
  readonly start: (peer: string, connection: PeerConnection | undefined) => void;
  readonly running: () => Iterable<Promise<void>>;
}

function createWatches({ mayFetch, tell }: Pick<CarrierOptions, 'mayFetch' | 'tell'>): Watches {
  const running = new Set<Promise<void>>();
  const run = async (peer: string, connection: PeerConnection | undefined): Promise<void> => {
    const end = await watchPeer(connection, (heads) => {
      if (mayFetch()) tell({ kind: 'nudge', peer, heads });
    });
    tell({ kind: 'unwatched', peer, refused: end === 'refused' });
  };
  return {
    start(peer, connection) {
      const done = run(peer, connection).finally(() => running.delete(done));
      running.add(done);
    },
    running: () => running,
  };
}

interface Means {
  readonly node: MeshNode;
  readonly shared: SharedState;
  readonly connection: PeerConnection;
}

async function ask(effect: Asking, means: Means): Promise<SyncEvent> {
  const { peer, cycle } = effect;
  const { node } = means;
  switch (effect.kind) {
    case 'ask-heads':
      return { kind: 'heads', peer, cycle, answer: await askHeads(means.connection, effect.deadlineMs) };
    case 'judge-own': {
      const verdict = await using(node, () => judgeOwnClaim({ ...means, ...effect, log: node.host }));
      return { kind: 'own', peer, cycle, verdict: printableVerdict(verdict) };
    }
    case 'fetch-trust':
      return { kind: 'trust', peer, cycle, answer: await takeTrustOf(effect, means) };
    case 'fetch-log': {
      const fetched = await using(node, () => fetchLog({ ...means, ...effect }));
      return { kind: 'log', peer, cycle, log: effect.log, fetched: printableFetch(fetched) };
    }
  }
}

/** A fetch is planned on objects that are held: none may be dropped until it is done. */
function using<T>({ gate }: MeshNode, work: () => Promise<T>): Promise<T> {
  return gate === undefined ? work() : gate.use(work);
}

async function askHeads(connection: PeerConnection, deadlineMs: number): Promise<Result<Heads, PeerFaultCode>> {
  const said = await connection.run('memd heads', { bytesMax: headsBytesMax, deadlineMs });
  if (!said.ok) return said;
  const heads = parseHeads(said.value.toString('utf8').replace(/\n$/, ''));
  return heads.ok ? ok(heads.value) : refuse('PROTOCOL', `its heads cannot be read: ${heads.detail}`);
}

async function takeTrustOf(
  { peer, oid, deadlineMs }: Extract<Asking, { kind: 'fetch-trust' }>,
  { node, connection }: Means,
): Promise<Result<TrustFetched, FetchPackFault | 'TRUST_SHAPE'>> {
  const holds = (id: string): boolean => node.holdsTrustOp(id);
  const { repository } = node;
  // Admitting it is not part of this: a purge among the ops waits for everybody who uses objects.
  const fetched = await using(node, () => fetchTrust({ connection, repository, commit: oid, holds, deadlineMs }));
  if (!fetched.ok) return fetched;
  const { ops, bad } = fetched.value;
  const admitted = ops.length === 0 ? undefined : await node.admitTrust(ops, peer);
  // A peer keeps on its branch what a revocation made void later: no fault of it.
  const dropped = (admitted?.dropped ?? []).filter(({ code }) => code !== 'VOID_FULL');
  const refused = [...bad, ...dropped].map(({ id, detail }) => ({ id, detail: printable(detail) }));
  return ok({ added: admitted?.added ?? [], unsupported: admitted?.unsupported ?? [], bad: refused });
}

function printableVerdict(verdict: OwnVerdict): OwnVerdict {
  return 'detail' in verdict ? { ...verdict, detail: printable(verdict.detail) } : verdict;
}

function printableFetch(fetched: LogFetched): LogFetched {
  const { fault, failure } = fetched;
  return {
    ...fetched,
    ...(fault === undefined ? {} : { fault: { ...fault, detail: printable(fault.detail) } }),
    ...(failure === undefined ? {} : { failure: { ...failure, detail: printable(failure.detail) } }),
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

/** The next step belongs to it: a failure of this machine is for whoever reads it to put right. */
function describeFailure(error: unknown): string {
  return isOperatingError(error) ? describeOperating(error) : printable(String(error));
}

function describeOperating({ message, code, hint }: OperatingError): string {
  return printable(`${printable(message)} (${code})${hint === '' ? '' : `; ${hint}`}`, 600);
}
