/**
 * What doctor looks at, and with what. No check opens the engine or takes the lock: a home in which nothing works any
 * more is the one that doctor is for, and a memd that runs must not notice it.
 */
import { existsSync } from 'node:fs';
import { connectApi } from '../../daemon/api/api-client.ts';
import type { CheckJson, StatusJson } from '../../daemon/api/api-types.ts';
import { describeError } from '../../daemon/describe-error.ts';
import { readIdentity, type Identity } from '../../daemon/identity.ts';
import { readRepository, type Snapshot } from '../../daemon/beliefs/snapshot.ts';
import { isOperatingError } from '../../store/errors.ts';
import { homePaths, socketAddress, type Home } from '../../store/home/home.ts';

/** What one check found. */
export type Finding = Omit<CheckJson, 'name'>;

export interface Check {
  readonly name: string;
  /** True for a check of what lies in the home folder. */
  readonly inHome?: true;
  readonly look: (room: Room) => Promise<Finding> | Finding;
}

/** Thrown by a check that cannot be made; says why. */
export class NotChecked extends Error {}

/** What the checks share; everything is read once, by whoever asks first. */
export interface Room {
  readonly home: Home;
  readonly env: NodeJS.ProcessEnv;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly progress: (text: string) => void;
  /** Who this host is; NotChecked where that cannot be read, since another check says so. */
  readonly identity: () => Identity;
  /** The logs and the trust set; NotChecked likewise. */
  readonly snapshot: () => Promise<Snapshot>;
  /** What memd says of itself; undefined where none answers. */
  readonly daemon: () => Promise<StatusJson | undefined>;
}

/** Time in which a running memd says how it is. */
const daemonMs = 10_000;

export function openRoom(options: Pick<Room, 'env' | 'now' | 'progress'> & { readonly dir: string }): Room {
  const home = homePaths(options.dir);
  const identity = once(() => {
    try {
      return readIdentity(home);
    } catch (error) {
      return notChecked('who this host is cannot be read', error);
    }
  });
  const read = once(async () => {
    const { mesh } = identity();
    if (mesh === null) throw new NotChecked('this host has joined no mesh yet');
    const { repository } = home;
    return readRepository({ repository, mesh, tellVouched: false, progress: options.progress });
  });
  return {
    ...options,
    home,
    identity,
    snapshot: () => read().catch((error: unknown) => notChecked('the repository cannot be read', error)),
    daemon: once(() => askDaemon(home)),
  };
}

function notChecked(what: string, error: unknown): never {
  throw error instanceof NotChecked ? error : new NotChecked(`${what}: ${describeError(error).code}`);
}

async function askDaemon(home: Home): Promise<StatusJson | undefined> {
  const connection = await connectApi(socketAddress(home), daemonMs);
  if (connection === undefined) return undefined;
  try {
    return (await connection.call('status', {})) as StatusJson;
  } finally {
    connection.close();
  }
}

function once<T>(read: () => T): () => T {
  let answer: { readonly value: T } | undefined;
  return () => (answer ??= { value: read() }).value;
}

/** Makes every check; what throws is a finding as well. */
export async function runChecks(
  checks: readonly Check[],
  room: Room,
): Promise<{ readonly checks: readonly CheckJson[]; readonly notChecked: readonly string[] }> {
  const made: CheckJson[] = [];
  const left: string[] = [];
  const isThere = existsSync(room.home.dir);
  if (!isThere) left.push(`${checks.flatMap(({ name, inHome }) => (inHome ? name : [])).join(', ')}: there is no home`);
  for (const { name, look, inHome } of checks) {
    if (inHome && !isThere) continue;
    room.progress(`checking ${name}`);
    try {
      made.push({ name, ...(await look(room)) });
    } catch (error) {
      if (error instanceof NotChecked) left.push(`${name}: ${error.message}`);
      else made.push({ name, ...failure(error) });
    }
  }
  return { checks: made, notChecked: left };
}

function failure(error: unknown): Finding {
  // A plain refusal of the system, where nothing of ours has words for it.
  const isSystem = error instanceof Error && 'syscall' in error && !isOperatingError(error);
  if (isSystem) return { ok: false, detail: error.message };
  const { code, message, hint } = describeError(error);
  return { ok: false, detail: `${code}: ${message}`, ...(hint === undefined ? {} : { fix: hint }) };
}

/** A finding without a fault. */
export function fine(detail: string): Finding {
  return { ok: true, detail };
}

export function wrong(detail: string, fix: string): Finding {
  return { ok: false, detail, fix };
}
