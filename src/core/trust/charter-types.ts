/** What the charter is made of. Everything is a value of one trust set, the same on every host. Source: docs/fold.md T. */
import type { SshPublicKey } from '../../crypto/ssh-key.ts';
import type { Kind } from '../event.ts';
import type { HostKeySpan } from '../log.ts';
import type { Approver, Pin, PurgeSkeleton } from './op-types.ts';

/** Where an item comes from: the id of the op in effect and who approved it. */
export interface Origin {
  readonly op: string;
  readonly by: Approver;
}

/** A pin in force: the log has this link at this seq. `op`: the rekey or revocation that says so. */
export interface HostPin extends Pin {
  readonly op: string;
}

/** The key of some stretch of a log. `op`: the op that brought the key. */
export interface OriginSpan extends HostKeySpan {
  readonly op: string;
}

/**
 * A host. `sign`, `ssh`: the current keys, of a revoked host the last ones. `op`, `by`: of a revoked host the revocation.
 * `status` forked: an unsettled fork-proof cuts its log; its keys still hold. `spans`: which key signs which lines,
 * ascending, disjoint. `keys`: every sign key that it ever had (32 raw bytes), in their order; one that a pin left no line has no
 * span, and yet signed view lines, and what stood behind the pin. `pins`: ascending; see `usableUpto`. `end`: last seq that
 * any host may use, null while it is open. `fork`: seq of the lowest unsettled fork-proof; `end` is below it.
 */
export interface CharterHost extends Origin {
  readonly name: string;
  readonly sign: SshPublicKey;
  readonly ssh: SshPublicKey;
  readonly address: string;
  readonly status: 'active' | 'revoked' | 'forked';
  readonly spans: readonly OriginSpan[];
  readonly keys: readonly Uint8Array[];
  readonly pins: readonly HostPin[];
  readonly end: number | null;
  readonly fork: number | null;
}

/** A revocation in force. `marks`, by host: approvals first carried at or before these places stand; hosts not named: 0. */
export interface SignerRevocation extends Origin {
  readonly marks: ReadonlyMap<string, Pin>;
}

/**
 * A signer, revoked ones too: what they approved before still needs their key. `rank`: 0 is the genesis signer; others one
 * more than whoever approved them. `revocations`: those in force, by id; empty iff active.
 */
export interface CharterSigner extends Origin {
  readonly name: string;
  readonly key: SshPublicKey;
  readonly scopes: readonly string[];
  readonly rank: number;
  readonly status: 'active' | 'revoked';
  readonly revocations: readonly SignerRevocation[];
}

/** `revise` and `claims` are null for a class that takes no claims (decisions and questions only). */
export interface CharterClass extends Origin {
  readonly description: string;
  readonly revise: 'mesh' | 'host' | null;
  readonly claims: 'fact' | 'rule' | null;
}

export interface CharterAudience extends Origin {
  readonly includes: readonly string[];
}

export interface CharterPolicy extends Origin {
  readonly value: string | number;
}

/**
 * A counted delegation to a host that has, or had, this sign key: its lines with a seq from `from` to `upto` that fall into
 * a span with this key are `delegated` on the subjects (globs) and kinds named here. In order of op id.
 */
export interface CharterDelegation extends Origin {
  readonly host: string;
  readonly key: SshPublicKey;
  readonly subjects: readonly string[];
  readonly kinds: readonly Kind[];
  readonly from: number;
  readonly upto: number;
}

/** A purge of one event, by a signer who may speak of every subject. */
export interface CharterPurge extends Origin {
  readonly reason: string;
  readonly target: PurgeSkeleton;
}

/**
 * Alarm about an item; its identity is kind + item. CHARTER_FORK: its ops disagree. KEY_REUSED: it is held because a key
 * of it belongs to another item. OP_UNSUPPORTED: the mesh decided something that this version cannot apply. LOG_FORKED:
 * a host signed two lines of one seq.
 */
export interface CharterAlarm {
  readonly kind: 'CHARTER_FORK' | 'KEY_REUSED' | 'OP_UNSUPPORTED' | 'LOG_FORKED';
  readonly item: string;
  readonly ops: readonly string[];
  readonly detail: string;
}

/**
 * Every map is in order of name. `name` is that of the mesh, '' while the genesis is not held (then all is empty).
 * `purges`: by event id; of several ops the lowest id.
 */
export interface Charter {
  readonly meshId: string;
  readonly name: string;
  readonly hosts: ReadonlyMap<string, CharterHost>;
  readonly signers: ReadonlyMap<string, CharterSigner>;
  readonly classes: ReadonlyMap<string, CharterClass>;
  readonly audiences: ReadonlyMap<string, CharterAudience>;
  readonly policy: ReadonlyMap<string, CharterPolicy>;
  readonly delegations: readonly CharterDelegation[];
  readonly purges: ReadonlyMap<string, CharterPurge>;
  readonly conflicts: readonly CharterAlarm[];
}
