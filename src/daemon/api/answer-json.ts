/** Shapes of what is asked about subjects and events: recall, search, why, blame, parks, replay, diff, show. */
import type { ClaimJson } from '../../core/views/claim-json.ts';
import type { PurgedJson } from './purge-json.ts';

export type RecallStatus =
  | 'served'
  | 'contested'
  | 'parked'
  | 'stale'
  | 'undecided'
  | 'superseded'
  | 'retracted'
  | 'quarantined'
  | 'held'
  | 'purged'
  | 'none';

export interface RecallJson {
  readonly subject: string;
  readonly scope: string;
  readonly status: RecallStatus;
  readonly claim?: ClaimJson;
  readonly claims?: readonly ClaimJson[];
  readonly text?: string;
  readonly replacedBy?: ClaimJson;
  /** Why bodies of its claims are gone. */
  readonly purged?: readonly PurgedJson[];
  /** The newest observation of its home that the served claim rests on. */
  readonly observed?: { readonly host: string; readonly at: string; readonly digest: string };
  /** Scopes in which the subject is known, where it is not in the one that was asked. */
  readonly elsewhere?: readonly string[];
  /** A sentence for every log that is not whole on this host: what it said beyond is not in this answer. */
  readonly incomplete?: readonly string[];
  /** The host that answers. */
  readonly host: string;
  /** Seconds since the claimed time of what is told; null when nothing is. Negative for a time in the future. */
  readonly age: number | null;
  readonly flags: readonly string[];
  readonly corroboration: number;
}

/** A line of `search`: a claim, and what is believed of it where the asker stands. */
export interface FoundJson extends Omit<ClaimJson, 'status'> {
  /** Only `served` and `contested` say what they claim; the others are named. */
  readonly status: string;
  /** What stands in the place of a superseded claim. */
  readonly replacedBy?: FoundJson;
}

export interface SearchJson {
  readonly claims: readonly FoundJson[];
  /** How the words were taken: all as they are, all as beginnings of words, or some of them. */
  readonly matching: 'all' | 'beginnings' | 'some';
  /** Events that matched; several can be one line. */
  readonly hits: number;
  /** There is more than `claims` shows. */
  readonly more: boolean;
  /** More matched than are ranked. */
  readonly tooMany: boolean;
  /** Hits that belong to other scopes only. */
  readonly elsewhere: number;
}

export interface WhyJson {
  readonly subjects: readonly string[];
  readonly claims: readonly ClaimJson[];
  /** How many older ones are not shown. */
  readonly more: number;
  /** The topic is a subject. */
  readonly exact: boolean;
}

/** A claim, and the events that made it what it is now. */
export interface BlamedJson extends ClaimJson {
  readonly log: string;
  readonly reason?: string;
  readonly carriedBy: readonly { readonly log: string; readonly seq: number }[];
  readonly by: readonly {
    readonly id: string;
    readonly kind: string;
    readonly subject: string;
    readonly host: string;
    readonly at: string;
    readonly log: string;
    readonly seq: number;
  }[];
}

export interface ParkJson {
  readonly subject: string;
  readonly scope: string;
  readonly since: string;
  readonly claims: readonly ClaimJson[];
  readonly alarm: string;
}

/** What a host held and believed at an instant, as it signed it. With a subject, what recall would have said comes with it. */
export interface ReplayJson {
  /** Whose beliefs. */
  readonly host: string;
  /** When the line of its journal was written: the last one at or before the instant. */
  readonly at: string;
  /** Number of the line in the published journal; null for one of this host's fine journal. */
  readonly n: number | null;
  readonly heads: Readonly<Record<string, { readonly seq: number; readonly link: string }>>;
  readonly trust: string;
  readonly rules: number;
  /** Of these heads, folded here and now. */
  readonly root: string;
  /** It is the root that the host signed. */
  readonly verified: boolean;
  /** Why it is not, where that is known. */
  readonly why?: string;
  readonly counts: Readonly<Record<string, number>>;
}

/** What was believed in a record: its status, its flags, and the claim that was served. */
export interface BelievedJson {
  readonly status: string;
  readonly flags: readonly string[];
  readonly claim?: ClaimJson;
}

/** A record that changed between two instants. null: there was none. `by`: the event, or the trust op, that did it. */
export interface DiffJson {
  readonly subject: string;
  readonly scope: string;
  readonly before: BelievedJson | null;
  readonly after: BelievedJson | null;
  readonly by: string | null;
}

export interface ShowEventJson {
  readonly event: unknown;
  readonly id: string;
  readonly status: string;
  readonly reason?: string;
  readonly level: string;
  readonly supersededBy: readonly string[];
  /** Why its body is gone; `event` is null then. */
  readonly purged?: PurgedJson;
  readonly lines: readonly {
    readonly log: string;
    readonly seq: number;
    /** `valid`: the verdict is ok. `signerStatus`: of the signer now; whether the approval stands, the level says. */
    readonly auth?: {
      readonly signer: string;
      readonly valid: boolean;
      readonly verdict: string;
      readonly signerStatus: string;
    };
  }[];
}

export interface ShowOpJson {
  readonly op: unknown;
  readonly id: string;
  readonly status: string;
  readonly auth: { readonly signer: string; readonly key: string; readonly valid: boolean };
}
