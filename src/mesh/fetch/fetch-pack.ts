/** One fetch over a kept connection, into a quarantine. Everything that can grow has a bound and everything that can last a deadline. */
import { fetchBeginMs, fetchIdleMs, fetchSlowBytes } from '../../core/limits.ts';
import type { FetchPackFault } from '../../core/sync/peer.ts';
import { ok, refuse, type Result } from '../../crypto/result.ts';
import { noRoom, takeRoom } from './fetch-bounds.ts';
import { fetchReader, printFetchRequest, type FetchStep } from './fetch-v2.ts';
import { openQuarantine, startIntake, type IntakeForm, type PackIntake, type Quarantine } from './quarantine.ts';
import { exitFault, type PeerCommand, type PeerConnection } from '../ssh/ssh-client.ts';
import type { Repository } from '../../store/git/repository.ts';

export interface FetchPackOptions {
  readonly connection: PeerConnection;
  readonly repository: Repository;
  /** Object ids, 40 hex. */
  readonly wants: readonly string[];
  readonly haves: readonly string[];
  readonly form: IntakeForm;
  /** Takes it in without looking at our own objects, which may be damaged. Needs `haves` to be empty. */
  readonly alone?: boolean;
  readonly bytesMax: number;
  readonly objectsMax: number;
  readonly deadlineMs: number;
  /** Longest silence, and longest wait for the first byte of the pack; for tests. */
  readonly idleMs?: number;
  readonly beginMs?: number;
}

/** What was fetched: the caller removes the quarantine. */
export interface FetchedPack {
  readonly quarantine: Quarantine;
  /** Objects in the pack as its header says. */
  readonly objects: number;
  readonly bytes: number;
}

/**
 * Asks for `wants` and takes the answer in. On any fault the quarantine is gone when this resolves.
 * Throws OperatingError for failures of this machine.
 */
export async function fetchPack(options: FetchPackOptions): Promise<Result<FetchedPack, FetchPackFault>> {
  // Before the channel: on a full disk it fails, and a channel that nobody reads would stay open.
  const room = takeRoom(options.repository, options.bytesMax);
  try {
    const taken = await takeIn({ ...options, bytesMax: room.bytesMax });
    if (!taken.ok && taken.code === 'TOO_LARGE' && room.short) throw noRoom(options.repository.gitDir);
    return taken;
  } finally {
    room.release();
  }
}

async function takeIn(options: FetchPackOptions): Promise<Result<FetchedPack, FetchPackFault>> {
  const quarantine = openQuarantine(options.repository, options);
  const started = await options.connection
    .start("git-upload-pack '/log'", {
      protocol: 'version=2',
      deadlineMs: Math.min(options.deadlineMs, options.idleMs ?? fetchIdleMs),
    })
    .catch((error: unknown) => {
      quarantine.remove();
      throw error;
    });
  if (!started.ok) {
    quarantine.remove();
    return started;
  }
  // Started before the answer comes: both ends start their git at the same time.
  const intake = startIntake(quarantine, options.form, options);
  try {
    const received = await receive(started.value, intake, options);
    if (!received.ok) intake.kill();
    const judged = await intake.done;
    const result = received.ok && !judged.ok ? judged : received;
    if (result.ok) return ok({ quarantine, ...result.value });
    quarantine.remove();
    return result;
  } catch (error) {
    intake.kill();
    await intake.done.catch(() => undefined);
    quarantine.remove();
    throw error;
  }
}

type Received = Result<{ readonly objects: number; readonly bytes: number }, FetchPackFault>;

/** Resolves when the answer is complete or refused; the channel is closed then. */
function receive(command: PeerCommand, intake: PackIntake, options: FetchPackOptions): Promise<Received> {
  const { stream } = command;
  const reader = fetchReader(options);
  const idleMs = options.idleMs ?? fetchIdleMs;
  return new Promise((resolve) => {
    let objects = 0;
    let bytes = 0;
    let fresh = 0;
    const finish = (result: Received): void => {
      clearTimeout(whole);
      clearTimeout(idle);
      clearTimeout(begin);
      stream.off('data', take);
      stream.resume();
      if (result.ok) stream.end();
      else stream.close();
      resolve(result);
    };
    const whole = setTimeout(() => finish(refuse('TIMEOUT', 'the fetch takes too long')), options.deadlineMs);
    const idle = setTimeout(() => finish(refuse('TIMEOUT', 'the peer stopped sending')), idleMs);
    const begin = setTimeout(() => {
      if (bytes === 0) finish(refuse('TIMEOUT', 'the peer does not begin to send'));
    }, options.beginMs ?? fetchBeginMs);
    const apply = (step: FetchStep): void => {
      if (step.kind === 'objects') objects = step.count;
      if (step.kind !== 'pack') return;
      bytes += step.bytes.length;
      // Copied: the view is only valid until the next push, and the pipe may take longer.
      if (!intake.stdin.write(Buffer.from(step.bytes))) stream.pause();
    };
    const take = (chunk: Buffer): void => {
      // Words that git says while it counts are a sign of life. A pack that trickles is none: it would last to the deadline.
      fresh += chunk.length;
      if (bytes === 0 || fresh >= fetchSlowBytes) {
        fresh = 0;
        idle.refresh();
      }
      const read = reader.push(chunk);
      if (!read.ok) return finish(read);
      read.value.forEach(apply);
      if (read.value.at(-1)?.kind !== 'end') return;
      intake.stdin.end();
      finish(ok({ objects, bytes }));
    };
    intake.stdin.on('drain', () => stream.resume());
    // git may refuse a pack before its end: then there is no point in receiving the rest, and its verdict is the result.
    const judged = (verdict: Result<true, 'PACK_REFUSED'>): void => {
      if (!verdict.ok) finish(verdict);
    };
    intake.done.then(judged, () => finish(refuse('PACK_REFUSED', 'git failed on this machine')));
    stream.on('data', take);
    stream.on('close', (code: number | null | undefined) =>
      finish(exitFault(code, command.said()) ?? refuse('PROTOCOL', 'the answer was cut short')),
    );
    stream.write(Buffer.from(printFetchRequest(options)));
  });
}
