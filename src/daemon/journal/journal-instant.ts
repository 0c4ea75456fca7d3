/** The line of a host's journal that says what it held at an instant. */
import { verifyViewLine, type ViewLine } from '../../core/view-line.ts';
import { readFineLines } from '../../store/logs/fine-journal.ts';
import { readViewLines } from '../../store/logs/view-journal.ts';
import type { Engine } from '../engine.ts';
import { Refusal } from '../refusal.ts';

/** `isFine`: of this host's own fine journal. */
export interface Instant {
  readonly line: ViewLine;
  readonly isFine: boolean;
}

/** How long peers are asked for newer lines of another host's journal. */
const askPeersMs = 5_000;

/**
 * The last line at or before the instant. Another host's journal is fetched first where what is here ends before then.
 * Refuses HOST_UNKNOWN, REPLAY_NONE (no line is here), REPLAY_BEFORE (the first one is later), REPLAY_FORGED.
 */
export async function findInstant(
  engine: Engine,
  asked: { readonly at: string; readonly host: string },
): Promise<Instant> {
  const { host, at } = asked;
  const known = engine.charter().hosts;
  if (!known.has(host)) throw hostUnknown(host, [...known.keys()]);
  await engine.journal.load();
  if (host === engine.identity.host) await engine.journal.publish();
  else await fetchUpTo(engine, asked);
  const found = await lastLine(readViewLines(engine.repository, host), at);
  const fine = host === engine.identity.host ? await lastLine(readFineLines(engine.home), at) : undefined;
  const instant = later(found.line, fine?.line);
  if (instant === undefined) throw noLine(asked, found.first ?? fine?.first);
  const keys = known.get(host)?.keys ?? [];
  const signed = verifyViewLine(instant.line, keys);
  if (!signed.ok) throw forged(instant.line, signed.detail);
  return instant;
}

async function fetchUpTo(
  { journal, repository, peers }: Engine,
  { host, at }: { at: string; host: string },
): Promise<void> {
  for await (const line of readViewLines(repository, host)) {
    if (line.at > at) return;
    break;
  }
  if (journal.store.tip(host) === undefined || at < new Date().toISOString())
    await peers.cycle({ deadlineMs: askPeersMs, busy: 'wait', views: true });
}

/** Lines come newest first, and a clock may have been set back: the last one that was written counts. */
async function lastLine(
  lines: AsyncIterable<ViewLine> | Iterable<ViewLine>,
  at: string,
): Promise<{ readonly line: ViewLine | undefined; readonly first: ViewLine | undefined }> {
  let first: ViewLine | undefined;
  for await (const line of lines) {
    if (line.at <= at) return { line, first };
    first = line;
  }
  return { line: undefined, first };
}

function later(published: ViewLine | undefined, fine: ViewLine | undefined): Instant | undefined {
  if (fine !== undefined && (published === undefined || fine.at > published.at)) return { line: fine, isFine: true };
  return published === undefined ? undefined : { line: published, isFine: false };
}

function hostUnknown(host: string, known: readonly string[]): Refusal {
  return new Refusal({
    code: 'HOST_UNKNOWN',
    message: `there is no host ${host} in this mesh`,
    hint: `hosts: ${known.join(', ')}`,
    exit: 7,
  });
}

function noLine({ host, at }: { host: string; at: string }, first: ViewLine | undefined): Refusal {
  if (first === undefined)
    return new Refusal({
      code: 'REPLAY_NONE',
      message: `no line of the view journal of ${host} is here: what it believed is not known`,
      hint: `memctl fetch brings it, once ${host} has written one and a peer is up`,
      exit: 7,
    });
  return new Refusal({
    code: 'REPLAY_BEFORE',
    message: `the view journal of ${host} begins at ${first.at}: what it believed at ${at} is not known`,
    hint: `memctl replay --at ${first.at} --host ${host}`,
    exit: 7,
  });
}

function forged({ host, at }: ViewLine, detail: string): Refusal {
  return new Refusal({
    code: 'REPLAY_FORGED',
    message: `the line that ${host} is said to have written at ${at} is not its own: ${detail}`,
    hint: 'memctl doctor; the journal is fetched anew from another peer once branch view/HOST of this home is removed',
    exit: 4,
  });
}
