/**
 * What a purge may name beyond the events of the fold: lines behind a cut, a pin or the end of a log, of hosts that left, and
 * what is kept in `forks/`. They count for nothing, and their bodies lie here all the same, and on every host that has them.
 */
import { eventView, type Fold } from '../../core/fold/fold.ts';
import { skeletonOf } from '../../core/fold/skeleton.ts';
import { parseLine, type Line } from '../../core/line.ts';
import type { PurgeSkeleton } from '../../core/trust/op-types.ts';
import { isDamage } from '../../store/errors.ts';
import { listBranches } from '../../store/logs/fork-branches.ts';
import { listLogs } from '../../store/git/refs.ts';
import { readLog } from '../../store/logs/log-store.ts';
import type { Engine } from '../engine.ts';
import { fullId, requireIdText, unknownEvent } from '../full-ids.ts';
import { Refusal } from '../refusal.ts';

/** An event to purge; `line`: one that carries it where the fold knows nothing of it. */
export interface NamedTarget {
  readonly id: string;
  readonly line?: Line | undefined;
}

type Place = Pick<Engine, 'home' | 'repository' | 'meshId'>;

const placePattern = /^([a-z][a-z0-9-]{0,30}):([1-9]\d{0,14})$/;

/** Finds an event by its id, by a prefix of it, or by HOST:SEQ. Refuses BAD_REQUEST, ID_UNKNOWN, ID_AMBIGUOUS. */
export async function findTarget(engine: Place, fold: Fold, given: string): Promise<NamedTarget> {
  const [, host, seq] = placePattern.exec(given) ?? [];
  if (host !== undefined) return findAt(engine, { host, seq: Number(seq) });
  requireIdText(given);
  const known = knownId(fold, given);
  if (known !== undefined) return { id: known };
  const found = await findLines(engine, listHosts(engine), (line) => line.id.startsWith(given));
  // A purge that counts no more may have named what nothing here carries.
  return found.length === 0 && given.length === 64 ? { id: given } : only(found, given);
}

/** Undefined where the fold has no such event. Refuses ID_AMBIGUOUS. */
function knownId(fold: Fold, given: string): string | undefined {
  try {
    const id = fullId(given, fold);
    return eventView(fold, id) === undefined ? undefined : id;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'ID_UNKNOWN') return undefined;
    throw error;
  }
}

async function findAt(engine: Place, { host, seq }: { host: string; seq: number }): Promise<NamedTarget> {
  return only(await findLines(engine, [host], (line) => line.seq === seq), `${host}:${seq}`);
}

/** Hosts of whom there is anything here, in the mesh or not. */
function listHosts({ repository }: Place): readonly string[] {
  return [...listLogs(repository).keys()];
}

async function findLines(engine: Place, hosts: readonly string[], wanted: (line: Line) => boolean): Promise<Line[]> {
  const found: Line[] = [];
  const look = (texts: readonly (string | Uint8Array)[]): void => {
    for (const text of texts) {
      const line = parseLine(text, engine.meshId);
      if (line.ok && wanted(line.value)) found.push(line.value);
    }
  };
  for (const host of hosts) {
    look(await linesOf(engine, host));
    for (const { lines } of listBranches(engine.home, host)) look(lines);
  }
  return found;
}

/** As far as it can be read. */
async function linesOf({ repository }: Place, host: string): Promise<readonly (string | Uint8Array)[]> {
  try {
    return (await readLog(repository, host)).lines;
  } catch (error) {
    if (isDamage(error)) return [];
    throw error;
  }
}

/** The one event that these lines carry. */
function only(lines: readonly Line[], given: string): NamedTarget {
  const ids = [...new Set(lines.map(({ id }) => id))];
  const [id] = ids;
  if (id === undefined) throw unknownEvent(given);
  const line = lines.find((one) => one.fault !== 'HOLE') ?? lines[0];
  if (ids.length === 1) return { id, line };
  throw new Refusal({
    code: 'ID_AMBIGUOUS',
    message: `several events are meant by ${given}: ${ids.map((one) => one.slice(0, 16)).join(', ')}`,
    hint: 'name them by these ids',
    exit: 2,
  });
}

/**
 * What is to stay of an event of which nobody but its carrier says anything that counts: it proves nothing, and takes nothing
 * away. Pure.
 */
export function skeletonOfLine({ id, log, body, held }: Pick<Line, 'id' | 'log' | 'body' | 'held'>): PurgeSkeleton {
  return body === null ? bareSkeleton({ id, host: log, ...held }) : skeletonOf(body, 'unsigned');
}

/** Of a body that this version cannot read: where it stands, and no more. Pure. */
export function bareSkeleton(of: { id: string; host: string; subject?: string; scope?: string }): PurgeSkeleton {
  const { id, host, subject = 'note/unreadable', scope = '*' } = of;
  const nothing = { key: null, home: null, digest: null, supersedes: [], basis: [] };
  const usual = { audience: 'operator', lineage: 'trusted', level: 'unsigned' } as const;
  return { id, host, kind: 'question', subject, scope, ...usual, ...nothing };
}
