/** Which project's memory a session is told: that of the folder it works in. */
import { homedir } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { projectOf } from '../../agent/project.ts';
import { sessionScopeWaitMs } from '../../core/limits.ts';
import type { Engine } from '../engine.ts';

const unknown = Symbol('not known in time');

/**
 * Scope of a folder; `*` where it is in no project, or in one that has no id. Null when that cannot be said in time (the
 * first look at a long history): then rows of every project are told, each with its own name.
 */
export async function sessionScope(engine: Pick<Engine, 'config'>, folder: string): Promise<string | null> {
  if (folder === '') return '*';
  const options = {
    scopes: engine.config?.scopes ?? new Map<string, string>(),
    env: { HOME: homedir(), ...process.env },
  };
  const late = new AbortController();
  try {
    const found = await Promise.race([
      // A folder that cannot be looked at is in no project that we know of.
      projectOf(folder, options).catch(() => undefined),
      pause(sessionScopeWaitMs, unknown, { signal: late.signal }),
    ]);
    return found === unknown ? null : (found?.scope ?? '*');
  } finally {
    late.abort();
  }
}
