/** The write path of this host's own log: from transactions to durable lines to answers. */
import { isClaim, scopeOf, type Body, type BodyInput } from '../../core/event.ts';
import { eventsOf, eventView, readState, type Fold } from '../../core/fold/fold.ts';
import { recordKey } from '../../core/fold/state.ts';
import { bulkLinesMin, supersedesIdsMax } from '../../core/limits.ts';
import type { VerifiedLine } from '../../core/log.ts';
import type { Said } from '../../core/recovery.ts';
import { beforeWrite, linesBeyond } from '../../core/sync/own-write.ts';
import type { Charter, CharterHost } from '../../core/trust/charter.ts';
import type { SigningKey } from '../../crypto/ed25519.ts';
import { peersOf } from '../../mesh/node.ts';
import { OperatingError, restoreHint } from '../../store/errors.ts';
import { logRef, syncRef } from '../../store/git/refs.ts';
import type { Repository } from '../../store/git/repository.ts';
import { openLogWriter, type LogWriter } from '../../store/logs/log-writer.ts';
import type { AppendedJson } from '../api/api-types.ts';
import { requireSoundHeads, type Beliefs } from '../beliefs/beliefs.ts';
import { readVerifiedLog, type LogBook } from '../beliefs/log-book.ts';
import { fullIds } from '../full-ids.ts';
import {
  draftLines,
  makeBodies,
  requireAppendable,
  signDrafts,
  stillTaken,
  type LogEnd,
  type Transaction,
} from './own-log.ts';
import { Refusal } from '../refusal.ts';
import { saidBefore, type SaidBefore } from './once.ts';
import { gateTransactions } from './secret-gate.ts';

/** Lines that are signed together in the bulk path. */
const signStep = 500;

export interface OwnWriter {
  /**
   * Appends a batch as one commit. Each transaction is answered on its own; what refuses one leaves the others alone.
   * Throws when nothing could be written; whatever persisted all the same is taken over first.
   */
  commit(transactions: readonly Transaction[]): Promise<readonly PromiseSettledResult<readonly AppendedJson[]>[]>;
}

export interface OwnWriterOptions {
  readonly repository: Repository;
  readonly host: string;
  readonly meshId: string;
  /** The key as of now: a rekey replaces it. */
  readonly key: () => SigningKey;
  readonly beliefs: Beliefs;
  /** Refuses while a line of this home cannot count. */
  readonly requireWord: (charter: Charter) => void;
  /** Refuses while peers are known to hold more of this log than the book does. */
  readonly requireWhole: () => void;
}

export function createOwnWriter(options: OwnWriterOptions): OwnWriter {
  const { beliefs, host } = options;
  let writer: LogWriter | undefined;
  return {
    async commit(transactions) {
      const fold = await beliefs.fold();
      options.requireWord(fold.charter);
      requireSoundLog(beliefs.book, host);
      requireSoundHeads(beliefs);
      if (await tookOver(options, fold)) writer = undefined;
      // A purge has made another commit of the same lines.
      if (writer !== undefined && writer.head() !== (beliefs.book.tip(host)?.oid ?? null)) writer = undefined;
      const before = transactions.map((transaction) => settled(() => saidBefore(transaction, fold, host)));
      const made = transactions.map((transaction, at) => prepareNew(transaction, before[at], fold, options));
      const { prepared, denials } = await gateTransactions(made, fold, host);
      const said = prepared.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
      // The ledger comes last, so that the lines before it are those of the transactions, in their order.
      said.push(...prepare({ events: denials, session: 'secret-gate' }, fold, options));
      if (said.length === 0) return answer({ prepared, before }, [], fold);
      try {
        writer ??= await openWriter(options, fold);
        const { lines, oid } = await write(writer, said, options);
        await beliefs.take(host, lines, oid);
        return answer({ prepared, before }, lines, fold);
      } catch (error) {
        // A failed write may have persisted: the log is read again, now if that can be, else before the next append.
        writer = undefined;
        await takeWhatPersisted(options, fold).catch(() => undefined);
        throw error;
      }
    },
  };
}

function settled<T>(work: () => T): PromiseSettledResult<T> {
  try {
    return { status: 'fulfilled', value: work() };
  } catch (reason) {
    return { status: 'rejected', reason };
  }
}

function requireSoundLog(book: LogBook, host: string): void {
  const cut = book.cuts().find(({ log }) => log === host);
  if (cut === undefined) return;
  throw new Refusal({
    code: 'OWN_LOG_DAMAGED',
    message: `this host's own log is damaged at line ${cut.seq} (${cut.code}: ${cut.detail}); nothing is appended after damage`,
    hint:
      cut.code === 'HOLE'
        ? 'a purge of that event counts no more; it can be purged again: memctl purge ID --reason CODE'
        : restoreHint,
  });
}

type Before = PromiseSettledResult<readonly SaidBefore[] | undefined>;

/** Nothing of a request that was made before. */
function prepareNew(
  transaction: Transaction,
  before: Before | undefined,
  fold: Fold,
  options: OwnWriterOptions,
): PromiseSettledResult<readonly Said[]> {
  if (before?.status === 'rejected') return before;
  return settled(() => (before?.value === undefined ? prepare(transaction, fold, options) : []));
}

function prepare(transaction: Transaction, fold: Fold, { meshId, host }: OwnWriterOptions): readonly Said[] {
  const { approved = [], again = [] } = transaction;
  for (const one of approved) requireAppendable(one, fold.charter);
  const stamp = { mesh: meshId, host, at: new Date().toISOString() };
  const events = transaction.events.map((event) => resolveReferences(event, fold, host));
  const bodies = makeBodies({ ...transaction, events }, stamp, fold.charter);
  return [...stillTaken(again, fold.charter), ...approved, ...bodies.map((body) => ({ body, auth: null }))];
}

/** Full ids for unique prefixes; a retract that names nothing withdraws this host's own live claims on the subject. */
function resolveReferences(event: BodyInput, fold: Fold, host: string): BodyInput {
  const bare = event.kind === 'retract' && event.supersedes === undefined && typeof event.subject === 'string';
  const supersedes = bare ? ownLiveClaims(event, fold, host) : event.supersedes;
  return {
    ...event,
    ...(supersedes === undefined ? {} : { supersedes: fullIds(supersedes, fold) }),
    ...(event.basis === undefined ? {} : { basis: fullIds(event.basis, fold) }),
  };
}

function ownLiveClaims(event: BodyInput, fold: Fold, host: string): readonly string[] {
  const live = eventsOf(fold, event.subject).flatMap((id) => {
    const view = eventView(fold, id);
    return view?.body && isClaim(view.body.kind) && view.by.length === 0 ? [{ id, host: view.body.host }] : [];
  });
  const own = live.filter((claim) => claim.host === host).map(({ id }) => id);
  if (own.length > supersedesIdsMax) throw tooManyClaims(event.subject, host, own);
  if (own.length > 0) return own;
  const others = [...new Set(live.map((claim) => claim.host))];
  throw new Refusal({
    code: 'SUBJECT_UNKNOWN',
    message: `host ${host} has no live claim on ${event.subject} to retract`,
    hint:
      others.length === 0
        ? `memctl log ${event.subject}`
        : `its claims are of ${others.join(', ')}: retract there, or ask a signer`,
    exit: 7,
  });
}

function tooManyClaims(subject: string, host: string, own: readonly string[]): Refusal {
  const first = own.slice(0, 2).map((id) => id.slice(0, 12));
  return new Refusal({
    code: 'EVENT_INVALID',
    message: `host ${host} has ${own.length} live claims on ${subject}; one retraction withdraws ${supersedesIdsMax} at most`,
    hint: `withdraw them in parts: memctl retract ${subject} --supersedes ${first.join(',')},…`,
    exit: 2,
  });
}

async function write(
  writer: LogWriter,
  said: readonly Said[],
  { host, meshId, key, beliefs }: OwnWriterOptions,
): Promise<{ lines: readonly VerifiedLine[]; oid: string }> {
  const tip = beliefs.book.tip(host);
  const end: LogEnd = { host, seq: tip?.seq ?? 0, link: tip?.link ?? meshId };
  if (said.length < bulkLinesMin) {
    const lines = await signDrafts(draftLines(said, end), key());
    return { lines, oid: (await writer.append(lines)).oid };
  }
  const lines: VerifiedLine[] = [];
  const { oid } = await writer.appendBulk(signInSteps(said, { end, key: key(), into: lines }));
  return { lines, oid };
}

/** Signs step by step while the steps before are being written; every line also goes to `into`. */
async function* signInSteps(
  said: readonly Said[],
  { end, key, into }: { readonly end: LogEnd; readonly key: SigningKey; readonly into: VerifiedLine[] },
): AsyncGenerator<readonly VerifiedLine[]> {
  const step = (from: LogEnd, start: number): { last: LogEnd; signing: Promise<VerifiedLine[]> } => {
    const drafts = draftLines(said.slice(start, start + signStep), from);
    const last = drafts.at(-1);
    return { last: last === undefined ? from : { ...last, host: from.host }, signing: signDrafts(drafts, key) };
  };
  let next = step(end, 0);
  for (let start = signStep; ; start += signStep) {
    const { signing, last } = next;
    if (start < said.length) next = step(last, start);
    const signed = await signing;
    for (const line of signed) into.push(line);
    yield signed;
    if (start >= said.length) return;
  }
}

/**
 * Opens the own log where our lines end. A branch that ends elsewhere would get lines whose place in the chain is wrong:
 * what it holds more is taken over first, and a branch that still differs is not written to.
 */
async function openWriter(options: OwnWriterOptions, fold: Fold): Promise<LogWriter> {
  const { host, beliefs } = options;
  const held = (): string | null => beliefs.book.tip(host)?.oid ?? null;
  const writer = await openLogWriter(options);
  const decide = (looked: boolean): ReturnType<typeof beforeWrite> =>
    beforeWrite({ branch: writer.head(), held: held(), looked });
  if (decide(false) === 'take-over') await takeWhatPersisted(options, fold);
  if (decide(true) === 'write') return writer;
  const [branch, ours] = [writer.head(), held()].map((oid) => oid ?? 'nothing');
  throw new OperatingError('REF_CHANGED', `log ${host}: the branch is at ${branch}, memd holds ${ours}`, {
    hint: 'another program moved the branch of this host: memctl verify, then restore it or restart memd',
  });
}

/**
 * Refuses OWN_LOG_BEHIND. A peer may have seen a line that an earlier write left without our knowing, or that a person
 * brought back beside a running memd: what the branch holds more is taken over first. @returns true when that was so.
 */
async function tookOver(options: OwnWriterOptions, fold: Fold): Promise<boolean> {
  try {
    options.requireWhole();
    return false;
  } catch {
    await takeWhatPersisted(options, fold);
    options.requireWhole();
    return true;
  }
}

/** A line that others hear of and a power cut then takes away would get a second one of its number: so it is flushed first. */
async function takeWhatPersisted(options: OwnWriterOptions, fold: Fold): Promise<void> {
  const { repository, host, meshId, beliefs } = options;
  await syncRef(repository, logRef(host));
  const self: CharterHost | undefined = fold.charter.hosts.get(host);
  const read =
    self === undefined ? undefined : await readVerifiedLog(repository, self, { meshId, purged: fold.charter.purges });
  if (read === undefined) return;
  // What is not good to its end does not say where the next line belongs.
  if (read.damage !== undefined || read.extension.fault !== undefined) {
    await beliefs.recheck(host);
    requireSoundLog(beliefs.book, host);
    return;
  }
  const persisted = linesBeyond(beliefs.book.tip(host), read.extension.lines);
  if (persisted.length > 0) await beliefs.take(host, persisted, read.oid);
}

function answer(
  {
    prepared,
    before,
  }: { readonly prepared: readonly PromiseSettledResult<readonly Said[]>[]; readonly before: readonly Before[] },
  lines: readonly VerifiedLine[],
  fold: Fold,
): readonly PromiseSettledResult<readonly AppendedJson[]>[] {
  let at = 0;
  return prepared.map((one, index) => {
    if (one.status === 'rejected') return one;
    const first = before[index];
    if (first?.status === 'fulfilled' && first.value !== undefined)
      return { status: 'fulfilled', value: first.value.map((line) => appendedJson(line, fold)) };
    const own = lines.slice(at, (at += one.value.length));
    return { status: 'fulfilled', value: own.map((line) => appendedJson(line, fold)) };
  });
}

function appendedJson(line: Pick<VerifiedLine, 'id' | 'log' | 'seq' | 'body'>, fold: Fold): AppendedJson {
  const { id, log, seq, body } = line;
  return {
    id,
    host: log,
    seq,
    supersedes: body?.supersedes ?? [],
    contradicts: body !== null && isClaim(body.kind) ? contradictions(id, body, fold) : [],
    // Just made: nobody else can hold it yet. The handler counts for what was there before.
    replicated: 0,
    peers: peersOf(fold.charter, log).length,
  };
}

/** Other sides of the dispute that this claim is part of. */
function contradictions(id: string, body: Body, fold: Fold): readonly string[] {
  const record = readState(fold).records.get(recordKey(body.subject, scopeOf(body)));
  if (record === undefined || record.parked.count === 0) return [];
  const sides = record.served === null ? record.parked.first : [record.served, ...record.parked.first];
  return sides.filter((side) => side !== id && differs(body, eventView(fold, side)?.body ?? null));
}

function differs(body: Body, other: Body | null): boolean {
  if (other === null) return true;
  return (
    body.polarity !== other.polarity ||
    body.value !== other.value ||
    (body.value === undefined && body.content !== other.content)
  );
}
