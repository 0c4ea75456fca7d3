/** The bodies of trust ops. Source: docs/format.md, section 3. */
import type { Kind } from '../event.ts';
import type { LineHeader } from '../line.ts';

/** Who approves: signer name and key fingerprint. Inside the body, so that nobody can re-sign it and take its id. */
export interface Approver {
  readonly signer: string;
  readonly key: string;
}

/** What every op but genesis has. `prev` = the maximal counted ops its author knew. `at` is display only. */
export interface OpStem {
  readonly mesh: string;
  readonly op: string;
  readonly by: Approver;
  readonly prev: readonly string[];
  readonly at: string;
  readonly nonce: string;
}

/** A place in a log. Seq 0 is before the first line; its link is the mesh id. */
export interface Pin {
  readonly seq: number;
  readonly link: string;
}

/** Keys are OpenSSH public texts without comment. `address` is '' or ssh://host:port: a hint, never trust. */
export interface HostFields {
  readonly name: string;
  readonly sign: string;
  readonly ssh: string;
  readonly address: string;
}

/** `scopes`: sorted; `charter`, `purge`, or subject globs. */
export interface SignerFields {
  readonly name: string;
  readonly key: string;
  readonly scopes: readonly string[];
}

/** A class without `revise` and `claims` (genesis only) takes no claims: it holds decisions and questions. */
export interface ClassFields {
  readonly description: string;
  readonly revise?: 'mesh' | 'host';
  readonly claims?: 'fact' | 'rule';
}

export interface AudienceFields {
  readonly includes: readonly string[];
}

/** `sign`, `ssh`: the new keys. `pin`: the word of the old sign key ends there. */
export interface RekeyFields {
  readonly name: string;
  readonly sign: string;
  readonly ssh: string;
  readonly pin: Pin;
}

/** `pin`: the word of the host ends there. */
export interface HostRevokeFields {
  readonly name: string;
  readonly pin: Pin;
}

/** `marks`, by host: approvals first carried at or before these places stand; hosts not named: none. */
export interface SignerRevokeFields {
  readonly name: string;
  readonly marks: Readonly<Record<string, Pin>>;
}

/** `key`: the host's sign key at this moment. `subjects` (globs) and `kinds` are sorted; lines `from` to `upto` of its log. */
export interface DelegateFields {
  readonly host: string;
  readonly key: string;
  readonly subjects: readonly string[];
  readonly kinds: readonly Kind[];
  readonly from: number;
  readonly upto: number;
}

/**
 * What stays of a purged event. Everything that has a default in a body stands here written out, null where there is
 * nothing. `level`: as folded when it was purged. `key`: sha256 of the comparable part of a claim (`claimDigest`), so that
 * the words themselves are gone. `home`, `digest`: of an observe, null for other kinds. `supersedes`, `basis`: sorted ids.
 */
export interface PurgeSkeleton {
  readonly id: string;
  readonly host: string;
  readonly kind: Kind;
  readonly subject: string;
  readonly scope: string;
  readonly audience: string;
  readonly lineage: 'trusted' | 'untrusted';
  readonly level: 'unsigned' | 'delegated' | 'signed';
  readonly key: string | null;
  readonly home: string | null;
  readonly digest: string | null;
  readonly supersedes: readonly string[];
  readonly basis: readonly string[];
}

/** `targets`: by id. `reason`: a code like `secret`, never the purged text. */
export interface PurgeFields {
  readonly targets: readonly PurgeSkeleton[];
  readonly reason: string;
}

export interface GenesisBody extends Omit<OpStem, 'mesh'> {
  readonly op: 'genesis';
  readonly name: string;
  readonly signer: SignerFields;
  readonly host: HostFields;
  readonly classes: Readonly<Record<string, ClassFields>>;
  readonly audiences: Readonly<Record<string, AudienceFields>>;
  readonly policy: Readonly<Record<string, string | number>>;
}

export interface HostAddBody extends OpStem, HostFields {
  readonly op: 'host-add';
}

export interface HostRekeyBody extends OpStem, RekeyFields {
  readonly op: 'host-rekey';
}

export interface HostRevokeBody extends OpStem, HostRevokeFields {
  readonly op: 'host-revoke';
}

export interface SignerAddBody extends OpStem, SignerFields {
  readonly op: 'signer-add';
}

export interface SignerRevokeBody extends OpStem, SignerRevokeFields {
  readonly op: 'signer-revoke';
}

export interface ClassAddBody extends OpStem, Required<ClassFields> {
  readonly op: 'class-add';
  readonly name: string;
}

export interface AudienceAddBody extends OpStem, AudienceFields {
  readonly op: 'audience-add';
  readonly name: string;
}

export interface PolicySetBody extends OpStem {
  readonly op: 'policy-set';
  readonly key: string;
  readonly value: string | number;
}

export interface DelegateBody extends OpStem, DelegateFields {
  readonly op: 'delegate';
}

export interface PurgeBody extends OpStem, PurgeFields {
  readonly op: 'purge';
}

/** Every op that a signer approves. */
export type TrustBody =
  | GenesisBody
  | HostAddBody
  | HostRekeyBody
  | HostRevokeBody
  | SignerAddBody
  | SignerRevokeBody
  | ClassAddBody
  | AudienceAddBody
  | PolicySetBody
  | DelegateBody
  | PurgeBody;

/** A line header with the host's signature over its link. */
export interface SignedHeader {
  readonly header: LineHeader;
  readonly sig: string;
}

/**
 * Two different lines of one seq under one key of a host. Nobody approves it. `prev`: the one op that brought the key.
 * `lines`: ascending by link.
 */
export interface ForkProofBody {
  readonly mesh: string;
  readonly op: 'fork-proof';
  readonly prev: readonly [string];
  readonly host: string;
  readonly lines: readonly [SignedHeader, SignedHeader];
}
