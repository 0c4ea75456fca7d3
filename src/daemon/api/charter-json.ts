/** The charter and approvals over the local API: items with value, ops, approver and conflicts (docs: CLI contract). */
import type { AlarmJson } from './api-types.ts';

/** One human approval as it stands in a line or op. `publicKey` null: no signer of the mesh has that name and key. */
export interface ApprovalJson {
  readonly signer: string;
  readonly key: string;
  readonly publicKey: string | null;
  readonly signerStatus: string;
  /** base64 of the SSHSIG blob. */
  readonly sshsig: string;
  /** What the fold made of it; `ok` for a trust op, which would not be held otherwise. */
  readonly verdict: string;
  readonly carriedBy: readonly { readonly log: string; readonly seq: number }[];
}

export interface ApprovalsJson {
  readonly id: string;
  readonly namespace: string;
  /** What was signed: the canonical body. '' where it is not held. */
  readonly message: string;
  readonly approvals: readonly ApprovalJson[];
}

export interface ApproverJson {
  readonly signer: string;
  /** Fingerprint. */
  readonly key: string;
}

/** Which op gave an item its value, who approved it, and when they said so. */
export interface OriginJson {
  readonly op: string;
  readonly by: ApproverJson;
  readonly at: string;
}

export interface PlaceJson {
  readonly seq: number;
  readonly link: string;
}

export interface HostJson extends OriginJson {
  readonly host: string;
  readonly address: string;
  readonly status: string;
  /** Last line that is usable here, and its link (the mesh id before the first). */
  readonly seq: number;
  readonly link: string;
  /** Fingerprint of the key that signs its lines now, and that key. */
  readonly key: string;
  readonly signKey: string;
  /** Last line that can count on any host; null while the log is open. */
  readonly end: number | null;
  readonly pins: readonly PlaceJson[];
}

export interface SignerJson extends OriginJson {
  readonly name: string;
  /** Fingerprint. */
  readonly key: string;
  readonly publicKey: string;
  readonly scopes: readonly string[];
  readonly status: string;
  readonly rank: number;
  /** Those in force; empty for an active signer. */
  readonly revocations: readonly (OriginJson & { readonly marks: Readonly<Record<string, PlaceJson>> })[];
}

export interface ClassJson extends OriginJson {
  readonly name: string;
  readonly revise: string | null;
  readonly claims: string | null;
  readonly description: string;
}

/** One item of the charter, `host:alpha` or `policy:index.bytes`. `value` null: its ops disagree, and none has the say. */
export interface ItemJson {
  readonly item: string;
  readonly value: unknown;
  /** The op that gives the value, its approver and claimed time; absent without a value. */
  readonly origin?: OriginJson;
  /** Ids of every op that says something about it, void ones too. */
  readonly ops: readonly string[];
  readonly conflicts: readonly AlarmJson[];
}

/**
 * `void`: valid, but revocations (`voidedBy`) of its approver do not know it. `idle`: a revocation that ends nobody.
 * `unsupported`: of a later version. A fork-proof has no approver: there `by` and `at` are empty.
 */
export interface OpJson extends OriginJson {
  readonly kind: string;
  readonly items: readonly string[];
  readonly status: 'counted' | 'void' | 'idle' | 'unsupported';
  readonly voidedBy: readonly string[];
}

export interface DelegationJson extends OriginJson {
  readonly host: string;
  readonly subjects: readonly string[];
  readonly kinds: readonly string[];
  readonly from: number;
  readonly upto: number;
}

export interface PurgeJson extends OriginJson {
  readonly id: string;
  readonly reason: string;
}

export interface CharterJson {
  readonly mesh: string;
  /** Name of the mesh. */
  readonly name: string;
  readonly trust: string;
  readonly hosts: readonly HostJson[];
  readonly signers: readonly SignerJson[];
  readonly classes: readonly ClassJson[];
  readonly audiences: readonly string[];
  readonly delegations: readonly DelegationJson[];
  readonly purges: readonly PurgeJson[];
  /** Every item, those of the lists above among them, with all ops about it. */
  readonly items: readonly ItemJson[];
  /** Every op, ancestors first. */
  readonly ops: readonly OpJson[];
  readonly conflicts: readonly AlarmJson[];
}

/** What would change by an op that is not signed yet. */
export interface PreviewJson {
  /** Ops that count now and would not any more. */
  readonly falls: readonly OpJson[];
  /** Events held here whose every approval would fall, so that they are no longer signed. */
  readonly events: number;
}
