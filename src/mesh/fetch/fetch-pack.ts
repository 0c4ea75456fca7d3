/**
 * One fetch over a kept connection, into a quarantine. Everything that can grow has a bound and everything that can last a
 * deadline. git holds every object of a pack in memory, at both ends: what may be more than one child takes comes in rounds,
 * the newest commits first, and each round ends at a commit whose parent the next one asks for.
 */
import {
  commitBytesMax,
  fetchBeginMs,
  fetchIdleMs,
  fetchRoundCommitsMax,
  fetchRoundObjectsMax,
  fetchSlowBytes,
} from '../../core/limits.ts';
import type { FetchPackFault } from '../../core/sync/peer.ts';
import { ok, refuse, type Result } from '../../crypto/result.ts';
import { noRoom, packBounds, takeRoom } from './fetch-bounds.ts';
import { fetchReader, printFetchRequest, type FetchStep } from './fetch-v2.ts';
import { openQuarantine, startIntake, type IntakeForm, type PackIntake, type Quarantine } from './quarantine.ts';
import { exitFault, type PeerCommand, type PeerConnection } from '../ssh/ssh-client.ts';
import { decodeCommit } from '../../store/git/object-id.ts';
import { openReader } from '../../store/git/reader.ts';
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
  /** Commits of one round; for tests. */
  readonly roundCommitsMax?: number;
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
  try {
    const result = await takeRounds(options, quarantine);
    if (result.ok) return ok({ quarantine, ...result.value });
    quarantine.remove();
    return result;
  } catch (error) {
    quarantine.remove();
    throw error;
  }
}

/** One request and its answer. */
interface Round extends FetchPackOptions {
  /** Commits that we have without what is older. */
  readonly cuts: readonly string[];
  /** So many commits, and no older ones; undefined: all. */
  readonly commitsMax: number | undefined;
}

async function takeRounds(
  options: FetchPackOptions,
  quarantine: Quarantine,
): Promise<Result<Omit<FetchedPack, 'quarantine'>, FetchPackFault>> {
  const until = performance.now() + options.deadlineMs;
  const roundMax = options.roundCommitsMax ?? fetchRoundCommitsMax;
  const commitsMax = options.objectsMax > packBounds(roundMax).objectsMax ? roundMax : undefined;
  let [objects, bytes] = [0, 0];
  let round: Round = { ...options, cuts: [], commitsMax };
  for (;;) {
    const taken = await takeRound(
      {
        ...round,
        bytesMax: options.bytesMax - bytes,
        objectsMax: Math.min(fetchRoundObjectsMax, options.objectsMax - objects),
        deadlineMs: Math.max(1, until - performance.now()),
      },
      quarantine,
    );
    if (!taken.ok) return taken;
    objects += taken.value.objects;
    bytes += taken.value.bytes;
    const { cut } = taken.value;
    const behind = cut === undefined ? ok(undefined) : await readBehind(quarantine, cut);
    if (!behind.ok) return behind;
    if (cut === undefined || behind.value === undefined || options.haves.includes(behind.value))
      return ok({ objects, bytes });
    // Each round comes out of the bounds of the whole, so there are few.
    if (taken.value.objects < (commitsMax ?? 0)) return refuse('PROTOCOL', 'the peer sent less than it was asked for');
    round = { ...options, wants: [behind.value], haves: [...options.haves, cut], cuts: [cut], commitsMax };
  }
}

/** The parent of the oldest commit that came. Undefined: there is none, or that commit did not come since we have it. */
async function readBehind({ view }: Quarantine, commit: string): Promise<Result<string | undefined, FetchPackFault>> {
  const reader = openReader({ ...view, alternates: [] });
  try {
    const [object] = await reader.read([commit], { type: 'commit', bytesMax: commitBytesMax });
    if (object?.ok === true) return ok(decodeCommit(object.content)?.parents[0]);
    return object?.code === 'MISSING'
      ? ok(undefined)
      : refuse('PACK_REFUSED', `${commit}: ${object?.detail ?? 'no answer'}`);
  } finally {
    await reader.close();
  }
}

async function takeRound(options: Round, quarantine: Quarantine): Promise<Received> {
  const started = await options.connection.start("git-upload-pack '/log'", {
    protocol: 'version=2',
    deadlineMs: Math.min(options.deadlineMs, options.idleMs ?? fetchIdleMs),
  });
  if (!started.ok) return started;
  // Started before the answer comes: both ends start their git at the same time.
  const intake = startIntake(quarantine, options.form, options);
  try {
    const received = await receive(started.value, intake, options);
    if (!received.ok) intake.kill();
    const judged = await intake.done;
    return received.ok && !judged.ok ? judged : received;
  } catch (error) {
    intake.kill();
    await intake.done.catch(() => undefined);
    throw error;
  }
}

interface Answer {
  readonly objects: number;
  readonly bytes: number;
  /** The oldest commit that came, where its parent did not. */
  readonly cut: string | undefined;
}

type Received = Result<Answer, FetchPackFault>;

/** Resolves when the answer is complete or refused; the channel is closed then. */
function receive(command: PeerCommand, intake: PackIntake, options: Round): Promise<Received> {
  const { stream } = command;
  const reader = fetchReader(options);
  const idleMs = options.idleMs ?? fetchIdleMs;
  return new Promise((resolve, reject) => {
    let cut: string | undefined;
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
      if (step.kind === 'cut') intake.cutAt((cut = step.oid));
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
      try {
        read.value.forEach(apply);
      } catch (error) {
        // A failure of this machine, and no answer of the peer.
        reject(error);
        return finish(refuse('PACK_REFUSED', 'git failed on this machine'));
      }
      if (read.value.at(-1)?.kind !== 'end') return;
      intake.stdin.end();
      finish(ok({ objects, bytes, cut }));
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
