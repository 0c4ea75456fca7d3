/**
 * One host at work: the home lock, the trust set, its beliefs, its own log, its peers. The daemon keeps one open; a
 * command without a daemon opens one, does its work and closes it. Everything that writes goes through here.
 * Long because each part is handed the others here, and nowhere else.
 */
import type { Logger } from 'pino';
import { appendBatchMax } from '../core/limits.ts';
import type { Charter } from '../core/trust/charter.ts';
import { isPeerOf, peersOf } from '../mesh/node.ts';
import { createObjectGate, type ObjectGate } from '../mesh/object-gate.ts';
import type { Peers } from '../mesh/peers.ts';
import { openRepository, prepareRepository, type Repository } from '../store/git/repository.ts';
import type { OperatingError } from '../store/errors.ts';
import type { HomeLock } from '../store/home/home-lock.ts';
import { openHome, type Home } from '../store/home/home.ts';
import { requireOwned } from '../store/home/ownership.ts';
import { readKeys, type HostKeys } from '../store/home/keys.ts';
import { sweepHome } from '../store/home/sweep.ts';
import type { AppendedJson } from './api/api-types.ts';
import { createAppendQueue, type AppendQueue } from './own/append-queue.ts';
import { openBeliefs, type Beliefs, type DatabaseDamage } from './beliefs/beliefs.ts';
import type { ViewSeen } from './beliefs/heads-keeper.ts';
import { lastOwnWord, type OwnWord } from './beliefs/own-word.ts';
import type { Config } from './config/config.ts';
import { addressBook, meshNode, openPeers } from './engine-mesh.ts';
import { createDiskWatch, type DiskWatch } from './disk-watch.ts';
import { openTargets, type Targets } from './beliefs/targets.ts';
import { closeAll } from './engine-close.ts';
import { identityKeeper, listenState, localFaults, requireGenesis } from './engine-state.ts';
import { holdHome } from './hold-home.ts';
import { readIdentity, type Identity } from './identity.ts';
import { createMaintenance, type Maintenance } from './maintain/maintenance.ts';
import { openMachine, type Machine } from './own/machine.ts';
import type { Transaction } from './own/own-log.ts';
import { askBeforeAppend, requireOwnLogWhole } from './own/own-log-first.ts';
import { oneAtATime } from './own/once.ts';
import { createJournal, type Journal } from './journal/journal.ts';
import { createManifestMaker } from './journal/manifest-maker.ts';
import { createOwnWriter } from './own/own-writer.ts';
import type { PeerBook } from './peers/peer-book.ts';
import { openPeerKeeper, type PeerKeeper } from './peers/peer-keeper.ts';
import { createPurger, type Purger } from './purge/purger.ts';
import { createRecovery, requireOwnWord, type Recovery, type RecoveryOptions } from './own/recover.ts';
import { Refusal } from './refusal.ts';
import { createTrustIntake, type TrustIntake } from './trust/trust-intake.ts';
import { readTrustState, type TrustState } from './trust/trust-keeper.ts';

export interface EngineOptions {
  /** Absolute home folder. */
  readonly home: string;
  /** True in memd: derived files follow on a timer, and statuses say that a daemon runs. */
  readonly daemon: boolean;
  /** What config.toml says; every default without it. */
  readonly config?: Config;
  /** Appends go on when no peer can say what it holds of the own log. */
  readonly offline?: boolean;
  readonly log?: Logger;
  /** Told when the charter may say something else than before, before the fold goes under it: a revocation acts at once. */
  readonly onCharter?: () => void;
  /** Told when a cycle with a peer is over, and when every peer has been asked once after a start or a sleep. */
  readonly onPeers?: (what: 'outcome' | 'caught-up') => void;
  /** Told when this host has other keys than before. */
  readonly onKeys?: () => Promise<void>;
  /** Told what long work is at. */
  readonly progress?: (text: string) => void;
}

export interface ListenPorts {
  readonly asked: number;
  readonly found: number;
}

/** `kind`: a code of docs/errors.md. */
export interface LocalFault {
  readonly kind: string;
  readonly detail: string;
}

export interface Engine {
  readonly daemon: boolean;
  readonly log: Logger | undefined;
  readonly home: Home;
  readonly identity: Identity;
  readonly meshId: string;
  /** Those of the key files, as of now. */
  readonly keys: HostKeys;
  readonly recovery: Recovery;
  readonly repository: Repository;
  readonly beliefs: Beliefs;
  readonly peers: Peers;
  readonly peerBook: PeerBook;
  /** Where a host is dialled, the best first: config, what is known of it at first hand, the charter, what others say. */
  readonly addressesOf: (host: string) => readonly string[];
  /** What config.toml says; undefined: every default. */
  readonly config: Config | undefined;
  readonly targets: Targets;
  /** Keeps those who use objects of the repository apart from the purge that drops some. */
  readonly gate: ObjectGate;
  readonly purger: Purger;
  readonly maintenance: Maintenance;
  /** What this host believed when, and what others say of it. */
  readonly journal: Journal;
  charter(): Charter;
  trust(): TrustState;
  /**
   * Appends one transaction; resolves once it is durable. `offline`: also when no peer can say what it holds of the own log.
   * Refuses PEERS_UNREACHABLE.
   */
  append(transaction: Transaction, how?: { readonly offline?: boolean | undefined }): Promise<readonly AppendedJson[]>;
  /** Adds what verifies to the trust set, durably, and puts the fold under the new charter. */
  readonly admitTrust: TrustIntake;
  /** Has this host sign with this key by default, if `old` is the signer that it signed as. @returns whether it was. */
  rememberSigner(old: string, signer: { readonly name: string; readonly key: string }): Promise<boolean>;
  /** Makes everything derived again from the repository; `damage` as for the beliefs. */
  rebuild(progress: (text: string) => void, damage?: DatabaseDamage): Promise<void>;
  /** Does `work` while no append is under way. */
  alone<T>(work: () => Promise<T>): Promise<T>;
  /** The port that the ssh server was asked to listen on and the one that it found; null without a server. */
  ports(): ListenPorts | null;
  listening(ports: ListenPorts): void;
  /** Notes why the ssh server does not listen where it should; undefined once it does. */
  listenFault(fault: OperatingError | undefined): void;
  /** Tries again what could not be written, a full disk for one. Does nothing when all is written; never throws. */
  writeAgain(): Promise<void>;
  /** What is wrong with this home or this process, beyond its logs. */
  faults(): readonly LocalFault[];
  /** Finishes what is under way and releases the lock. */
  close(): Promise<void>;
}

/** Opens the home of a host that has a mesh. Refuses NO_MESH, NOT_ENROLLED; fails as the store does. */
export async function openEngine(options: EngineOptions): Promise<Engine> {
  const home = openHome(options.home);
  const identity = readIdentity(home);
  const meshId = identity.mesh;
  if (meshId === null) throw notEnrolled(identity.host);
  requireOwned(home);
  const { lock, readOnly } = await holdHome(home, options);
  try {
    const repository = openRepository(home.repository);
    if (readOnly === undefined) {
      const removed = sweepHome(lock);
      if (removed.length > 0) options.log?.info({ removed }, 'removed what a crash left');
      await prepareRepository(repository);
    }
    const trust = await readTrustState(repository, meshId);
    requireGenesis(trust, meshId);
    const machine = await openMachine(home, identity.host);
    const ownWord = await lastOwnWord({ home, repository, member: trust.charter.hosts.get(identity.host), meshId });
    const opened = { home: lock.home, readOnly, identity, meshId, lock, repository, trust, machine, ownWord };
    const engine = assemble({ options, ...opened });
    // A crash came between the op and its end, or the disk was full.
    await engine.purger.carryOut(options.progress ?? (() => undefined));
    return engine;
  } catch (error) {
    lock.release();
    throw error;
  }
}

function requireWritable({ readOnly }: Parts): void {
  if (readOnly !== undefined) throw readOnly;
}

interface Parts {
  readonly options: EngineOptions;
  readonly home: Home;
  /** Why nothing is written; then `home` only looks like the real one. */
  readonly readOnly: OperatingError | undefined;
  readonly identity: Identity;
  readonly meshId: string;
  readonly lock: HomeLock;
  readonly repository: Repository;
  readonly trust: TrustState;
  readonly machine: Machine;
  readonly ownWord: OwnWord | undefined;
}

function assemble(parts: Parts): Engine {
  const { options, home, identity, meshId, repository, lock } = parts;
  const { daemon, log, config, offline = false } = options;
  const self = identityKeeper(home, identity);
  const listen = listenState();
  const disk = createDiskWatch(home);
  const { queue, keys, keeper, ...live } = openLive(parts);
  const { trust, beliefs, targets, peers, purger, maintenance, recovery, journal } = live;
  const ownLogKnown = askBeforeAppend({
    ...live,
    peersOf: () => peersOf(trust().charter, identity.host),
    requireWord: () => requireOwnWord(trust().charter, identity.host, keys()),
  });
  return {
    daemon,
    log,
    home,
    meshId,
    repository,
    config,
    ...live,
    ...listen.set,
    get keys() {
      return keys();
    },
    get identity() {
      return self.now();
    },
    charter: () => trust().charter,
    admitTrust: async (...args) => {
      requireWritable(parts);
      return live.admitTrust(...args);
    },
    append: async (transaction, how) => {
      requireWritable(parts);
      await ownLogKnown(how?.offline === true || offline);
      return queue.submit(transaction).catch((error: unknown) => {
        disk.noted(error);
        throw error;
      });
    },
    writeAgain: () => writeAgain({ ...live, keeper, machine: parts.machine, log, disk }),
    rememberSigner: self.rememberSigner,
    rebuild: async (said, damage) => {
      if (damage === undefined) requireWritable(parts);
      return rebuildHome({ queue, beliefs, purger }, said, damage);
    },
    alone: (work) => queue.alone(work),
    faults: () =>
      [
        disk.faults(),
        localFaults(parts, trust().charter),
        ...[parts.machine, recovery, listen, purger, maintenance, journal].map((one) => one.faults()),
        beliefs.notes(),
      ].flat(),
    close: () => closeAll({ maintenance, peers, queue, journal, targets, beliefs, keeper, lock }),
  };
}

type LiveNames =
  | 'beliefs'
  | 'targets'
  | 'peerBook'
  | 'addressesOf'
  | 'gate'
  | 'recovery'
  | 'journal'
  | 'purger'
  | 'maintenance';
type Live = Pick<Engine, LiveNames | 'admitTrust' | 'peers' | 'trust'> & {
  readonly keys: () => HostKeys;
  readonly queue: AppendQueue<Transaction, readonly AppendedJson[]>;
  readonly keeper: PeerKeeper;
};

/** What is at work in an engine, put together. */
function openLive(parts: Parts): Live {
  const { options, home, identity, meshId, repository, lock, ownWord } = parts;
  const { daemon, log, config, progress = () => undefined } = options;
  const { host } = identity;
  let current = parts.trust;
  const trust = (): TrustState => current;
  let keyring = readKeys(home);
  const keys = (): HostKeys => keyring;
  const viewTip = (): ViewSeen | undefined => journal.ownTip();
  const manifests = createManifestMaker({
    host,
    key: () => keys().sign.key,
    newest: (name) => journal.newest(name),
    maySign: () => purger.isDone() && beliefs.headsFault() === undefined,
  });
  const beliefs = openBeliefs({ home, host, repository, daemon, log, progress, trust, viewTip, ownWord, manifests });
  const shown = parts.readOnly === undefined ? (config?.targets ?? []) : [];
  const targets = openTargets({ targets: shown, home: home.dir, beliefs, daemon, log });
  const keeper = openPeerKeeper(home, (name) => isPeerOf(current.charter, { self: host, name }), log);
  const { peerBook } = keeper;
  const addressesOf = addressBook({ config, peerBook, charter: () => current.charter });
  const requireWhole = (): void => {
    parts.machine.require();
    requireOwnLogWhole(beliefs.book, peerBook, host);
  };
  const queue = openQueue(parts, { keys, beliefs, requireWhole });
  const gate = createObjectGate();
  const isEnrolled = (name: string): boolean => current.charter.hosts.has(name);
  const hasPeers = (): boolean => peersOf(current.charter, host).length > 0;
  const isPurged = (): boolean => purger.isDone();
  const onLine = beliefs.touchManifests;
  const journal = openJournal(parts, { keys, beliefs, gate, isEnrolled, hasPeers, isPurged, onLine });
  const onKeys = async (): Promise<void> => {
    keyring = readKeys(home);
    peerBook.forgetProofs();
    await options.onKeys?.();
  };
  const recovery = openRecovery(parts, { trust, beliefs, gate, queue, keys, onKeys });
  const purger = createPurger({ lock, host, repository, meshId, trust, beliefs, gate, queue, log });
  const maintenance = createMaintenance({ home, repository, gate, log });
  const settle = async (said: (text: string) => void): Promise<void> => {
    peers.expel();
    options.onCharter?.();
    if (await purger.carryOut(said)) await journal.publishOnceOpen();
    else await queue.alone(() => beliefs.recharter());
    await recovery.settle(said);
  };
  const grown = (state: TrustState): void => void (current = state);
  const admitTrust = createTrustIntake({ repository, host, trust, grown, settle, progress });
  const { heard } = recovery;
  const node = meshNode(parts, { keys, heard, beliefs, queue, peerBook, trust, admitTrust, gate, journal });
  const peers = openPeers(node, options, { addressesOf, keeper, journal, beliefs });
  const held = { beliefs, targets, peerBook, addressesOf, gate, recovery, journal, purger, maintenance, admitTrust };
  return { ...held, peers, trust, keys, queue, keeper };
}

function openRecovery(
  { options, home, identity, repository, meshId, machine }: Parts,
  live: Pick<RecoveryOptions, 'trust' | 'beliefs' | 'gate' | 'queue' | 'keys' | 'onKeys'>,
): Recovery {
  const { host, address } = identity;
  return createRecovery({ home, host, address, repository, meshId, machine, log: options.log, ...live });
}

function openJournal(
  { options, home, identity, meshId, repository }: Parts,
  own: {
    readonly keys: () => HostKeys;
    readonly beliefs: Beliefs;
    readonly gate: ObjectGate;
    readonly isEnrolled: (host: string) => boolean;
    readonly hasPeers: () => boolean;
    readonly isPurged: () => boolean;
    readonly onLine: (host: string) => void;
  },
): Journal {
  const { keys, ...rest } = own;
  const { daemon, log } = options;
  return createJournal({
    home,
    host: identity.host,
    meshId,
    repository,
    key: () => keys().sign.key,
    daemon,
    log,
    ...rest,
  });
}

async function writeAgain({
  machine,
  journal,
  keeper,
  beliefs,
  disk,
  log,
}: Pick<Engine, 'journal' | 'beliefs' | 'log'> & {
  readonly machine: Machine;
  readonly keeper: PeerKeeper;
  readonly disk: DiskWatch;
}): Promise<void> {
  try {
    await machine.bindLate();
    journal.again();
    keeper.noted();
    await beliefs.settle();
  } catch (error) {
    disk.noted(error);
    log?.debug({ err: error }, 'still not written');
  }
}

async function rebuildHome(
  {
    queue,
    beliefs,
    purger,
  }: Pick<Engine, 'beliefs' | 'purger'> & { readonly queue: Pick<AppendQueue<never, never>, 'alone'> },
  progress: (text: string) => void,
  damage: DatabaseDamage | undefined,
): Promise<void> {
  await queue.alone(() => beliefs.rebuild(progress, damage));
  // Reading every log can show bodies that have come back.
  await purger.carryOut(progress);
}

function openQueue(
  { repository, identity, meshId }: Parts,
  own: { readonly keys: () => HostKeys; readonly beliefs: Beliefs; readonly requireWhole: () => void },
): AppendQueue<Transaction, readonly AppendedJson[]> {
  const { keys, ...rest } = own;
  const { host } = identity;
  const requireWord = (charter: Charter): void => requireOwnWord(charter, host, keys());
  const writer = createOwnWriter({ repository, host, meshId, key: () => keys().sign.key, requireWord, ...rest });
  const queue = createAppendQueue({
    sizeOf: ({ events, approved = [], again = [] }: Transaction) => events.length + approved.length + again.length,
    batchMax: appendBatchMax,
    commit: (transactions) => writer.commit(transactions),
  });
  const inTurn = oneAtATime();
  return { ...queue, submit: (transaction) => inTurn(transaction.once, () => queue.submit(transaction)) };
}

function notEnrolled(host: string): Refusal {
  return new Refusal({
    code: 'NOT_ENROLLED',
    message: `host ${host} has keys but no mesh yet`,
    hint: 'after memctl host add on an enrolled host: memctl join ssh://HOST:PORT --mesh ID',
  });
}
