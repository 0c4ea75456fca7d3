/**
 * `last-heads.json`: what every branch held when this host last looked. A branch that says less has been rewound, lost
 * or damaged, and must not be written to: a log that starts again from nothing is a fork of itself.
 */

import fs from 'node:fs';
import { parsePlainJson } from '../../crypto/plain-json.ts';
import { assert } from '../../crypto/result.ts';
import { realDisk, replaceFile, type Disk } from '../disk.ts';
import { diskError, OperatingError, restoreHint, systemCode } from '../errors.ts';
import type { Home } from '../home/home.ts';

/** The last line of a log that was held, and its commit. */
export interface LastHead {
  readonly oid: string;
  readonly seq: number;
  readonly link: string;
  /** Base64 of the key that its host had for that line; absent from an older file. */
  readonly key?: string;
}

/** What the file says. */
export interface LastHeads {
  /** By host. */
  readonly logs: Readonly<Record<string, LastHead>>;
  /** Commit of branch `trust` and number of ops in it; null before the first. */
  readonly trust: { readonly oid: string; readonly ops: number } | null;
  /** Newest line of this host's view journal; absent before the first, and from an older file. */
  readonly view?: LastView;
  /** A person gave up the lines that this host once had up to here: what its journals say of them counts no more. */
  readonly givenUp?: number;
}

/** A line of a view journal: its number and hash. */
export interface LastView {
  readonly n: number;
  readonly hash: string;
}

/** A log as it is now. `oid`: null without a branch, '' when its file is damaged. `linkAt`: the link of a line that is held. */
export interface CurrentLog {
  readonly oid: string | null;
  readonly lines: number;
  linkAt(seq: number): string | undefined;
}

/** In the place of a commit that nobody knows: no commit has this id. */
export const unknownCommit: string = '0'.repeat(40);

/** What a repair writes in the place of a line that may be lost: no line has this link. */
export const unknownLink: string = '0'.repeat(64);

const nothing: LastHeads = { logs: {}, trust: null };

/**
 * Reads the file. `state` says whether it could be used: an absent or unreadable one (a power cut can leave it empty) is
 * no proof of anything, so it does not block writing, but a caller should say so.
 */
export function readLastHeads(home: Home): {
  readonly heads: LastHeads;
  readonly state: 'read' | 'missing' | 'damaged';
} {
  let text: string;
  try {
    text = fs.readFileSync(home.lastHeads, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return { heads: nothing, state: 'missing' };
    throw diskError(error, 'read', home.lastHeads);
  }
  const heads = parseLastHeads(text);
  return heads === undefined ? { heads: nothing, state: 'damaged' } : { heads, state: 'read' };
}

function parseLastHeads(text: string): LastHeads | undefined {
  const read = parsePlainJson(text);
  const value = read.ok ? read.value : undefined;
  if (!isRecord(value) || value['v'] !== 1 || !isRecord(value['logs'])) return undefined;
  const logs: Record<string, LastHead> = {};
  for (const [host, entry] of Object.entries(value['logs'])) {
    if (!/^[a-z][a-z0-9-]{0,30}$/.test(host) || !isRecord(entry)) return undefined;
    const { oid, seq, link, key } = entry;
    if (typeof oid !== 'string' || !Number.isSafeInteger(seq) || typeof link !== 'string') return undefined;
    if (key !== undefined && typeof key !== 'string') return undefined;
    logs[host] = { oid, seq: seq as number, link, ...(key === undefined ? {} : { key }) };
  }
  const { trust, view, givenUp } = value;
  if (view !== undefined && !isView(view)) return undefined;
  if (givenUp !== undefined && !isCount(givenUp)) return undefined;
  const seen = { ...(view === undefined ? {} : { view }), ...(givenUp === undefined ? {} : { givenUp }) };
  if (trust === null) return { logs, trust, ...seen };
  if (!isRecord(trust) || typeof trust['oid'] !== 'string' || !Number.isSafeInteger(trust['ops'])) return undefined;
  return { logs, trust: { oid: trust['oid'], ops: trust['ops'] as number }, ...seen };
}

function isView(value: unknown): value is LastView {
  return isRecord(value) && Number.isSafeInteger(value['n']) && typeof value['hash'] === 'string';
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Where a file that could not be read is kept, until a person removes it. */
export function damagedLastHeads(home: Home): string {
  return `${home.lastHeads}.damaged`;
}

/** Moves a file that cannot be read aside; an earlier one makes place. Errors: `DISK_FAILED`. */
export function setAsideLastHeads(home: Home): void {
  try {
    fs.renameSync(home.lastHeads, damagedLastHeads(home));
  } catch (error) {
    throw diskError(error, 'move', home.lastHeads);
  }
}

/**
 * Replaces the file atomically, durable on return. Not part of an acknowledgement: an older file is a weaker check, never
 * a wrong one, so a caller may write it once a second. Errors: `DISK_FAILED`, `DISK_FULL`.
 */
export async function writeLastHeads(home: Home, heads: LastHeads, disk: Disk = realDisk): Promise<void> {
  const { logs, trust, view, givenUp } = heads;
  const text = `${JSON.stringify({ v: 1, logs, trust, view, givenUp }, null, 1)}\n`;
  assert(parseLastHeads(text) !== undefined, 'last heads are written in the form that is read');
  await replaceFile(disk, { file: home.lastHeads, data: Buffer.from(text) });
}

/**
 * Compares a branch with what was last seen. Errors: `BRANCH_REWOUND` (gone, shorter, or with another line at that
 * place), naming both.
 */
export function checkLastHead(host: string, last: LastHead | undefined, current: CurrentLog): void {
  if (last === undefined || last.oid === current.oid) return;
  const commit = last.oid === unknownCommit ? '' : `, commit ${last.oid.slice(0, 12)}`;
  const was = `line ${last.seq} (link ${last.link.slice(0, 12)}${commit})`;
  if (current.oid === null) throw rewound(host, `the branch is gone; it was last seen at ${was}`);
  if (current.oid === '') throw rewound(host, `the branch file cannot be read; it was last seen at ${was}`);
  if (current.lines < last.seq)
    throw rewound(
      host,
      `the branch (commit ${current.oid.slice(0, 12)}) ends at line ${current.lines}; it was last seen at ${was}`,
    );
  const link = current.linkAt(last.seq);
  if (link !== last.link)
    throw rewound(
      host,
      `line ${last.seq} of the branch has link ${link?.slice(0, 12) ?? 'none'}; it was last seen as ${was}`,
    );
}

/** The same for branch `trust`: `ops` is how many it has had in all, which only grows. Errors: `BRANCH_REWOUND`. */
export function checkLastTrust(last: LastHeads['trust'], current: { oid: string | null; ops: number }): void {
  if (last === null || last.oid === current.oid || (current.oid !== null && current.ops >= last.ops)) return;
  throw new OperatingError(
    'BRANCH_REWOUND',
    `branch trust has had ${current.ops} ops; last-heads.json saw ${last.ops} (commit ${last.oid.slice(0, 12)})`,
    {
      hint: `nothing is written until it is restored: ${restoreHint}`,
    },
  );
}

/**
 * The same for this host's own view journal. It is a record, so nothing stops: peers give the missing lines back. undefined:
 * it says no less.
 */
export function viewRewound(last: LastView | undefined, now: LastView | undefined): string | undefined {
  if (last === undefined || (now !== undefined && (now.n > last.n || now.hash === last.hash))) return undefined;
  const is = now === undefined ? 'holds no line' : `ends at line ${now.n}`;
  return `the view journal of this host ${is}; it was last seen at line ${last.n} (last-heads.json)`;
}

function rewound(host: string, reason: string): OperatingError {
  return new OperatingError('BRANCH_REWOUND', `log ${host}: ${reason} (last-heads.json)`, {
    hint: `nothing is written until it is restored: ${restoreHint}`,
  });
}
