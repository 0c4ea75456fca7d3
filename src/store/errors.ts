/**
 * Operating failures: git, ssh, disk, the local database. Error kind 2 of the house style: one typed error, thrown,
 * handled in the daemon loop or at the top of a command. Bad remote data is never one of these (it is a `Result`).
 */

/** Whether trying the same thing again can help: at once, after a while or a repair elsewhere, or not at all. */
export type Retry = 'now' | 'later' | 'never';

/** Closed list of the codes. Stable: scripts and docs/errors.md name them, and a test compares that list with this one. */
export type OperatingCode =
  | 'HOME_UNKNOWN'
  | 'HOME_NOT_ABSOLUTE'
  | 'HOME_MISSING'
  | 'HOME_UNSAFE'
  | 'HOME_PATH_TOO_LONG'
  | 'HOME_LOCKED'
  | 'HOME_LOCK_DAMAGED'
  | 'KEY_MISSING'
  | 'KEY_UNSAFE'
  | 'KEY_DAMAGED'
  | 'PROGRAM_MISSING'
  | 'PROGRAM_TOO_OLD'
  | 'CHILD_FAILED'
  | 'CHILD_TIMEOUT'
  | 'CHILD_OUTPUT'
  | 'REPOSITORY_MISSING'
  | 'REPOSITORY_OWNER'
  | 'OBJECT_MISSING'
  | 'OBJECT_DAMAGED'
  | 'REF_DAMAGED'
  | 'REF_LOCKED'
  | 'REF_CHANGED'
  | 'BRANCH_DAMAGED'
  | 'BRANCH_REWOUND'
  | 'LOG_FULL'
  | 'WRITER_BROKEN'
  | 'IMPORT_UNREADABLE'
  | 'LISTEN_FAILED'
  | 'DISK_FAILED'
  | 'DISK_FULL'
  | 'DISK_READ_ONLY'
  | 'FILE_UNSAFE'
  | 'DATABASE_FAILED'
  | 'DATABASE_DAMAGED';

/** The default retry of every code. Other layers add their codes to the type and here, so that there is one list. */
export const operatingCodes: Readonly<Record<OperatingCode, Retry>> = {
  // Home folder
  HOME_UNKNOWN: 'never',
  HOME_NOT_ABSOLUTE: 'never',
  HOME_MISSING: 'never',
  HOME_UNSAFE: 'never',
  HOME_PATH_TOO_LONG: 'never',
  HOME_LOCKED: 'later',
  HOME_LOCK_DAMAGED: 'never',
  // Key files
  KEY_MISSING: 'never',
  KEY_UNSAFE: 'never',
  KEY_DAMAGED: 'never',
  // Child processes
  PROGRAM_MISSING: 'never',
  PROGRAM_TOO_OLD: 'never',
  CHILD_FAILED: 'later',
  CHILD_TIMEOUT: 'later',
  CHILD_OUTPUT: 'never',
  // Repository
  REPOSITORY_MISSING: 'never',
  REPOSITORY_OWNER: 'never',
  OBJECT_MISSING: 'never',
  OBJECT_DAMAGED: 'never',
  REF_DAMAGED: 'never',
  REF_LOCKED: 'later',
  REF_CHANGED: 'now',
  BRANCH_DAMAGED: 'never',
  BRANCH_REWOUND: 'never',
  LOG_FULL: 'never',
  WRITER_BROKEN: 'now',
  // Import
  IMPORT_UNREADABLE: 'never',
  // ssh server
  LISTEN_FAILED: 'later',
  // Disk and derived files
  DISK_FAILED: 'later',
  DISK_FULL: 'later',
  DISK_READ_ONLY: 'later',
  FILE_UNSAFE: 'never',
  DATABASE_FAILED: 'later',
  DATABASE_DAMAGED: 'now',
};

/** The next step when the repository is damaged. */
export const restoreHint =
  'memctl verify --deep names all that is damaged; stop memd, then memctl doctor --repair restores it from what is left here and from peers';

/** The next step when a disk is full: nothing else is needed, memd goes on by itself. */
export const diskFullHint = 'free some space on that file system, then try again';

/** What an `OperatingError` is made of. */
export interface OperatingErrorOptions {
  /** The next command or action, one line, for a person. */
  readonly hint?: string;
  /** Overrides the default retry of the code. */
  readonly retry?: Retry;
  readonly cause?: unknown;
}

/** The one error type of git, ssh, disk and database failures. The message names the thing and the reason. */
export class OperatingError extends Error {
  readonly code: OperatingCode;
  readonly retry: Retry;
  readonly hint: string;

  constructor(code: OperatingCode, message: string, options: OperatingErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'OperatingError';
    this.code = code;
    this.retry = options.retry ?? operatingCodes[code];
    this.hint = options.hint ?? '';
  }
}

/** True for an `OperatingError`, with this code when one is given. */
export function isOperatingError(error: unknown, code?: OperatingCode): error is OperatingError {
  return error instanceof OperatingError && (code === undefined || error.code === code);
}

const damageCodes: ReadonlySet<OperatingCode> = new Set([
  'OBJECT_MISSING',
  'OBJECT_DAMAGED',
  'REF_DAMAGED',
  'BRANCH_DAMAGED',
]);
/**
 * A disk that cannot give back what it took, a file system whose structure is broken, a folder in the place of a file or the
 * reverse, a file of somebody else.
 */
const damageSystemCodes: ReadonlySet<string> = new Set([
  'EIO',
  'EBADMSG',
  'EUCLEAN',
  'EISDIR',
  'ENOTDIR',
  'ELOOP',
  'EACCES',
  'EPERM',
]);

/**
 * True when what is stored is itself wrong: whoever reads it again finds the same. Any other failure to read says nothing
 * about it (a child that was killed or took too long, no free descriptors), and must never let it count as less than it is.
 */
export function isDamage(error: unknown): error is OperatingError {
  if (!isOperatingError(error)) return false;
  return damageCodes.has(error.code) || damageSystemCodes.has(systemCode(error.cause));
}

/** Errors of Linux that have no name in Node: no room in a quota, a checksum or a structure of the file system that is wrong. */
const unnamed: ReadonlyMap<string, string> = new Map([
  ['Unknown system error -122', 'EDQUOT'],
  ['Unknown system error -74', 'EBADMSG'],
  ['Unknown system error -117', 'EUCLEAN'],
]);

/** The system's error code (`ENOENT`…) of a thrown value, or ''. */
export function systemCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
  return (process.platform === 'linux' && unnamed.get(code)) || code;
}

/** True while the disk takes nothing, and is sound otherwise: no room, or read-only. It goes on by itself afterwards. */
export function isDiskShut(
  error: unknown,
): error is OperatingError & { readonly code: 'DISK_FULL' | 'DISK_READ_ONLY' } {
  return isOperatingError(error, 'DISK_FULL') || isOperatingError(error, 'DISK_READ_ONLY');
}

/** The next step on a disk that takes no writes. */
export const readOnlyHint =
  'what is known can be read; have the file system mounted for writing again: findmnt -T DIR names it, dmesg often says why';

const fullCodes = new Set(['ENOSPC', 'EDQUOT']);

/**
 * Turns a thrown disk error into `DISK_FULL`, `DISK_READ_ONLY` or `DISK_FAILED`, naming the path; an `OperatingError` stays
 * what it is.
 */
export function diskError(error: unknown, doing: string, path: string): OperatingError {
  if (error instanceof OperatingError) return error;
  const code = systemCode(error);
  const reason = code === '' ? String(error) : code;
  const failed = (kind: OperatingCode, hint: string): OperatingError =>
    new OperatingError(kind, `cannot ${doing} ${path}: ${reason}`, { cause: error, hint });
  if (fullCodes.has(code)) return failed('DISK_FULL', diskFullHint);
  if (code === 'EROFS') return failed('DISK_READ_ONLY', readOnlyHint);
  if (code === 'EACCES' || code === 'EPERM')
    return failed('DISK_FAILED', `memctl doctor names every file that belongs to somebody else; else look at ${path}`);
  return failed('DISK_FAILED', `look at ${path} and its permissions`);
}

const unprintable =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]+/gu;

/**
 * Makes text from another program or host safe for a terminal or log: control characters (C0, DEL, C1), bidirectional
 * controls, line separators and invisible characters (zero width, tags) become a space; longer text is cut. A peer must
 * not be able to write escape sequences.
 */
export function printable(text: string, charactersMax = 300): string {
  const clean = text.replace(unprintable, ' ').trim();
  if (clean.length <= charactersMax) return clean;
  // Never half of a character beyond the basic plane.
  return `${clean.slice(0, charactersMax).replace(/[\ud800-\udbff]$/, '')}…`;
}
