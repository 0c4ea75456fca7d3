import type { VerifiedLine } from '../core/log.ts';
import type { Charter } from '../core/trust/charter.ts';
import type { TrustOp } from '../core/trust/op.ts';
import type { Repository } from '../store/git/repository.ts';
import type { Heads } from './heads.ts';

/** Where a log stands in our repository: the commit of its branch, and the last line that it holds. */
export interface LogTip {
  readonly oid: string;
  readonly seq: number;
  readonly link: string;
}

/** New lines of one log, verified and durable: the branch already points at `tip.oid`. */
export interface AdmittedLines {
  readonly log: string;
  /** In order, without gaps, the first directly after the tip that `MeshNode.tip` gave. Never empty. */
  readonly lines: readonly VerifiedLine[];
  readonly tip: LogTip;
  /** Host name of the peer that carried them. */
  readonly via: string;
}

/** What `MeshNode.admitTrust` did with ops that a peer carried. */
export interface TrustAdmission {
  readonly added: readonly string[];
  readonly pending: readonly string[];
  readonly dropped: readonly { readonly id: string; readonly code: string; readonly detail: string }[];
}

/**
 * What the mesh needs of the process that runs it. One per home; every function may be called from several peer cycles
 * that run side by side, always on one thread.
 *
 * Order and durability: the mesh writes objects and the branch of a log (durable, by compare-and-swap) and only then
 * calls `admitLines`, holding that log's lock: for one log the calls come in line order and never overlap. If
 * `admitLines` throws, the branch has moved nevertheless; the process must read the log again from the store.
 */
export interface MeshNode {
  readonly meshId: string;
  /** Slug of this host. */
  readonly host: string;
  readonly repository: Repository;
  /** Text of `keys/ssh_ed25519` (OpenSSH private key): client key and server host key. */
  readonly sshKey: string;
  /** The charter as of now; read again for every decision, so that enrolment and revocation count at once. */
  charter(): Charter;
  /** Tip of a log that we hold; undefined when we hold no line of it. */
  tip(log: string): LogTip | undefined;
  /** Link of a line that we hold; undefined when not known (then a shorter log of a peer is not compared). */
  linkAt(log: string, seq: number): string | undefined;
  /** Commit of branch `trust`, and the trust hash. */
  trust(): { readonly oid: string; readonly hash: string };
  /** Is this trust op (64 hex) held already, valid or pending? Spares reading it again. */
  holdsTrustOp(id: string): boolean;
  /** Adds what verifies to the trust set and to branch `trust`, durably; the charter is the new one when it resolves. */
  admitTrust(ops: readonly TrustOp[], via: string): Promise<TrustAdmission>;
  /** Takes over lines that the mesh admitted. */
  admitLines(admitted: AdmittedLines): void | Promise<void>;
}

/** Why a peer could not be used. Closed list; docs/errors.md says what to do for each. */
export type PeerFaultCode =
  | 'NO_ADDRESS'
  | 'UNREACHABLE'
  | 'TIMEOUT'
  | 'REFUSED_KEY'
  | 'HOST_KEY_MISMATCH'
  | 'NOT_ENROLLED'
  | 'CLOSED'
  | 'REFUSED_COMMAND'
  | 'PROTOCOL'
  | 'FOREIGN_MESH'
  | 'TOO_LARGE'
  | 'PACK_REFUSED'
  | 'LOCAL';

/** A fault of one peer or one log, said in one line. `detail` holds no control characters. */
export interface PeerFault {
  readonly code: PeerFaultCode | AdmissionFaultCode;
  readonly detail: string;
}

/** Why a log or the trust branch of a peer was not taken, or not wholly. */
export type AdmissionFaultCode =
  | 'NOT_A_COMMIT'
  | 'COMMIT_CHAIN'
  | 'TREE_SHAPE'
  | 'TOO_LARGE'
  | 'MISSING_OBJECT'
  | 'NOT_EXTENSION'
  | 'LOG_CUT'
  | 'ROLLED_BACK'
  | 'TRUST_SHAPE'
  | 'TRUST_OP'
  | 'OP_UNSUPPORTED';

/** Something that a person should hear of. Identity = code + log (or op) + peer; raised anew in every cycle while it lasts. */
export interface MeshAlarm {
  readonly code: AdmissionFaultCode;
  readonly peer: string;
  /** Log that it is about; absent for the trust branch. */
  readonly log?: string;
  /** First line that diverges or is faulty, when known. */
  readonly seq?: number;
  readonly detail: string;
}

/** Result of one cycle with one peer. */
export interface PeerOutcome {
  readonly peer: string;
  /** `up`: spoke and nothing was refused. `down`: not reached. `refused`: reached, and it or a part of its data was refused. */
  readonly state: 'up' | 'down' | 'refused';
  readonly reason?: PeerFault;
  /** Lines admitted in this cycle, over all logs. */
  readonly newEvents: number;
  /** Lines admitted per log. */
  readonly lines: Readonly<Record<string, number>>;
  /** Ids of trust ops added in this cycle. */
  readonly trustAdded: readonly string[];
  readonly alarms: readonly MeshAlarm[];
  /** What the peer said it holds; absent when it was not reached. `--sync` waits on these. */
  readonly heads?: Heads;
}
