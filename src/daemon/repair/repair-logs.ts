/**
 * The branches of logs. Every line that its host signed is looked for in what may hold it: the branch, commits that no branch
 * reaches any more, peers, the plain copy. What is found is put back as it was where that can be told, and never less than the
 * branch has. A line that may have been there and is not found stops the writes of this host until a person decides.
 */
import { assert } from '../../crypto/result.ts';
import { pinCuts } from '../../core/recovery.ts';
import type { CharterHost } from '../../core/trust/charter.ts';
import { fetchDeadlineMs } from '../../core/limits.ts';
import { parseLine } from '../../core/line.ts';
import type { VerifiedLine } from '../../core/log.ts';
import { holdingKeys } from '../../core/trust/usable.ts';
import { splitLines } from '../../core/segments.ts';
import { isWhole, listCommits, tipsOf, type BranchCommit } from '../../store/git/branch-commits.ts';
import { openReader } from '../../store/git/reader.ts';
import { compareAndSwapRef, logRef } from '../../store/git/refs.ts';
import { unknownCommit, unknownLink, type LastHead } from '../../store/notes/last-heads.ts';
import { restoreCommit, writeTree, writeWholeCommit } from '../../store/logs/log-salvage.ts';
import { readLogLayout, readSegments } from '../../store/logs/log-tree.ts';
import { readPlainCopy } from '../../store/logs/plain-copies.ts';
import { isSettled } from '../beliefs/heads-keeper.ts';
import { cutOf, readVerifiedLog, type ReadLog } from '../beliefs/log-book.ts';
import { counted } from '../counted.ts';
import type { TrustState } from '../trust/trust-keeper.ts';
import type { AskedPeers } from './ask-peers.ts';
import { assembleLog, type LineList } from './assemble.ts';
import { createLinePool, type CommitLines } from './line-pool.ts';
import type { RepositoryRoom } from './room.ts';

export interface LogsToRepair {
  readonly room: RepositoryRoom;
  readonly trust: TrustState;
  /** Slug of this host. */
  readonly self: string;
  readonly peers: AskedPeers;
  /** What `last-heads.json` saw. */
  readonly last: Readonly<Record<string, LastHead>>;
}

/** A log of which lines may be lost, and at which number the first of them. */
export interface LostLines {
  readonly host: string;
  /** Commit that its branch named; '' when that is not known. */
  readonly oid: string;
  readonly from: number;
}

/** Restores every log of the charter that is not whole. @returns those of which lines may be lost. */
export async function repairLogs(logs: LogsToRepair): Promise<readonly LostLines[]> {
  const { room, trust } = logs;
  const restored: Restored[] = [];
  let commits: Promise<readonly BranchCommit[]> | undefined;
  const all = (): Promise<readonly BranchCommit[]> => (commits ??= listCommits(room.repository));
  for (const host of trust.charter.hosts.values()) {
    room.progress(`reading log ${host.name}`);
    const fault = await faultOf(logs, host);
    if (fault === undefined) continue;
    const one = await restoreLog(logs, { host, fault, tips: tipsOf(await all(), `log ${host.name}`) });
    if (one !== undefined) restored.push(one);
  }
  // Only now is it known which objects are here again.
  const allFound = !room.lostUnknown && (await areThere(room, [...room.lost]));
  const known = { allFound, allAsked: logs.peers.areAllHeard() };
  return restored.flatMap((one) => judge(room, one, known) ?? []);
}

async function areThere({ repository }: RepositoryRoom, oids: readonly string[]): Promise<boolean> {
  const reader = openReader(repository);
  try {
    return (await reader.info(oids)).every((info) => info !== null);
  } finally {
    await reader.close();
  }
}

interface LogFault {
  readonly why: string;
  /** Commit that the branch names; '' when it says nothing. */
  readonly oid: string;
  /** What the branch has, verified. */
  readonly lines: readonly VerifiedLine[];
  /** The branch could not be read to its end. */
  readonly torn: boolean;
}

/** Why a log needs repair; undefined when it does not. */
async function faultOf({ room, trust, last }: LogsToRepair, host: CharterHost): Promise<LogFault | undefined> {
  const { repository, home } = room;
  const { charter } = trust;
  const read = await readVerifiedLog(repository, host, { meshId: charter.meshId, purged: charter.purges });
  const seen = last[host.name];
  if (read === undefined) {
    const had = seen !== undefined || readPlainCopy(home, host.name).length > 0;
    return had ? { why: 'its branch is gone', oid: '', lines: [], torn: true } : undefined;
  }
  const { lines } = read.extension;
  const found = { oid: read.oid, lines, torn: read.damage !== undefined };
  const why = read.damage?.message ?? cutText(host, read, trust) ?? rewoundText(trust, host.name, { read, seen });
  if (why !== undefined) return { why, ...found };
  return (await isWhole(repository, read.oid)) ? undefined : { why: 'objects of its history are missing', ...found };
}

/** A cut that a signer made is no damage. */
function cutText(host: CharterHost, read: ReadLog, { charter }: TrustState): string | undefined {
  const cut = cutOf(host.name, read);
  if (cut === undefined || pinCuts([cut], charter.hosts).length > 0) return undefined;
  return `line ${cut.seq}: ${cut.detail} (${cut.code})`;
}

function rewoundText(
  trust: TrustState,
  host: string,
  { read, seen }: { readonly read: ReadLog; readonly seen: LastHead | undefined },
): string | undefined {
  const { lines } = read.extension;
  const linkAt = (_: string, seq: number): string | undefined => lines[seq - 1]?.link;
  if (seen === undefined || seen.oid === read.oid || linkAt(host, seen.seq) === seen.link) return undefined;
  if (isSettled(trust, host, { head: seen, held: { linkAt } })) return undefined;
  return lines.length < seen.seq
    ? `it ends at line ${lines.length}, and had line ${seen.seq}`
    : `line ${seen.seq} is another than it was`;
}

interface Restoring {
  readonly host: CharterHost;
  readonly fault: LogFault;
  readonly tips: readonly BranchCommit[];
}

interface Restored {
  readonly host: string;
  readonly fault: LogFault;
  readonly lines: readonly VerifiedLine[];
  /** Commit of the branch now; undefined for none. */
  readonly oid: string | undefined;
  readonly seen: LastHead | undefined;
}

async function restoreLog(logs: LogsToRepair, restoring: Restoring): Promise<Restored | undefined> {
  const { room, trust, last, self } = logs;
  const { host, fault } = restoring;
  const { name } = host;
  const { meshId, purges } = trust.charter;
  const sources = await gather(logs, restoring);
  const wanted = { host: name, mesh: meshId, keys: holdingKeys(host), purged: purges };
  const own = { held: new Set(fault.lines.map(({ link }) => link)), seen: last[name]?.link };
  const { lines, forkAt } = assembleLog(wanted, own, [fault.lines.map(({ text }) => text), sources.lines]);
  assert(lines.length >= fault.lines.length, 'a repair gives up no line that the branch has');
  if (forkAt !== undefined)
    room.leave(
      `log ${name}`,
      `${name} signed two lines ${forkAt}, and its branch has neither`,
      name === self ? 'memctl host recover' : 'memctl host recover there',
    );
  const texts = lines.map(({ text }) => text);
  keepRubbish(room, { host: name, meshId, all: sources.lines, lines });
  const oid = texts.length === 0 ? undefined : await commitFor(logs, restoring, { texts, sources });
  const ref = logRef(name);
  if (oid !== undefined) await compareAndSwapRef(room.repository, { ref, expected: undefined, next: oid });
  else if (name !== self) room.aside.moveAside(`${room.home.repository}/${ref}`, 'no line of it was found');
  // A host that was given new keys before it ever said anything, for one.
  if (oid === undefined && fault.oid === '' && last[name] === undefined && name !== self) return undefined;
  return { host: name, fault, lines, oid, seen: last[name] };
}

/** What is known once every log has been looked at. */
interface Known {
  /** Every object that was damaged is here again. */
  readonly allFound: boolean;
  /** There are peers, and each of them said what it holds. */
  readonly allAsked: boolean;
}

/** Tells what came of it. @returns what may be lost. */
function judge(room: RepositoryRoom, restored: Restored, known: Known): LostLines | undefined {
  const { host, fault, lines } = restored;
  const lost = isSure(restored, known) ? undefined : { host, oid: fault.oid, from: lines.length + 1 };
  const rest = lost === undefined ? '' : `; line ${lost.from} and what followed it may be lost`;
  room.done(`log ${host}`, `${fault.why}: ${counted(lines.length, 'line')} in place${rest}`);
  return lost;
}

/**
 * Whether nothing says that a line is lost: all that was last seen is there, and the branch could be read to its end, or the very
 * commit that it named is whole again or is the one that was last seen. What peers hold is no proof of the contrary: lines that
 * were never fetched may have stood in that commit. A branch that names nothing rests on every damaged object being here again
 * (they are durable before a branch names them: then the longest that was found is all there ever was), on what was last seen,
 * or on what every peer says, as a home from a backup does.
 */
function isSure({ fault, lines, oid, seen }: Restored, { allFound, allAsked }: Known): boolean {
  if (seen?.link === unknownLink) return oid === seen.oid || (seen.oid === unknownCommit && allAsked);
  if (seen !== undefined && lines[seen.seq - 1]?.link !== seen.link) return false;
  if (!fault.torn) return true;
  if (fault.oid === '') return allFound || seen !== undefined || allAsked;
  return oid === fault.oid || seen?.oid === fault.oid;
}

interface Sources {
  readonly lines: LineList;
  /** Commits that may hold the log, with how much of it can be read. */
  readonly commits: readonly CommitLines[];
}

/** Peers first: what they send may bring the very objects back that are missing here. */
async function gather({ room, peers, last }: LogsToRepair, { host, fault, tips }: Restoring): Promise<Sources> {
  const { repository, home } = room;
  const pool = createLinePool();
  await peers.addLines(host.name, pool);
  const oids = new Set([fault.oid, last[host.name]?.oid ?? '', ...tips.map(({ oid }) => oid)]);
  oids.delete('');
  const commits = await pool.addCommits(repository, [...oids]);
  // A last line that lost its newline proves itself like any other.
  const { lines, rest } = splitLines(readPlainCopy(home, host.name));
  pool.add([...lines, rest]);
  return { lines: pool.lines(), commits };
}

/** The commit to point the branch at: the one that was lost if it can be had again, else one that holds exactly these lines. */
async function commitFor(
  { room, trust }: LogsToRepair,
  { host, fault }: Restoring,
  { texts, sources }: { readonly texts: readonly string[]; readonly sources: Sources },
): Promise<string> {
  const { repository } = room;
  const log = { repository, host: host.name, meshId: trust.charter.meshId, lines: texts };
  const tree = await writeTree(log);
  const wanted = fault.oid === '' ? [...room.lost] : [fault.oid];
  const known = sources.commits;
  const earlier = [...known.filter(({ oid }) => oid !== fault.oid), { oid: null, lines: 0 }];
  const restored = await restoreCommit(log, { oids: new Set(wanted), tree, earlier });
  const equal = known.filter(({ lines }) => lines === texts.length);
  for (const oid of new Set([fault.oid, restored ?? '', ...equal.map((commit) => commit.oid)]))
    if (oid !== '' && (await holds(room, oid, texts))) return oid;
  return writeWholeCommit(log, tree);
}

async function holds({ repository }: RepositoryRoom, oid: string, texts: readonly string[]): Promise<boolean> {
  if (!(await isWhole(repository, oid))) return false;
  const reader = openReader(repository, { deadlineMs: fetchDeadlineMs });
  try {
    const layout = await readLogLayout(reader, oid);
    if (!layout.ok) return false;
    let at = 0;
    // Strictly, as whoever reads the log next will: lines in files that are no log are not the log.
    for await (const part of readSegments(reader, layout.value)) {
      if (!part.ok || !part.value.lines.every((line, index) => line === texts[at + index])) return false;
      at += part.value.lines.length;
    }
    return at === texts.length;
  } finally {
    await reader.close();
  }
}

/** What a source has and the log has not: somebody may want to know what it was. Never a body that a purge took out. */
function keepRubbish(
  room: RepositoryRoom,
  found: {
    readonly host: string;
    readonly meshId: string;
    readonly all: LineList;
    readonly lines: readonly VerifiedLine[];
  },
): void {
  const good = new Set(found.lines.map(({ link }) => link));
  const rest = new Set(
    found.all.filter((text) => {
      const line = parseLine(text, found.meshId);
      return text.length > 0 && !(line.ok && good.has(line.value.link));
    }),
  );
  if (rest.size === 0) return;
  const bytes = Buffer.concat([...rest].flatMap((line) => [Buffer.from(line), Buffer.from('\n')]));
  room.aside.keepBytes(`log-${found.host}-other-lines.jsonl`, bytes, 'lines that do not follow, or are not signed');
}
