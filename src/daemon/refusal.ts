/**
 * Exit codes of the CLI contract. 1 failed · 2 usage · 3 unresolved · 4 stale or not verifiable · 5 not confirmed in
 * time · 6 refused · 7 not found.
 */
export type ExitCode = 1 | 2 | 3 | 4 | 5 | 6 | 7;

/** Codes of what memd answers instead of doing the request. Listed in docs/errors.md with what to do. */
export type RefusalCode =
  | 'BAD_REQUEST'
  | 'UNKNOWN_METHOD'
  | 'NO_MESH'
  | 'MESH_EXISTS'
  | 'EVENT_INVALID'
  | 'CLASS_UNKNOWN'
  | 'AUDIENCE_UNKNOWN'
  | 'TOO_MANY_EVENTS'
  | 'LINE_TOO_LONG'
  | 'SECRET_FOUND'
  | 'CONFIG_INVALID'
  | 'SCOPE_INVALID'
  | 'ID_UNKNOWN'
  | 'ID_AMBIGUOUS'
  | 'SUBJECT_UNKNOWN'
  | 'HOST_UNKNOWN'
  | 'PEER_UNKNOWN'
  | 'OP_REFUSED'
  | 'SIGNER_UNKNOWN'
  | 'NOT_ENROLLED'
  | 'JOIN_REFUSED'
  | 'SIGN_FAILED'
  | 'NOT_SIGNED'
  | 'ROTATE_HALF_DONE'
  | 'SIGNER_SCOPE'
  | 'SERVED_CLAIM'
  | 'NOTHING_TO_SIGN'
  | 'APPROVAL_REFUSED'
  | 'PURGE_REFUSED'
  | 'EVENT_PURGED'
  | 'NO_TERMINAL'
  | 'INPUT_UNREADABLE'
  | 'BACKUP_FOREIGN'
  | 'BACKUP_UNUSABLE'
  | 'FOLDER_IN_USE'
  | 'FILE_IN_USE'
  | 'SERVICE_CONFLICT'
  | 'SERVICE_UNSUPPORTED'
  | 'HOME_UNREADABLE'
  | 'OWN_LOG_DAMAGED'
  | 'OWN_LOG_BEHIND'
  | 'HOST_REVOKED'
  | 'REPLAY_NONE'
  | 'REPLAY_BEFORE'
  | 'REPLAY_TRUST'
  | 'REPLAY_BEHIND'
  | 'REPLAY_BRANCH'
  | 'REPLAY_FORGED'
  | 'HOST_FORKED'
  | 'KEYS_REPLACED'
  | 'MACHINE_CHANGED'
  | 'PEERS_UNREACHABLE'
  | 'SERVE_REFUSED'
  | 'STOPPING'
  | 'ONCE_USED'
  | 'TOO_FEW_PEERS'
  | 'NOT_REPLICATED'
  | 'STOP_FAILED'
  | 'NOTIFIER_UNKNOWN';

export interface RefusalOptions {
  readonly code: RefusalCode;
  /** Names the thing and the reason; never a stack, never bytes of a peer unescaped. */
  readonly message: string;
  /** The next command or edit. */
  readonly hint?: string;
  /** Ids that it is about, for a program that goes on from there: nobody reads them out of a sentence. */
  readonly ids?: readonly string[];
  readonly exit?: ExitCode;
}

/** A request that memd understood and will not do, or cannot understand. Nothing was changed. */
export class Refusal extends Error {
  readonly code: RefusalCode;
  readonly hint: string | undefined;
  readonly ids: readonly string[] | undefined;
  readonly exit: ExitCode;

  constructor(options: RefusalOptions) {
    super(options.message);
    this.name = 'Refusal';
    this.code = options.code;
    this.hint = options.hint;
    this.ids = options.ids;
    this.exit = options.exit ?? 1;
  }
}
