import type { Engine } from '../engine.ts';

/** Scope of the folder that a session works in; null where projects are not told apart. */
export function sessionScope(_engine: Engine, _cwd: string): Promise<string | null> {
  return Promise.resolve(null);
}
