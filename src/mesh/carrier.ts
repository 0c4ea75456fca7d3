/** Carries out what the sync machine asks for: dials, asks, fetches, and tells the machine what came of it. */
import type { Duplex } from 'node:stream';
import { headsBytesMax, purgePatienceMs } from '../core/limits.ts';
import type { FetchPackFault } from '../core/sync/peer.ts';
import type { Effect, LogFetched, OwnVerdict, SyncEvent, TrustFetched } from '../core/sync/vocabulary.ts';
import { ok, refuse, type Result } from '../crypto/result.ts';
import type { OfferedOp } from '../core/trust/op.ts';
import { isOperatingError, printable, type OperatingError } from '../store/errors.ts';
import { parsePeerAddress } from './ssh/address.ts';
import { fetchLog, type SharedState } from './fetch/fetch-log.ts';
import { fetchTrust } from './fetch/fetch-trust.ts';
import { fetchViews } from './fetch/fetch-views.ts';
import { createForkPatience } from './judge/fork-patience.ts';
import { parseHeads } from './heads.ts';
import { createLocks } from './fetch/log-lock.ts';
import type { Heads, MeshNode, PeerFault, PeerFaultCode } from './node.ts';
import { judgeOwnClaim } from './fetch/own-claim.ts';
import { folderCache } from './judge/recording-reader.ts';
import { createAttendant, type Attendant } from './attendant.ts';
import { routedConnection, type Route, type RoutedConnection } from './ssh/routes.ts';
import { createBackLines, type BackLines } from './serve/serve-back.ts';
import { peerConnection, type PeerConnection } from './ssh/ssh-client.ts';
import { describeStranger } from './ssh/stranger.ts';

/** Effects that need a connection, or are about one. */
type Wanted = Extract<
  Effect,
  { kind: 'ask-heads' | 'judge-own' | 'fetch-trust' | 'fetch-log' | 'fetch-views' | 'give-up' | 'hang-up' | 'watch' }
>;
type Asking = Extract<Wanted, { readonly deadlineMs: number }>;

export interface CarrierOptions {
  readonly node: MeshNode;
  /** Where to dial a host, best first. */
  readonly addressesOf: (host: string) => readonly string[];
  readonly tell: (event: SyncEvent) => void;
  /** Told of an address at which a host answered. */
  readonly onReached?: ((host: string, address: string) => void) | undefined;
  /** Whether what a peer says unasked may start a cycle now. */
  readonly mayFetch: () => boolean;
}

export interface Carrier {
  /** Starts it; what comes of it is told later, never within the call. */
  carry(effect: Wanted): void;
  /** Ends connections to hosts that are no peers any more, or have another key now, and what runs over them. */
  forget(peers: readonly string[]): void;
  /** A host that dialled us offers a channel over which it can be asked. */
  offered(host: string, channel: Duplex): void;
  /** What is asked over our connections is served by this; undefined: nothing is. */
  serveWith(serve: ((stream: Duplex) => void) | undefined): void;
  isOpen(host: string): boolean;
  /** Ends every connection and resolves when nothing that was asked for is under way. */
  close(): Promise<void>;
}

interface Running {
  readonly cycle: number;
  readonly giveUp: AbortController;
  readonly done: Promise<unknown>;
}

function openShared(): SharedState {
  return { locks: createLocks(), folders: folderCache(), bases: new Map(), forks: createForkPatience() };
}

export function createCarrier(options: CarrierOptions): Carrier {
  const { node, tell } = options;
  const shared = openShared();
  const peers = new Map<string, RoutedConnection>();
  const running = new Map<string, Running>();
  const lines = createBackLines();
  let serve: ((stream: Duplex) => void) | undefined;
  const attendant = attend(options, () => serve);

  /** The connection to the peer, or why there can be none. */
  function connect(host: string): RoutedConnection | PeerFault {
    const known = peers.get(host);
    if (known !== undefined && !isStillItself(node, host, known)) forgetPeer(host);
    const onRenewed = (): void => attendant.renewed(host);
    const connection = peers.get(host) ?? connectionTo(host, { ...options, onRenewed }, lines);
    peers.set(host, connection);
    if (connection.isOpen()) return connection;
    const { routes, unusable } = routesOf(host, options, lines);
    return routes.length > 0 ? connection : { code: 'NO_ADDRESS', detail: unusable ?? 'no address is known for it' };
  }

  function forgetPeer(host: string): void {
    peers.get(host)?.close();
    peers.delete(host);
    running.get(host)?.giveUp.abort();
  }

  async function answer(effect: Asking, over: AbortController): Promise<SyncEvent> {
    const { peer, cycle } = effect;
    const connection = connect(peer);
    if ('code' in connection) return { kind: 'heads', peer, cycle, answer: refuse(connection.code, connection.detail) };
    try {
      return await ask(effect, { node, shared, connection: during(connection, over.signal), over });
    } catch (error) {
      return { kind: 'failed', peer, cycle, detail: describeFailure(error) };
    }
  }

  return {
    carry(effect) {
      const { peer } = effect;
      if (effect.kind === 'watch') return attendant.attend(peer, peers.get(peer));
      if (effect.kind === 'hang-up') return peers.get(peer)?.close();
      if (effect.kind === 'give-up') {
        if (running.get(peer)?.cycle === effect.cycle) running.get(peer)?.giveUp.abort();
        return peers.get(peer)?.close();
      }
      const giveUp = new AbortController();
      const done = answer(effect, giveUp).then((event) => {
        if (running.get(peer) === entry) running.delete(peer);
        tell(event);
      });
      const entry: Running = { cycle: effect.cycle, giveUp, done };
      running.set(peer, entry);
    },
    forget(names) {
      for (const [host, connection] of peers)
        if (!names.includes(host) || !isStillItself(node, host, connection)) forgetPeer(host);
      lines.drop((host) => !names.includes(host));
    },
    offered(host, channel) {
      lines.offer(host, channel);
      // What came over the line before has been left by whoever opened it.
      if (typeof peers.get(host)?.route()?.to === 'function') peers.get(host)?.close();
    },
    isOpen: (host) => peers.get(host)?.isOpen() === true,
    serveWith: (given) => void (serve = given),
    async close() {
      running.forEach(({ giveUp }) => giveUp.abort());
      attendant.close();
      for (const connection of peers.values()) connection.close();
      lines.drop(() => true);
      await Promise.allSettled([attendant.ended(), ...Array.from(running.values(), ({ done }) => done)]);
    },
  };
}

/** News are looked into, and a connection that broke is made again soon. */
function attend({ tell, mayFetch }: CarrierOptions, serve: () => ((stream: Duplex) => void) | undefined): Attendant {
  const heed = (event: SyncEvent): void => {
    if (mayFetch()) tell(event);
  };
  return createAttendant({
    serve,
    onNews: (peer, heads) => heed({ kind: 'nudge', peer, heads }),
    onAlarm: (alarm) => tell({ kind: 'remark', peer: alarm.peer, code: alarm.code, alarm }),
    onUnwatched: (peer, refused) => tell({ kind: 'unwatched', peer, refused }),
    onLost: (peer) => heed({ kind: 'reconnect', peer }),
  });
}

function connectionTo(
  host: string,
  options: CarrierOptions & { readonly onRenewed: () => void },
  lines: BackLines,
): RoutedConnection {
  const { node, tell, onReached, onRenewed } = options;
  const acceptsServerKey = (blob: Uint8Array): boolean => isKeyOf(node, host, blob);
  return routedConnection({
    routes: () => routesOf(host, options, lines).routes,
    connect: (route, deadlineMs) =>
      peerConnection({
        route,
        sshKey: node.sshKey,
        sshd: node.sshd,
        otherSshKeys: () => node.otherSshKeys?.() ?? {},
        acceptsServerKey,
        dialDeadlineMs: deadlineMs,
      }),
    onStranger: ({ name }, key) => describeStranger(node.charter(), { host, address: name, key }),
    onReached({ name, to }, detail) {
      onRenewed();
      const alarm = detail === undefined ? undefined : ({ code: 'HOST_KEY_MISMATCH', peer: host, detail } as const);
      tell({ kind: 'remark', peer: host, code: 'HOST_KEY_MISMATCH', alarm });
      if (typeof to !== 'function') onReached?.(host, name);
    },
  });
}

/** Its addresses in their order, and last the line that it opened itself. `unusable`: why an address is left out. */
function routesOf(
  host: string,
  { addressesOf }: Pick<CarrierOptions, 'addressesOf'>,
  lines: BackLines,
): { readonly routes: readonly Route[]; readonly unusable: string | undefined } {
  const routes: Route[] = [];
  let unusable: string | undefined;
  for (const name of addressesOf(host)) {
    const to = parsePeerAddress(name);
    if (to.ok) routes.push({ name, to: to.value });
    else unusable ??= `its address is not usable: ${to.detail}`;
  }
  if (lines.has(host)) routes.push({ name: 'its own connection', to: () => lines.take(host) });
  return { routes, unusable };
}

interface Means {
  readonly node: MeshNode;
  readonly shared: SharedState;
  readonly connection: PeerConnection;
  /** Aborted when this cycle is given up. */
  readonly over: AbortController;
}

async function ask(effect: Asking, means: Means): Promise<SyncEvent> {
  const { peer, cycle } = effect;
  const { node } = means;
  switch (effect.kind) {
    case 'ask-heads':
      return { kind: 'heads', peer, cycle, answer: await askHeads(means.connection, effect.deadlineMs) };
    case 'judge-own': {
      const verdict = await using(means, () => judgeOwnClaim({ ...means, ...effect, log: node.host }));
      return { kind: 'own', peer, cycle, verdict: printableVerdict(verdict) };
    }
    case 'fetch-trust':
      return { kind: 'trust', peer, cycle, answer: await takeTrustOf(effect, means) };
    case 'fetch-views':
      return { kind: 'views', peer, cycle, fetched: await using(means, () => fetchViews({ ...means, ...effect })) };
    case 'fetch-log': {
      const fetched = await using(means, () => fetchLog({ ...means, ...effect }));
      return { kind: 'log', peer, cycle, log: effect.log, fetched: printableFetch(fetched) };
    }
  }
}

/**
 * A fetch is planned on objects that are held: none may be dropped until it is done. But a peer that sends one byte now and
 * then must not keep a purge waiting, and everybody who waits for that: its connection ends soon.
 */
function using<T>({ node: { gate }, connection, over }: Means, work: () => Promise<T>): Promise<T> {
  if (gate === undefined) return work();
  const giveUp = (): void => {
    over.abort();
    connection.close();
  };
  return gate.use(async () => {
    let timer: NodeJS.Timeout | undefined;
    const forget = gate.onClose(async () => void (timer = setTimeout(giveUp, purgePatienceMs)));
    try {
      return await work();
    } finally {
      forget();
      clearTimeout(timer);
    }
  });
}

async function askHeads(connection: PeerConnection, deadlineMs: number): Promise<Result<Heads, PeerFaultCode>> {
  const said = await connection.run('memd heads', { bytesMax: headsBytesMax, deadlineMs });
  if (!said.ok) return said;
  const heads = parseHeads(said.value.toString('utf8').replace(/\n$/, ''));
  return heads.ok ? ok(heads.value) : refuse('PROTOCOL', `its heads cannot be read: ${heads.detail}`);
}

async function takeTrustOf(
  { peer, oid, deadlineMs }: Extract<Asking, { kind: 'fetch-trust' }>,
  means: Means,
): Promise<Result<TrustFetched, FetchPackFault | 'TRUST_SHAPE'>> {
  const { node, shared, connection } = means;
  const holds = (id: string): boolean => node.holdsTrustOp(id);
  const { repository } = node;
  // Admitting it is not part of this: a purge among the ops waits for everybody who uses objects.
  const fetched = await using(means, () => fetchTrust({ connection, repository, commit: oid, holds, deadlineMs }));
  if (!fetched.ok) return fetched;
  const { bad } = fetched.value;
  const ops = shared.forks.heard(fetched.value.ops, node.charter());
  const since = performance.now();
  const admitted = ops.length === 0 ? undefined : await node.admitTrust(ops, peer);
  if (admitted !== undefined) shared.forks.charge(addedOf(ops, admitted.added), performance.now() - since);
  // A peer keeps on its branch what a revocation made void later: no fault of it.
  const dropped = (admitted?.dropped ?? []).filter(({ code }) => code !== 'VOID_FULL');
  const refused = [...bad, ...dropped].map(({ id, detail }) => ({ id, detail: printable(detail) }));
  return ok({ added: admitted?.added ?? [], unsupported: admitted?.unsupported ?? [], bad: refused });
}

function addedOf(ops: readonly OfferedOp[], added: readonly string[]): readonly OfferedOp[] {
  const ids = new Set(added);
  return ops.filter(({ id }) => ids.has(id));
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
