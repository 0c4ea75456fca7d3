/** One log of a backup: judged from its first line, compared with the copy here, and taken as far as it follows that. */
import { setImmediate } from 'node:timers/promises';
import { bulkLinesMin, lineBytesMax } from '../../core/limits.ts';
import { extendLogInSteps, type LogExtension, type PurgedIds, type VerifiedLine } from '../../core/log.ts';
import { parseLine, type Line } from '../../core/line.ts';
import type { ForkedLines } from '../../core/sync/fork-proof.ts';
import { heldUpto, whyNotInPlace } from '../../core/sync/replace-copy.ts';
import type { CharterHost } from '../../core/trust/charter.ts';
import { holdingKeys } from '../../core/trust/usable.ts';
import { readOurLine } from '../../mesh/judge/fork-branch.ts';
import { keepBranch } from '../../store/logs/fork-branches.ts';
import { branchCommit } from '../../store/git/refs.ts';
import { restoreLog } from '../../store/logs/log-salvage.ts';
import { openLogWriter } from '../../store/logs/log-writer.ts';
import { counted } from '../counted.ts';
import type { Engine } from '../engine.ts';
import { mayHoldMore, vouchedOnly, type LogCut } from '../beliefs/log-book.ts';
import { backupLines, type Backup, type BackupRemark } from './read-backup.ts';

export interface RestoredLog {
  /** Lines that this home lacked. */
  readonly new: number;
  /** Lines that are held here as they stand in the backup. */
  readonly unchanged: number;
  /** The copy here was damaged and is whole again. */
  readonly mended: boolean;
  readonly remarks: readonly BackupRemark[];
  /** Its host signed two lines of one number. */
  readonly fork?: ForkedLines;
}

interface Restoring {
  readonly member: CharterHost;
  /** Ids whose bodies are not taken. */
  readonly purged: PurgedIds;
  readonly dryRun: boolean;
}

/** Takes what follows the copy here. No append and no fetch may be under way. Errors: of the store. */
export async function restoreOneLog(
  engine: Engine,
  backup: Backup,
  { member, purged, dryRun }: Restoring,
): Promise<RestoredLog> {
  const { beliefs } = engine;
  const { name } = member;
  await beliefs.fold();
  const { book } = beliefs;
  const damaged = book.cutOf(name);
  const known = book.tip(name)?.seq ?? 0;
  // What is held sound is compared by links alone; what takes the place of a damaged copy is judged from the first line.
  const given = backupLines(backup, name, lineBytesMax)[Symbol.iterator]();
  const same = damaged === undefined ? await skipHeld(engine, name, given) : { upto: 0, rest: asIterable(given) };
  const extension = await judge(engine, same, { member, purged });
  const { lines } = extension;
  const remarks = faultsOf(name, extension, known);
  const other = lines.find(({ seq, link }) => seq <= known && book.linkAt(name, seq) !== link);
  if (other !== undefined) return forked(engine, { lines, other, dryRun, remarks });
  const fresh = lines.filter(({ seq }) => seq > known);
  const unchanged = same.upto + lines.length - fresh.length;
  if (damaged === undefined) {
    if (fresh.length > 0 && !dryRun) await extend(engine, name, fresh);
    return { new: fresh.length, unchanged, mended: false, remarks };
  }
  const why = whyNotWhole(engine, name, { lines, damaged });
  if (why !== undefined) {
    const told = `the copy here is damaged at line ${damaged.seq}, and ${why}: stop memd, then memctl doctor --repair; then import again`;
    return { new: 0, unchanged, mended: false, remarks: [...remarks, { what: `log ${name}`, why: told }] };
  }
  if (!dryRun) await mend(engine, name, { lines, fresh });
  return { new: fresh.length, unchanged, mended: true, remarks };
}

/**
 * Why these lines must not take the place of a damaged copy; undefined when they are all that it held. How much that was is not
 * told by what can still be read of it, but by what this home last saw: good lines may stand behind the damage.
 */
function whyNotWhole(
  { beliefs, repository }: Engine,
  host: string,
  { lines, damaged }: { readonly lines: readonly VerifiedLine[]; readonly damaged: LogCut },
): string | undefined {
  const last = beliefs.lastOf(host);
  const good = beliefs.book.tip(host);
  const short = Math.max(damaged.held, heldUpto({ good, last })) - lines.length;
  if (short > 0) return `the backup is ${counted(short, 'line')} too short to take its place`;
  const offered = {
    lines: lines.length,
    linkAt: (seq: number) => lines[seq - 1]?.link,
    // A commit that was not seen may hold more than what was.
    hasCommit: () => false,
  };
  const copy = { branch: mayHoldMore(damaged) ? branchCommit(repository, host) : '', good, last };
  if (last !== undefined && whyNotInPlace(copy, offered) === undefined) return undefined;
  return 'nothing says that the backup holds all of it';
}

type RawLine = string | Uint8Array;

/** Lines of a backup behind the first `upto`, which are held here. */
interface Remaining {
  readonly upto: number;
  readonly rest: Iterable<RawLine>;
}

/** Lines that are parsed between two yields to whatever else this process does. */
const linesPerStep = 512;

/** Passes over the lines that are held, by number and link: nothing of them is kept in memory. */
async function skipHeld({ meshId, beliefs }: Engine, host: string, given: Iterator<RawLine>): Promise<Remaining> {
  for (let upto = 0; ; upto += 1) {
    const next = given.next();
    if (next.done === true) return { upto, rest: [] };
    const line = parseLine(next.value, meshId);
    const held = beliefs.book.linkAt(host, upto + 1);
    if (held === undefined || !line.ok || line.value.link !== held)
      return { upto, rest: asIterable(given, next.value) };
    if (upto % linesPerStep === 0) await setImmediate();
  }
}

function* asIterable(rest: Iterator<RawLine>, ...first: readonly RawLine[]): Generator<RawLine> {
  yield* first;
  for (let next = rest.next(); next.done !== true; next = rest.next()) yield next.value;
}

async function judge(
  { meshId, beliefs }: Engine,
  { upto, rest }: Remaining,
  { member, purged }: Omit<Restoring, 'dryRun'>,
): Promise<LogExtension> {
  const { name } = member;
  const link = upto === 0 ? meshId : (beliefs.book.linkAt(name, upto) ?? meshId);
  const start = { host: name, mesh: meshId, from: { seq: upto, link }, keys: holdingKeys(member), purged };
  const steps = extendLogInSteps({ ...start, tellVouched: true }, rest);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await setImmediate();
  }
}

function faultsOf(host: string, { fault, vouched }: LogExtension, known: number): readonly BackupRemark[] {
  const what = `logs/${host}.jsonl`;
  const stays = fault !== undefined && fault.seq <= known ? '; the line that is held here stays' : '';
  return [
    ...(fault === undefined
      ? []
      : [
          {
            what: `${what} line ${fault.seq}`,
            why: `${fault.detail} (${fault.code}): no line from there on is taken${stays}`,
          },
        ]),
    ...(vouched === undefined ? [] : [{ what, why: vouchedOnly(host, vouched) }]),
  ];
}

/** Ours stays. What the host signed besides is evidence, and some of it may be said nowhere else. */
async function forked(
  engine: Engine,
  {
    lines,
    other,
    dryRun,
    remarks,
  }: {
    readonly lines: readonly VerifiedLine[];
    readonly other: VerifiedLine;
    readonly dryRun: boolean;
    readonly remarks: readonly BackupRemark[];
  },
): Promise<RestoredLog> {
  const { log, seq } = other;
  const ours: Line | undefined = await readOurLine(
    { repository: engine.repository, meshId: engine.meshId, tip: engine.beliefs.book.tip },
    log,
    seq,
  );
  if (!dryRun)
    await keepBranch(
      engine.home,
      lines.filter((line) => line.seq >= seq),
    );
  const why = `it is another line than the one held here, and ${log} signed both: the log is forked. Ours stays, the other side is kept in forks/`;
  return {
    new: 0,
    unchanged: seq - 1,
    mended: false,
    remarks: [...remarks, { what: `logs/${log}.jsonl line ${seq}`, why }],
    ...(ours === undefined ? {} : { fork: [ours, other] as const }),
  };
}

async function extend(
  { repository, meshId, beliefs }: Engine,
  host: string,
  fresh: readonly VerifiedLine[],
): Promise<void> {
  const writer = await openLogWriter({ repository, host, meshId });
  const { oid } = fresh.length < bulkLinesMin ? await writer.append(fresh) : await writer.appendBulk([fresh]);
  await beliefs.take(host, fresh, oid);
}

async function mend(
  { repository, meshId, beliefs }: Engine,
  host: string,
  { lines, fresh }: { readonly lines: readonly VerifiedLine[]; readonly fresh: readonly VerifiedLine[] },
): Promise<void> {
  const oid = await restoreLog({ repository, host, meshId, lines: lines.map(({ text }) => text) });
  const { seq, link } = lines.at(-1) ?? { seq: 0, link: meshId };
  await beliefs.mend(host, fresh, { oid, seq, link });
}
