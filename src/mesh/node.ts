/** What the mesh needs of the process that runs it, and what it reports back. */
import type { PurgedIds, VerifiedLine } from '../core/log.ts';
import type { Heads, LogTip, SignedLine, ViewTip } from '../core/sync/peer.ts';
import { heldUpto, type DamagedCopy } from '../core/sync/replace-copy.ts';
import type { World } from '../core/sync/vocabulary.ts';
import type { Charter } from '../core/trust/charter.ts';
import type { OfferedOp } from '../core/trust/op.ts';
import type { Added } from '../core/trust/set.ts';
import { usableUpto } from '../core/trust/usable.ts';
import { isOutdatedLine, type ViewLine } from '../core/view-line.ts';
import { branchCommit } from '../store/git/refs.ts';
import type { Repository } from '../store/git/repository.ts';
import type { ObjectGate } from './object-gate.ts';
import type { OtherSshKeys } from './ssh/ssh-client.ts';
import { revokedText } from './ssh/ssh-login.ts';
import type { SshdAccess } from './ssh/system-ssh.ts';

export type { Heads, LogTip, MeshAlarm, PeerFault, PeerFaultCode, PeerOutcome, SignedLine } from '../core/sync/peer.ts';

/** New lines of one log, verified and durable: the branch already points at `tip.oid`. */
export interface AdmittedLines {
  readonly log: string;
  /** In order, without gaps, the first directly after the tip that `MeshNode.tip` gave. Never empty, unless `mended`. */
  readonly lines: readonly VerifiedLine[];
  readonly tip: LogTip;
  /** Host name of the peer that carried them. */
  readonly via: string;
  /** Our copy was damaged and has been replaced by the peer's; then there may be no line that is new. */
  readonly mended?: boolean;
}

/** The view journals that are here. The mesh moves their branches; the own one too, when a peer holds more of it. */
export interface ViewStore {
  /** Newest line of a journal; undefined for none. */
  tip(host: string): ViewTip | undefined;
  /** The line that `tip` is of. */
  newest(host: string): ViewLine | undefined;
  /** True for a copy that cannot be read and is to be taken anew. */
  isDamaged(host: string): boolean;
  /** Does `work` while nobody else moves the branch. */
  alone<T>(host: string, work: () => Promise<T>): Promise<T>;
  /** Told of lines that are verified, durable and on the branch, in order; never none. */
  took(host: string, lines: readonly ViewLine[]): void;
}

/** What the process knows of damage in our copies of logs. */
export interface LogDamage {
  /** True for a copy that cannot be built on: it is to be taken anew. */
  of(log: string): boolean;
  /** Reads our copy again, whole. @returns as `of`. */
  recheck(log: string): Promise<boolean>;
  /** True where good lines may stand behind the damage. */
  mayHoldMore(log: string): boolean;
  /** The last line that this host ever saw of a log, and the commit that it saw it in. */
  lastOf(log: string): DamagedCopy['last'];
}

/**
 * One per home; every function may be called from several peer cycles that run side by side, always on one thread.
 *
 * Order and durability: the mesh writes objects and the branch of a log (durable, by compare-and-swap) and only then
 * calls `admitLines`, holding that log's lock: for one log the calls come in line order and never overlap. If
 * `admitLines` throws, the branch has moved nevertheless; the process must read the log again from the store.
 * The mesh writes the log of `host` itself only through `aloneWithOwnLog`, and only what extends it.
 */
export interface MeshNode {
  readonly meshId: string;
  /** Slug of this host. */
  readonly host: string;
  readonly repository: Repository;
  /** Text of `keys/ssh_ed25519` (OpenSSH private key). */
  readonly sshKey: string;
  /** The key of before, and the one to come, where there is one. */
  otherSshKeys?(): OtherSshKeys;
  /** How hosts behind a plain sshd are reached; without it none is. */
  readonly sshd?: SshdAccess;
  /** The charter as of now; read again for every decision, so that enrolment and revocation count at once. */
  charter(): Charter;
  /** Tip of a log that we hold; undefined when we hold no line of it. */
  tip(log: string): LogTip | undefined;
  /** Link of a line that we hold; undefined when not known (then a shorter log of a peer is not compared). */
  linkAt(log: string, seq: number): string | undefined;
  /** Ids whose bodies are purged, as of now: what comes of them is kept as holes. None without it. */
  purged?(): PurgedIds;
  /** Without it nothing of the repository is ever dropped. */
  readonly gate?: ObjectGate;
  /** Without it no view journal is fetched. */
  readonly views?: ViewStore;
  /** The trust hash, and the hash over all ops that are kept (`keptHash`). */
  trust(): { readonly hash: string; readonly kept: string };
  /** Is a trust op (64 hex) held as valid? Spares reading it again. Pending ones are not held: another text may be the real one. */
  holdsTrustOp(id: string): boolean;
  /** Adds what verifies to the trust set and to branch `trust`, durably; `charter` is the new one when it resolves. */
  admitTrust(
    ops: readonly OfferedOp[],
    via: string,
  ): Promise<Pick<Added, 'added' | 'pending' | 'dropped' | 'unsupported'>>;
  /** Without it, damage in our copies is a failure of this machine, and stays. */
  readonly damage?: LogDamage;
  /** Told what a peer says it holds, before anything of it is fetched. */
  onHeads?(peer: string, heads: Heads): void;
  /**
   * Told that a peer says to hold what this home lacks of its own log: `looking` before `onHeads`, while its proof is
   * fetched, and then the line that our own key signed, or `unproven`.
   */
  onOwnLog?(peer: string, claim: 'looking' | 'unproven' | SignedLine): void;
  /** Keeps lines of a log that no branch holds, from the first one that differs: evidence, and what its host can say again. */
  keepBranch?(lines: readonly VerifiedLine[]): Promise<unknown>;
  /**
   * Does `work`, which takes over lines of the own log from a peer, while no append is under way. @returns false, and nothing
   * is done, when so many lines would be fewer than this home once held. Without it the own log is never taken from a peer.
   */
  aloneWithOwnLog?(lines: number, work: () => Promise<boolean>): Promise<boolean>;
  /** Takes over lines that the mesh admitted. */
  admitLines(admitted: AdmittedLines): void | Promise<void>;
}

/**
 * Hosts that this one talks to: those of the charter that were not revoked. A host that was itself goes on asking: it is
 * told why, and hears of it when the revocation falls. Pure.
 */
export function peersOf(charter: Pick<Charter, 'hosts'>, self: string): readonly string[] {
  return [...charter.hosts.keys()].filter((name) => isPeerOf(charter, { self, name }));
}

/** Whether `peersOf` names a host, without going through all of them. Pure. */
export function isPeerOf(
  { hosts }: Pick<Charter, 'hosts'>,
  { self, name }: { readonly self: string; readonly name: string },
): boolean {
  const host = hosts.get(name);
  return host !== undefined && name !== self && host.status !== 'revoked';
}

/** What is known of a copy without looking at the disk. */
type KnownOfCopy = Omit<DamagedCopy, 'branch'>;

/**
 * What is known to have been in a damaged copy. Where ours is another branch than the one that a signer pinned (`isCutByPin`),
 * that is only what stands before it.
 */
function knownOf(node: MeshNode, log: string): KnownOfCopy & { readonly isCutByPin: boolean } {
  const tip = node.tip(log);
  const host = node.charter().hosts.get(log);
  if (tip !== undefined && host !== undefined) {
    const { upto, fault } = usableUpto(host, (seq) => node.linkAt(log, seq), tip.seq);
    const link = node.linkAt(log, upto);
    const good = link === undefined ? undefined : { seq: upto, link };
    if (fault !== undefined) return { good, last: undefined, isCutByPin: true };
  }
  return { good: tip, last: node.damage?.lastOf(log), pins: host?.pins ?? [], isCutByPin: false };
}

/** What another copy of a log must have to take the place of ours. Errors: `DISK_FAILED`. */
export function damagedCopy(node: MeshNode, log: string): DamagedCopy {
  const { isCutByPin, ...known } = knownOf(node, log);
  const asks = !isCutByPin && node.damage?.mayHoldMore(log) === true;
  return { ...known, branch: asks ? branchCommit(node.repository, log) : '' };
}

/** The node as the sync machine sees it. */
export function worldOf(node: MeshNode): World {
  return {
    meshId: node.meshId,
    host: node.host,
    peers: () => peersOf(node.charter(), node.host),
    whyNoPeer(name) {
      const host = node.charter().hosts.get(name);
      if (host === undefined) return 'the charter names no such host';
      return host.status === 'revoked' ? revokedText(host) : undefined;
    },
    isEnrolled: (host) => node.charter().hosts.has(host),
    tip: (log) => node.tip(log),
    linkAt: (log, seq) => node.linkAt(log, seq),
    isDamaged: (log) => node.damage?.of(log) === true,
    heldUpto: (log) => heldUpto(knownOf(node, log)),
    trust: () => node.trust(),
    ...(node.views === undefined
      ? {}
      : {
          views: {
            tip: (host) => node.views?.tip(host),
            isDamaged: (host) => node.views?.isDamaged(host) === true,
            isOutdated: (host) => isOutdatedView(node, host),
            isAwaited: (host) => isAwaitedView(node, host),
          },
        }),
  };
}

/** True while there are purges, and the newest line of a host does not say that it has carried out those of our trust set. */
function isAwaitedView(node: MeshNode, host: string): boolean {
  return host !== node.host && node.charter().purges.size > 0 && node.views?.newest(host)?.trust !== node.trust().hash;
}

/** True while our copy of a host's view journal ends with a line of a key that the host has replaced since. */
export function isOutdatedView(node: Pick<MeshNode, 'charter' | 'views'>, host: string): boolean {
  const newest = node.views?.newest(host);
  return newest !== undefined && isOutdatedLine(newest, node.charter().hosts.get(host)?.keys ?? []);
}
