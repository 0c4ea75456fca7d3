/**
 * What hosts say of themselves and of each other: heads, tips, faults, alarms, and the outcome of a cycle. The words that
 * the sync machine, the mesh, the daemon and the simulator have in common.
 */

/** Where a log stands here: the commit of its branch, and the last line that it holds. */
export interface LogTip {
  readonly oid: string;
  readonly seq: number;
  readonly link: string;
}

/** A line that is known by its place and link. */
export interface SignedLine {
  readonly seq: number;
  readonly link: string;
}

/** Newest line of a view journal: the commit of its branch, the number of the line, its hash. */
export interface ViewTip {
  readonly oid: string;
  readonly n: number;
  readonly hash: string;
}

/** Tip of one log as its holder states it. */
export interface HeadsTip {
  /** Commit of the branch, 40 hex. */
  readonly oid: string;
  readonly seq: number;
  readonly link: string;
}

/** Answer of `memd heads`. `addresses` are hints: host name to `ssh://…`. */
export interface Heads {
  readonly mesh: string;
  readonly host: string;
  readonly heads: Readonly<Record<string, HeadsTip>>;
  /** `kept`: hash over every op of the branch, those too that its version cannot apply; absent from an older host. */
  readonly trust: { readonly oid: string; readonly hash: string; readonly kept?: string };
  readonly addresses: Readonly<Record<string, string>>;
  /** Newest line of every view journal; absent from an older host. */
  readonly views?: Readonly<Record<string, ViewTip>>;
  readonly version: string;
}

/**
 * Why a peer did not do what was asked. UNREACHABLE: nobody answers there. TIMEOUT: somebody answers too slowly.
 * REFUSED_KEY: it does not know our key. HOST_KEY_MISMATCH: it is not the host that the charter names. HOST_KEY_UNKNOWN: no
 * host key of the plain sshd before it is pinned. PROTOCOL: it does not speak ssh as we do. CLOSED: it hung up. REFUSED_COMMAND: it refused what we asked. BUSY: it asks to come back later.
 * TOO_LARGE: it answered more than is allowed.
 */
export type ConnectionFault =
  | 'UNREACHABLE'
  | 'TIMEOUT'
  | 'REFUSED_KEY'
  | 'HOST_KEY_MISMATCH'
  | 'HOST_KEY_UNKNOWN'
  | 'PROTOCOL'
  | 'CLOSED'
  | 'REFUSED_COMMAND'
  | 'BUSY'
  | 'TOO_LARGE';

/** `PACK_REFUSED`: git refused what came. `TOO_LARGE`: more than was announced. `REMOTE_ERROR`: the peer's git failed. */
export type FetchPackFault = ConnectionFault | 'PACK_REFUSED' | 'REMOTE_ERROR';

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
 * it carries is bad. OP_UNSUPPORTED: a trust op that this version cannot apply. HOST_KEY_MISMATCH: at one of its addresses another host
 * answers. WATCH_FLOOD: it says what it holds far oftener than it may.
 */
export type MeshAlarmCode =
  | AdmissionFaultCode
  | 'PACK_REFUSED'
  | 'HEADS_WRONG'
  | 'ROLLED_BACK'
  | 'OWN_LOG_AHEAD'
  | 'TRUST_SHAPE'
  | 'TRUST_OP'
  | 'OP_UNSUPPORTED'
  | 'HOST_KEY_MISMATCH'
  | 'WATCH_FLOOD'
  | ViewFaultCode;

/**
 * What is wrong with a view journal that a peer sends. VIEW_CUT: a line of it is not one, or is not signed by its host.
 * VIEW_FORKED: it is another journal than the one that is here.
 */
export type ViewFaultCode = 'VIEW_CUT' | 'VIEW_FORKED';

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
