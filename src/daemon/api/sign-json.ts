/** Shapes of `sign.draft` and `sign.submit`. */
import type { ClaimJson } from '../../core/views/claim-json.ts';

/**
 * What a signer wants to say. `accept`: the claim `id`, as one new claim that replaces the other sides. `claim`: a new one,
 * of `fields`. `retract`: nothing of what is parked. `pin`: that the subject stays in the index. `event`: the event `id` as
 * it stands. `promote`: an event that is quarantined, or a proposal.
 */
export interface SignRequest {
  readonly act: 'accept' | 'claim' | 'retract' | 'pin' | 'event' | 'promote';
  readonly subject?: string;
  readonly id?: string;
  /** The scope whose park is meant, and of a new claim; default: the only one that is parked, else everywhere. */
  readonly scope?: string;
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Events that it replaces, beyond the parked sides. */
  readonly supersedes?: readonly string[];
  /** Claims that may stand beside it. */
  readonly leave?: readonly string[];
  /** Fingerprint of the key that will sign; without it any signer may. */
  readonly key?: string;
  readonly session?: string;
}

export interface SignDraftJson {
  /** The bytes to sign, in namespace `memd-event`: the canonical body. */
  readonly body: string;
  readonly id: string;
  readonly subject: string;
  /** Name of the signer with that key; null when no key was named. */
  readonly signer: string | null;
  readonly mesh: string;
  /** The body was said before; signing it makes that very event signed. */
  readonly existing: boolean;
  /** What it supersedes, as far as it is known here. */
  readonly replaces: readonly ClaimJson[];
  /** Ids that it supersedes and that are not known here. */
  readonly unknown: readonly string[];
  /** Events that withdraw it now, when it was said before. An approval may outweigh them. */
  readonly withdrawnBy: readonly ClaimJson[];
  /** Live claims that say the same, and stay. */
  readonly agrees: readonly ClaimJson[];
  /** Live claims that say otherwise, and stay beside it. */
  readonly leaves: readonly ClaimJson[];
  /** Questions that stay open on the subject. */
  readonly questions: readonly ClaimJson[];
}

export interface SignedJson {
  readonly id: string;
  readonly signer: string;
  readonly supersedes: readonly string[];
  readonly subject: string;
  readonly kind: string;
  /** Where this host carries it. Null: the approval stood here already, and nothing was appended. */
  readonly host: string | null;
  readonly seq: number | null;
  /** Peers that are known to hold that line, and hosts of the mesh besides this one. */
  readonly replicated: number;
  readonly peers: number;
  readonly status: string;
  /** What is not as it was when it was drafted, or still stands against it. */
  readonly notes: readonly string[];
}
