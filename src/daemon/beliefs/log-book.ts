/** Where every log stands: tip, commit, links. And the logs read from the repository, verified (R0). */
import { extendLog, type LogExtension, type PurgedIds, type VerifiedLine } from '../../core/log.ts';
import { emptyLinks, type LinkList } from '../../core/link-list.ts';
import type { Charter, CharterHost } from '../../core/trust/charter.ts';
import { holdingKeys, usableUpto, type Usable } from '../../core/trust/usable.ts';
import { assert } from '../../crypto/result.ts';
import { counted } from '../counted.ts';
import type { LogTip } from '../../mesh/node.ts';
import { isDamage, type OperatingError } from '../../store/errors.ts';
import { logRef, readRef } from '../../store/git/refs.ts';
import type { Repository } from '../../store/git/repository.ts';
import { streamLog } from '../../store/logs/log-store.ts';

/** A log whose tail is not usable: the first bad line and why. Local fact, never an input of the fold. */
export interface LogCut {
  readonly log: string;
  readonly seq: number;
  readonly code: string;
  readonly detail: string;
  /** Lines in the repository, usable or not. */
  readonly held: number;
}

export interface LogBook {
  /** Last verified line of a log that is held, and the commit that holds it; undefined when there is none. */
  readonly tip: (log: string) => LogTip | undefined;
  /** Last line of a log that the charter lets anybody use: what the fold, the views and the database have. */
  readonly head: (log: string) => LogTip | undefined;
  /** Link of a verified line, usable or not. */
  readonly linkAt: (log: string, seq: number) => string | undefined;
  /** Commit of every log. */
  readonly oids: () => Readonly<Record<string, string>>;
  readonly logs: () => readonly string[];
  readonly cuts: () => readonly LogCut[];
  readonly cutOf: (log: string) => LogCut | undefined;
  /** Logs whose files held, when they were read, bodies that a purge names. */
  readonly covered: () => readonly string[];
  /**
   * Notes lines that are durable and verified, and the commit that holds them and every line before. They follow what the
   * book has: without any line, another commit of the same lines.
   */
  readonly extend: (log: string, lines: readonly VerifiedLine[], oid: string) => void;
  /** Notes how many of the lines of a log may be used. */
  readonly bound: (log: string, upto: number) => void;
  /** Notes where a log of the repository is cut. */
  readonly cut: (cut: LogCut) => void;
  /** Notes that the files of a log hold bodies that a purge names. */
  readonly cover: (log: string) => void;
  /** Notes that a log is whole again. */
  readonly uncut: (log: string) => void;
  /** Everything that another book says, in place of what this one said: readers see the one or the other, never half. */
  readonly become: (other: LogBook) => void;
  readonly entries: () => ReadonlyMap<string, LogEntry>;
}

/** One log of a book. */
interface LogEntry {
  /** Link of line 1, 2, 3… */
  readonly links: LinkList;
  /** How many of them may be used. */
  usable: number;
  oid: string;
  cut: LogCut | undefined;
  covered?: true;
}

export function createLogBook(): LogBook {
  let entries = new Map<string, LogEntry>();
  const entryOf = (log: string): LogEntry => {
    const entry = entries.get(log) ?? { links: emptyLinks(), usable: 0, oid: '', cut: undefined };
    entries.set(log, entry);
    return entry;
  };
  const lineAt = (entry: LogEntry | undefined, seq: number): LogTip | undefined => {
    const link = entry?.links.at(seq);
    return entry === undefined || link === undefined ? undefined : { oid: entry.oid, seq, link };
  };
  return {
    tip: (log) => lineAt(entries.get(log), entries.get(log)?.links.length() ?? 0),
    head: (log) => lineAt(entries.get(log), entries.get(log)?.usable ?? 0),
    linkAt: (log, seq) => entries.get(log)?.links.at(seq),
    oids: () => Object.fromEntries([...entries].map(([log, { oid }]) => [log, oid])),
    logs: () => [...entries.keys()].toSorted((a, b) => (a < b ? -1 : 1)),
    cuts: () => [...entries.values()].flatMap(({ cut }) => cut ?? []),
    cutOf: (log) => entries.get(log)?.cut,
    covered: () => [...entries].flatMap(([log, { covered }]) => (covered === true ? [log] : [])),
    extend(log, lines, oid) {
      const entry = entryOf(log);
      const [first] = lines;
      assert(first === undefined || first.seq === entry.links.length() + 1, 'a book is extended by what follows');
      // One that was bounded before stays so: whoever extends it bounds it anew.
      const whole = entry.usable === entry.links.length();
      for (const line of lines) entry.links.push(line.link);
      if (whole) entry.usable = entry.links.length();
      entry.oid = oid;
    },
    bound: (log, upto) => void (entryOf(log).usable = upto),
    cover: (log) => void (entryOf(log).covered = true),
    cut: (cut) => void (entryOf(cut.log).cut = cut),
    uncut: (log) => void (entryOf(log).cut = undefined),
    become: (other) => void (entries = new Map(other.entries())),
    entries: () => entries,
  };
}

/** One log as it stands in the repository, after verification. */
export interface ReadLog {
  /** Commit of the branch; '' when the branch itself is damaged. */
  readonly oid: string;
  /** Lines that could be read, usable or not. */
  readonly held: number;
  readonly extension: LogExtension;
  /** How much of it the charter lets this host use (T3, T4). */
  readonly bounds: Usable;
  /** Why reading stopped before the end: a damaged or missing object. */
  readonly damage: OperatingError | undefined;
}

/**
 * Reads and verifies the log of a host of the charter. Damage ends it where it is: what stands before is still usable.
 * @returns undefined when the repository has no such log. Throws OperatingError where it could not be read for another
 * reason (`isDamage`): then nothing is known of it.
 */
export async function readVerifiedLog(
  repository: Repository,
  host: CharterHost,
  options: { readonly meshId: string; readonly purged: PurgedIds; readonly tellVouched?: boolean },
): Promise<ReadLog | undefined> {
  const lines: (string | Uint8Array)[] = [];
  let oid = '';
  let damage: OperatingError | undefined;
  try {
    const branch = readRef(repository, logRef(host.name));
    if (branch === null) return undefined;
    oid = branch;
    for await (const part of streamLog(repository, host.name, oid)) for (const line of part) lines.push(line);
  } catch (error) {
    if (!isDamage(error)) throw error;
    damage = error;
  }
  const { meshId, purged, tellVouched = false } = options;
  const from = { seq: 0, link: meshId };
  const start = { host: host.name, mesh: meshId, from, keys: holdingKeys(host), purged, tellVouched };
  const extension = extendLog(start, lines);
  const { lines: verified, tip } = extension;
  const bounds = usableUpto(host, (seq) => verified[seq - 1]?.link, tip.seq);
  return { oid, held: lines.length, extension, bounds, damage };
}

/** The lines of a log that was read which may be used. */
export function usableLines({ extension, bounds }: ReadLog): readonly VerifiedLine[] {
  const { lines } = extension;
  return bounds.upto === lines.length ? lines : lines.slice(0, bounds.upto);
}

/** The cut of a log that has another line than a pin of the charter says. */
export function wrongBranch(
  log: string,
  { code, upto, held }: { readonly code: string; readonly upto: number; readonly held: number },
): LogCut {
  const detail = `behind line ${upto} this copy is another branch than the one that a signer pinned`;
  return { log, seq: upto + 1, code, detail, held };
}

/** The cut of a log that was read, if it has one. */
export function cutOf(log: string, read: ReadLog): LogCut | undefined {
  const { bounds, extension, damage, held } = read;
  const { fault } = extension;
  // Good lines may stand behind damage, whatever the last line before it is.
  const isTold = fault !== undefined && (damage === undefined || mayHoldMore(fault));
  if (isTold) return { log, seq: fault.seq, code: fault.code, detail: fault.detail, held };
  if (damage !== undefined) return { log, seq: held + 1, code: damage.code, detail: damage.message, held };
  return bounds.fault === undefined ? undefined : wrongBranch(log, { code: bounds.fault, upto: bounds.upto, held });
}

/**
 * True where good lines may stand behind a cut: what could not be read, or not be understood. Behind the last line that a key
 * of the host signed there are none.
 */
export function mayHoldMore({ code }: Pick<LogCut, 'code'>): boolean {
  return code !== 'SIGNATURE' && code !== 'KEY_SPAN';
}

/** A sentence about lines whose own signature does not verify: usable, since a later line covers them, and no host makes them. */
export function vouchedOnly(log: string, seqs: readonly number[]): string {
  const more = seqs.length === 1 ? '' : `; ${counted(seqs.length, 'such line')}`;
  return `log ${log} line ${seqs[0]}: the host signature does not verify, only a later line vouches for it${more}`;
}

/** Reads every log of the charter into the book, one after the other; hands the usable lines of each to `take`. */
export async function loadLogs(
  options: {
    readonly repository: Repository;
    readonly charter: Charter;
    readonly book: LogBook;
    readonly progress: (text: string) => void;
  },
  take: (lines: readonly VerifiedLine[]) => void,
): Promise<void> {
  const { repository, charter, book, progress } = options;
  for (const host of charter.hosts.values()) {
    progress(`reading log ${host.name}`);
    const read = await readVerifiedLog(repository, host, { meshId: charter.meshId, purged: charter.purges });
    if (read === undefined) continue;
    const cut = cutOf(host.name, read);
    if (cut !== undefined) book.cut(cut);
    if (read.extension.covered !== undefined) book.cover(host.name);
    book.extend(host.name, read.extension.lines, read.oid);
    book.bound(host.name, read.bounds.upto);
    take(usableLines(read));
  }
}
