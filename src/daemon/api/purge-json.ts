/** Shapes of `purge.plan` and `purge.list`, and what is told of a purged event elsewhere. */
import type { PurgeSkeleton } from '../../core/trust/op-types.ts';

/** Why the body of an event is gone: the trust op, its signer, its reason code, and when the op claims to be made. */
export interface PurgedJson {
  readonly id: string;
  readonly op: string;
  readonly by: string;
  readonly reason: string;
  readonly at: string;
}

/** An event that is about to be purged: what stays of it, where it stands, and what names it. */
export interface PurgeTargetJson {
  readonly skeleton: PurgeSkeleton;
  readonly lines: readonly { readonly log: string; readonly seq: number }[];
  readonly supersededBy: readonly string[];
  readonly basisOf: readonly string[];
  /** Other events whose body holds what it says: its value or its content. They stay unless they are named too. */
  readonly repeatedBy: readonly string[];
}

export interface PurgePlanJson {
  readonly reason: string;
  readonly targets: readonly PurgeTargetJson[];
  /** Hosts besides this one: each holds a copy, until it has fetched and carried out the op. */
  readonly hosts: readonly string[];
}

export interface ListedPurgeJson extends PurgedJson {
  readonly subject: string;
  readonly kind: string;
  readonly host: string;
  /** Carried out in this home. */
  readonly done: boolean;
  /** Hosts that said, signed, that it is out of their homes. */
  readonly confirmed: readonly PurgedHostJson[];
  /** Names of the other hosts of the mesh, `waiting` without what is known of them. */
  readonly unconfirmed: readonly string[];
  readonly waiting: readonly WaitingHostJson[];
  /** Hosts that left the mesh and never said that it is out of their homes: nobody will hear of it from them. */
  readonly left: readonly string[];
  /** Exports of this home that were written without this purge. */
  readonly exports: readonly PurgeExportJson[];
  /** Other events that make the same claim, at any time: they were not purged. */
  readonly saidAgain: readonly string[];
}

/** `there`: the folder is still where it was written; else it was moved or deleted. */
export interface PurgeExportJson {
  readonly dir: string;
  readonly at: string;
  readonly there: boolean;
}

/** What lies around this home that no purge looks into. */
export interface PurgeLimitsJson {
  /** Paths below the home that are not memd's. */
  readonly foreign: readonly string[];
  /** What somebody wrote into view targets, kept beside them. */
  readonly edits: readonly string[];
}

/** `at`: the time that the host gives of the line that says so. */
export interface PurgedHostJson {
  readonly host: string;
  readonly at: string;
}

/** A host that has not said that it carried out a purge. */
export interface WaitingHostJson {
  readonly host: string;
  /** It is known to hold the op. */
  readonly told: boolean;
  /** When this host last met it, or else what the newest line claims that others passed on of it; null: never heard of. */
  readonly heard: string | null;
}
