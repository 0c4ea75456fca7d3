/**
 * Shapes of the local API: parameters and results of every method. Results are what `--json` prints (docs: CLI contract).
 * What is asked about events, signing, purges and the charter have theirs in `answer-json.ts`, `sign-json.ts`,
 * `purge-json.ts` and `charter-json.ts`.
 */
import type { BodyInput } from '../../core/event.ts';
import type { ClaimJson } from '../../core/views/claim-json.ts';
import type {
  BlamedJson,
  DiffJson,
  ParkJson,
  RecallJson,
  ReplayJson,
  SearchJson,
  ShowEventJson,
  ShowOpJson,
  WhyJson,
} from './answer-json.ts';
import type { SignDraftJson, SignedJson, SignRequest } from './sign-json.ts';
import type { ApprovalsJson, CharterJson, PlaceJson, PreviewJson } from './charter-json.ts';
import type { ListedPurgeJson, PurgeLimitsJson, PurgePlanJson } from './purge-json.ts';
import type { DraftOp } from '../trust/trust-keeper.ts';

export type * from './answer-json.ts';
export type * from './charter-json.ts';
export type * from './purge-json.ts';
export type { ClaimJson } from '../../core/views/claim-json.ts';

export interface AppendedJson {
  readonly id: string;
  readonly host: string;
  readonly seq: number;
  readonly supersedes: readonly string[];
  /** Ids of live claims that now stand against it on its subject. */
  readonly contradicts: readonly string[];
  /** Peers that are known to hold it. */
  readonly replicated: number;
  /** Hosts of the mesh besides this one. */
  readonly peers: number;
}

/** What a signer is to decide on for a host that gets new keys. */
export interface RecoverJson {
  readonly host: string;
  /** For `memctl host rekey` on an enrolled host. */
  readonly line: string;
  readonly fingerprint: string;
  readonly sign: string;
  readonly ssh: string;
  /** The last line that everybody can use: what the new keys go on from, unless another place is named. */
  readonly pin: PlaceJson;
  /** Seq of two lines that this host signed; null when none is known. */
  readonly fork: number | null;
  /** Lines of its log that are held here, usable or not. */
  readonly held: number;
  /** Branches of its log that are kept beside it: first seq and link, lines. */
  readonly branches: readonly { readonly from: number; readonly link: string; readonly lines: number }[];
  /** Events that stand on such branches only. */
  readonly unsaid: number;
}

export interface PeerJson {
  readonly host: string;
  readonly address: string;
  readonly state: 'up' | 'down' | 'refused' | 'unknown';
  readonly lastContact: string | null;
  readonly lastNewEvent: string | null;
  /** Lines that it was last seen to hold and this host lacks; and the other way round. */
  readonly behind: number;
  readonly ahead: number;
  /** It answers and has had nothing new for longer than config.toml says: days. */
  readonly quietDays?: number;
  readonly reason?: string;
}

export interface AlarmJson {
  readonly kind: string;
  readonly detail: string;
  readonly subject?: string;
  readonly host?: string;
}

export interface StatusJson {
  readonly mesh: string;
  readonly host: string;
  readonly daemon: boolean;
  readonly root: string;
  readonly rules: number;
  readonly trust: string;
  readonly heads: Readonly<Record<string, { readonly seq: number; readonly link: string }>>;
  readonly counts: Readonly<Record<string, number>>;
  readonly peers: readonly PeerJson[];
  /**
   * The newest line of this host's own log, and how many peers are known to hold it; null for an empty log. `since`: when the
   * first line was said that none of them is known to hold.
   */
  readonly replicated: {
    readonly seq: number;
    readonly peers: number;
    readonly of: number;
    readonly since?: string;
  } | null;
  readonly alarms: readonly AlarmJson[];
  readonly warnings: readonly string[];
  readonly maintenance: MaintenanceJson;
  readonly line: string;
}

export interface VerifyJson {
  readonly ok: boolean;
  readonly deep: boolean;
  readonly logs: Readonly<Record<string, { readonly lines: number; readonly link: string }>>;
  readonly root: string;
  readonly problems: readonly string[];
}

/** When the repository was last looked at, packed, and its packs merged. */
export interface MaintenanceJson {
  readonly lookedAt: string | null;
  readonly packedAt: string | null;
  readonly mergedAt: string | null;
}

/** What a run of maintenance did. */
export interface MaintainedJson {
  readonly packed: boolean;
  readonly merged: boolean;
  readonly loose: { readonly before: number; readonly after: number };
  readonly packs: { readonly before: number; readonly after: number };
  readonly seconds: number;
}

/** One thing that doctor looked at. */
export interface CheckJson {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  /** What to do about it. */
  readonly fix?: string;
}

export interface DoctorJson {
  readonly ok: boolean;
  readonly checks: readonly CheckJson[];
  readonly notChecked: readonly string[];
  /** With --repair: what is as it should be again. */
  readonly repaired?: readonly RepairedJson[];
  /** With --repair: what a person must do. */
  readonly left?: readonly LeftJson[];
  /** With --repair: the folder that holds what was moved aside; null when nothing was. */
  readonly aside?: string | null;
}

export interface RepairedJson {
  readonly what: string;
  readonly detail: string;
}

export interface LeftJson extends RepairedJson {
  readonly fix: string;
}

/** What `export` wrote. */
export interface ExportedJson {
  readonly dir: string;
  readonly mesh: string;
  readonly root: string;
  readonly heads: Readonly<Record<string, { readonly seq: number; readonly link: string }>>;
  readonly files: number;
  /** Logs that could not be read or verified to their end; what could be read of them is exported. */
  readonly problems: readonly string[];
}

/** What `import` took from an export. */
export interface RestoredJson {
  readonly kind: 'export';
  /** Lines that this home lacked, and lines that it held already. */
  readonly new: number;
  readonly unchanged: number;
  readonly trust: { readonly new: number; readonly unchanged: number };
  /** `mended`: the copy here was damaged, and is whole again. */
  readonly logs: Readonly<
    Record<string, { readonly new: number; readonly unchanged: number; readonly mended: boolean }>
  >;
  /** What was not taken, and what is not as it was exported. */
  readonly skipped: readonly { readonly what: string; readonly why: string }[];
  readonly mesh: string;
  readonly host: string;
  readonly root: string;
  /** `archive`: the charter does not know this home's keys, so that it reads and appends nothing. */
  readonly standing: 'host' | 'archive';
  /** Of an archive under a name that the mesh does not know: the line that enrols it. */
  readonly request?: string;
}

export interface FetchedJson {
  readonly peer: string;
  readonly state: string;
  readonly new: number;
  readonly reason?: string;
}

export interface SkippedJson {
  readonly what: string;
  readonly why: string;
}

export interface ImportedJson {
  readonly kind: string;
  readonly new: number;
  readonly unchanged: number;
  readonly skipped: readonly SkippedJson[];
}

export interface SessionStartJson {
  readonly text: string;
  /** Its first line. */
  readonly line: string;
  /** sha256 of the text. */
  readonly view: string;
  readonly scope: string | null;
  readonly audience: string;
}

/** Every method of the local API: what it takes and what it answers. */
export interface ApiMethods {
  append: {
    params: {
      events: readonly BodyInput[];
      session?: string;
      /** Names this request: made again, it is answered with the events of the first time. */
      once?: string;
      /** Also when no peer can say what it holds of the own log. */
      offline?: boolean;
      /** Answer when so many peers hold it, or when the time is over. */
      sync?: { readonly peers: number | 'all'; readonly timeoutMs: number };
    };
    /** `confirmed` with `sync` only: whether enough peers hold it. It is committed here either way. */
    result: { results: readonly AppendedJson[]; confirmed?: boolean };
  };
  recall: { params: { subject: string; scope?: string }; result: RecallJson };
  log: { params: { of?: string; limit?: number }; result: { claims: readonly ClaimJson[] } };
  search: { params: { words: string; scope?: string; limit?: number }; result: SearchJson };
  why: { params: { topic: string; scope?: string; limit?: number }; result: WhyJson };
  blame: { params: { subject: string }; result: { claims: readonly BlamedJson[] } };
  show: { params: { id: string }; result: ShowEventJson | ShowOpJson };
  /** The approvals of an event or op, to be verified elsewhere. */
  approvals: { params: { id: string }; result: ApprovalsJson };
  /** The place of a line, or of the last usable line, of a log. */
  place: { params: { host: string; seq?: number }; result: PlaceJson };
  parks: { params: Record<string, never>; result: { parks: readonly ParkJson[] } };
  status: { params: Record<string, never>; result: StatusJson };
  /** `path`: null while the files cannot be written. */
  index: { params: { audience?: string }; result: { path: string | null; markdown: string; json: string } };
  /** What a host believed at an instant: `at` is an ISO time of UTC. */
  replay: {
    params: { at: string; host?: string; subject?: string; scope?: string; index?: boolean; audience?: string };
    result: ReplayJson & {
      readonly recall?: RecallJson;
      readonly index?: { readonly markdown: string; readonly json: string };
    };
  };
  diff: {
    params: { from: string; to: string; host?: string };
    result: { from: ReplayJson; to: ReplayJson; changes: readonly DiffJson[] };
  };
  charter: { params: Record<string, never>; result: CharterJson };
  verify: { params: { deep?: boolean }; result: VerifyJson };
  fetch: { params: { peer?: string }; result: { peers: readonly FetchedJson[] } };
  maintain: { params: { full?: boolean | undefined }; result: MaintainedJson };
  rebuild: { params: Record<string, never>; result: { root: string; events: number; seconds: number } };
  import: {
    params: {
      kind: string;
      events: readonly BodyInput[];
      skipped: readonly SkippedJson[];
      dryRun?: boolean;
      offline?: boolean;
    };
    result: ImportedJson & { readonly subjects: readonly string[] };
  };
  /** Takes from an export, a folder that memd reads itself, what this home lacks. */
  restore: { params: { folder: string; dryRun?: boolean }; result: RestoredJson };
  /** The text that a session of an agent starts with. */
  'session.start': {
    params: {
      harness: string;
      event: string;
      source?: string;
      session?: string;
      agent?: string;
      cwd?: string;
      audience?: string;
    };
    result: SessionStartJson;
  };
  /** A note about what changed of what a session was told; '' when nothing did. */
  'session.prompt': { params: { harness: string; session: string }; result: { text: string } };
  /** Sends a test message by one notifier, or by all. */
  'notify.test': {
    params: { name?: string };
    result: {
      results: readonly {
        readonly notifier: string;
        readonly kind: string;
        readonly ok: boolean;
        readonly reason?: string;
      }[];
    };
  };
  'trust.draft': {
    params: { op: DraftOp; args: Readonly<Record<string, unknown>>; key: string };
    result: { body: string };
  };
  /** What an op with this drafted body would make fall. */
  'trust.preview': { params: { body: string }; result: PreviewJson };
  /** Has this host sign with another key from now on, if `old` is the signer that it signed as. */
  'signer.remember': { params: { old: string; name: string; key: string }; result: { changed: boolean } };
  'sign.draft': { params: SignRequest; result: SignDraftJson };
  /** `key`: fingerprint of the key that signed; without it every signer is tried. */
  'sign.submit': { params: { body: string; sshsig: string; key?: string; offline?: boolean }; result: SignedJson };
  /** What a purge of these events would take away; `key`: fingerprint of the signer that is to approve it. */
  'purge.plan': { params: { ids: readonly string[]; reason: string; key?: string }; result: PurgePlanJson };
  'recover.prepare': { params: Record<string, never>; result: RecoverJson };
  'recover.unsaid': { params: Record<string, never>; result: { unsaid: number } };
  'recover.say': { params: Record<string, never>; result: { results: readonly AppendedJson[] } };
  'purge.list': {
    params: Record<string, never>;
    result: { purges: readonly ListedPurgeJson[]; limits: PurgeLimitsJson };
  };
  'trust.submit': { params: { body: string; sshsig: string }; result: { id: string } };
}

export type Method = keyof ApiMethods;
export type Params<M extends Method> = ApiMethods[M]['params'];
export type Answer<M extends Method> = ApiMethods[M]['result'];
