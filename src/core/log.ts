/**
 * Extending a log: which of the given lines are usable (rule R0). Source: docs/format.md, section 4; docs/fold.md R0.
 */
import { verifyEd25519 } from '../crypto/ed25519.ts';
import { holeOf, lineMessage, parseLine, signatureOf, type Line, type LineFault } from './line.ts';

/** The last line of something: of a log as held (tip) or as usable (head). `seq` 0 has the mesh id as its link. */
export interface Tip {
  readonly host: string;
  readonly seq: number;
  readonly link: string;
}

/** A host key and the seqs it may sign; `upto` null: still in force. */
export interface HostKeySpan {
  readonly key: Uint8Array;
  readonly from: number;
  readonly upto: number | null;
}

declare const verified: unique symbol;
/** A usable line: chained to a verified tip, and vouched for by a host signature on it or on a later line. */
export type VerifiedLine = Line & { readonly [verified]: true };

/** What stopped an extension. Everything before it that a signature vouches for is usable. */
export type LogFault = LineFault | 'LOG_NAME' | 'SEQ' | 'PREV' | 'HOLE' | 'SIGNATURE' | 'KEY_SPAN';

/** Ids of events that counted purges name. */
export type PurgedIds = Pick<ReadonlySet<string>, 'has'>;

export interface LogStart {
  readonly host: string;
  /** The mesh id. */
  readonly mesh: string;
  /** The verified line before the first given one; {seq: 0, link: mesh id} for a whole log. */
  readonly from: { readonly seq: number; readonly link: string };
  readonly keys: readonly HostKeySpan[];
  /** Ids that counted purges name: their holes are passed, and their bodies become holes. None when absent. */
  readonly purged?: PurgedIds;
  /** Also verify the signature of every usable line; the first bad one is the fault. */
  readonly verifyEvery?: boolean;
  /** Also verify the signature of every usable line, and tell of those that only a later one vouches for (`verify --deep`). */
  readonly tellVouched?: boolean;
  /** Whether a host signature is by a key; ed25519 when absent. For the simulator, whose hosts sign cheaply. */
  readonly verify?: (key: Uint8Array, message: string, signature: Uint8Array) => boolean;
}

export interface LogExtension {
  readonly lines: readonly VerifiedLine[];
  /** Tip of the usable lines; the start when there is none. */
  readonly tip: Tip;
  /** How many of the given lines up to the fault held a body that a purge names; absent for none. Their bytes must go. */
  readonly covered?: number;
  /** With `tellVouched`: usable lines whose own signature does not verify; absent for none. */
  readonly vouched?: readonly number[];
  readonly fault?: { readonly code: LogFault; readonly seq: number; readonly detail: string };
}

type Fault = NonNullable<LogExtension['fault']>;

/** Lines or signatures handled between two yields of `extendLogInSteps`: a few milliseconds of work. */
const linesPerStep = 512;
const signaturesPerStep = 32;

/**
 * Parses and chains `lines` after `start.from`, stops at the first fault, and keeps the prefix up to the last line whose
 * own signature verifies. Never throws on input. Cost: one parse and at most one signature check per line. Pure.
 */
export function extendLog(start: LogStart, lines: Iterable<string | Uint8Array>): LogExtension {
  const steps = extendLogInSteps(start, lines);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** The same in bounded steps, so that a hostile log of bad signatures never holds up the caller's other work. Pure. */
export function* extendLogInSteps(
  start: LogStart,
  lines: Iterable<string | Uint8Array>,
): Generator<undefined, LogExtension> {
  const chained: Line[] = [];
  let fault: Fault | undefined;
  let covered = 0;
  for (const given of lines) {
    const next = chainLine(start, chained.at(-1) ?? start.from, given);
    if ('detail' in next) {
      fault = next;
      break;
    }
    const purged = next.fault !== 'HOLE' && start.purged?.has(next.id) === true;
    covered += purged ? 1 : 0;
    chained.push(purged ? holeOf(next) : next);
    if (chained.length % linesPerStep === 0) yield undefined;
  }
  const usable = yield* countUsable(start, chained);
  const cut = usable.fault ?? fault;
  const kept = chained.slice(0, usable.count) as VerifiedLine[];
  const last = kept.at(-1) ?? start.from;
  const tip: Tip = { host: start.host, seq: last.seq, link: last.link };
  const vouched = start.tellVouched === true ? yield* findVouched(start, kept) : [];
  const told = { ...(covered === 0 ? {} : { covered }), ...(vouched.length === 0 ? {} : { vouched }) };
  return cut === undefined ? { lines: kept, tip, ...told } : { lines: kept, tip, ...told, fault: cut };
}

/** The line if it extends `previous`, else the fault. */
function chainLine(
  start: LogStart,
  previous: { readonly seq: number; readonly link: string },
  given: string | Uint8Array,
): Line | Fault {
  const seq = previous.seq + 1;
  const parsed = parseLine(given, start.mesh);
  if (!parsed.ok) return { code: parsed.code, seq, detail: parsed.detail };
  const line = parsed.value;
  if (line.log !== start.host) return { code: 'LOG_NAME', seq, detail: 'a line of another log' };
  if (line.seq !== seq) return { code: 'SEQ', seq, detail: `seq ${line.seq} where ${seq} follows` };
  if (line.prev !== previous.link) return { code: 'PREV', seq, detail: 'prev is not the link of the line before' };
  if (line.fault === 'HOLE' && start.purged?.has(line.id) !== true) {
    return { code: 'HOLE', seq, detail: `a hole that no purge names, of event ${line.id}` };
  }
  return line;
}

function* countUsable(
  start: LogStart,
  chained: readonly Line[],
): Generator<undefined, { readonly count: number; readonly fault?: Fault }> {
  if (start.verifyEvery === true) return yield* countEvery(start, chained);
  let fault: Fault | undefined;
  for (let count = chained.length; count > 0; count -= 1) {
    const bad = signatureFault(start, chained[count - 1] as Line);
    if (bad === undefined) return fault === undefined ? { count } : { count, fault };
    // The lowest bad line of the trailing run is the first one that is not usable.
    fault = bad;
    if (count % signaturesPerStep === 0) yield undefined;
  }
  return fault === undefined ? { count: 0 } : { count: 0, fault };
}

function* countEvery(
  start: LogStart,
  chained: readonly Line[],
): Generator<undefined, { readonly count: number; readonly fault?: Fault }> {
  for (const [index, line] of chained.entries()) {
    const fault = signatureFault(start, line);
    if (fault !== undefined) return { count: index, fault };
    if (index % signaturesPerStep === 0) yield undefined;
  }
  return { count: chained.length };
}

function* findVouched(start: LogStart, usable: readonly Line[]): Generator<undefined, readonly number[]> {
  const vouched: number[] = [];
  for (const [index, line] of usable.entries()) {
    if (signatureFault(start, line) !== undefined) vouched.push(line.seq);
    if (index % signaturesPerStep === 0) yield undefined;
  }
  return vouched;
}

function signatureFault(start: LogStart, line: Line): Fault | undefined {
  const span = start.keys.find(({ from, upto }) => line.seq >= from && (upto === null || line.seq <= upto));
  if (span === undefined) return { code: 'KEY_SPAN', seq: line.seq, detail: 'no host key is in force at this seq' };
  const { verify = verifyEd25519 } = start;
  if (verify(span.key, lineMessage(line.link), signatureOf(line))) return undefined;
  return { code: 'SIGNATURE', seq: line.seq, detail: 'the host signature does not verify' };
}
