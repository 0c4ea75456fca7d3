/** What the mesh needs of the process that runs it, and what it reports back. */
import type { PurgedIds, VerifiedLine } from '../core/log.ts';
import type { Charter } from '../core/trust/charter.ts';
import type { TrustOp } from '../core/trust/op.ts';
import type { Added } from '../core/trust/set.ts';
import type { Repository } from '../store/git/repository.ts';
import type { FetchPackFault } from './fetch-pack.ts';
import type { Heads } from './heads.ts';
import type { ObjectGate } from './object-gate.ts';

/** Where a log stands in our repository: the commit of its branch, and the last line that it holds. */
export interface LogTip {
  readonly oid: string;
  readonly seq: number;
  readonly link: string;
}

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

/** A line that is known by its place and link. */
export interface SignedLine {
  readonly seq: number;
  readonly link: string;
}

/** What the process knows of damage in our copies of logs. The own log is never taken from a peer. */
export interface LogDamage {
  /** True for a copy that cannot be built on: it is to be taken anew. */
  of(log: string): boolean;
  /** Reads our copy again, whole. @returns as `of`. */
  recheck(log: string): Promise<boolean>;
}

/**
 * One per home; every function may be called from several peer cycles that run side by side, always on one thread.
 *
 * Order and durability: the mesh writes objects and the branch of a log (durable, by compare-and-swap) and only then
 * calls `admitLines`, holding that log's lock: for one log the calls come in line order and never overlap. If
 * `admitLines` throws, the branch has moved nevertheless; the process must read the log again from the store.
 * The mesh never writes the log of `host` itself.
 */
export interface MeshNode {
  readonly meshId: string;
  /** Slug of this host. */
  readonly host: string;
  readonly repository: Repository;
  /** Text of `keys/ssh_ed25519` (OpenSSH private key). */
  readonly sshKey: string;
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
  /** The trust hash, and the hash over all ops that are kept (`keptHash`). */
  trust(): { readonly hash: string; readonly kept: string };
  /** Is a trust op (64 hex) held as valid? Spares reading it again. Pending ones are not held: another text may be the real one. */
  holdsTrustOp(id: string): boolean;
  /** Adds what verifies to the trust set and to branch `trust`, durably; `charter` is the new one when it resolves. */
  admitTrust(
    ops: readonly TrustOp[],
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
  /** Takes over lines that the mesh admitted. */
  admitLines(admitted: AdmittedLines): void | Promise<void>;
}

/** Why a log of a peer was not taken, or not wholly. */
export type AdmissionFaultCode =
  | 'NOT_A_COMMIT'
  | 'COMMIT_CHAIN'
  | 'TREE_SHAPE'
  | 'TOO_LARGE'
  | 'MISSING_OBJECT'
  | 'NOT_EXTENSION'
  | 'LOG_CUT';

/**
 * What a person should hear of. PACK_REFUSED: git refused the objects. HEADS_WRONG: what the peer says it holds is not
 * what it sends, of our own log too. ROLLED_BACK: a host holds less of its own log than it once had. OWN_LOG_AHEAD: a peer holds more of *our*
 * log than we do, and our key signed it, so this home was restored or cloned. TRUST_SHAPE: its trust branch is not one. TRUST_OP: a trust op that
 * it carries is bad. OP_UNSUPPORTED: a trust op that this version cannot apply.
 */
export type MeshAlarmCode =
  | AdmissionFaultCode
  | 'PACK_REFUSED'
  | 'HEADS_WRONG'
  | 'ROLLED_BACK'
  | 'OWN_LOG_AHEAD'
  | 'TRUST_SHAPE'
  | 'TRUST_OP'
  | 'OP_UNSUPPORTED';

/** Identity = code + peer + log or op. Reported in every cycle while it lasts. */
export interface MeshAlarm {
  readonly code: MeshAlarmCode;
  readonly peer: string;
  /** Log that it is about. */
  readonly log?: string;
  /** Trust op that it is about. */
  readonly op?: string;
  /** First line that diverges or is faulty, when known. */
  readonly seq?: number;
  /** NOT_EXTENSION: the host itself signed both versions. */
  readonly forked?: boolean;
  /** Printable, one line. */
  readonly detail: string;
}

/**
 * Why a peer could not be used. NO_ADDRESS: nobody told us where it is. NOT_ENROLLED: the charter does not name it.
 * FOREIGN_MESH: it belongs to another mesh. LOCAL: this machine failed (disk, git), not the peer.
 */
export type PeerFaultCode = FetchPackFault | MeshAlarmCode | 'NO_ADDRESS' | 'NOT_ENROLLED' | 'FOREIGN_MESH' | 'LOCAL';

/** A fault of one peer, said in one printable line. */
export interface PeerFault {
  readonly code: PeerFaultCode;
  readonly detail: string;
}

/** Result of one cycle with one peer. */
export interface PeerOutcome {
  readonly peer: string;
  /** `up`: it answered and nothing was refused. `down`: not reached. `refused`: reached, and it or a part of its data was refused. */
  readonly state: 'up' | 'down' | 'refused';
  readonly reason?: PeerFault;
  /** Lines admitted from it in this cycle, over all logs. */
  readonly newEvents: number;
  /** The same per log. */
  readonly lines: Readonly<Record<string, number>>;
  /** Ids of trust ops that it brought in this cycle. */
  readonly trustAdded: readonly string[];
  readonly alarms: readonly MeshAlarm[];
  /** What it said it holds; absent when it was not reached. `--sync` waits on these. */
  readonly heads?: Heads;
}
