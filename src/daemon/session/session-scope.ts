import { isAbsolute } from 'node:path';
import { projectOf } from '../../agent/project.ts';
import type { Engine } from '../engine.ts';

/** Scope of the folder that a session works in; null where it is in no project, or one that nothing names. */
export async function sessionScope(engine: Engine, cwd: string): Promise<string | null> {
  if (!isAbsolute(cwd)) return null;
  const project = await projectOf(cwd, { scopes: engine.config?.scopes ?? new Map(), env: process.env });
  return project?.scope ?? null;
}
