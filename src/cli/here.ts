/** Where the person stands: the folder, the project around it, and what that means for scopes. */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import type { Project } from '../agent/project.ts';
import { configFile, defaultConfig, type Config } from '../daemon/config/config-file.ts';
import { Refusal } from '../daemon/refusal.ts';

/** The working folder; undefined when it has been removed under this process. */
export function currentFolder(): string | undefined {
  try {
    return process.cwd();
  } catch {
    return undefined;
  }
}

/** What config.toml says, or why it cannot be gone by. Loaded only where it is asked for. */
export async function configHere(): Promise<{ readonly config: Config } | { readonly fault: Refusal }> {
  const file = configFile(process.env);
  // Without a file there is nothing to parse, and no reason to load what parses it.
  if (!existsSync(file)) return { config: defaultConfig(file) };
  const { readConfig } = await import('../daemon/config/config.ts');
  try {
    return { config: readConfig(process.env) };
  } catch (error) {
    if (error instanceof Refusal) return { fault: error };
    throw error;
  }
}

/** The project around the working folder. */
export async function projectHere(config: Config | undefined): Promise<Project | undefined> {
  const folder = currentFolder();
  if (folder === undefined) return undefined;
  const { projectOf } = await import('../agent/project.ts');
  return projectOf(folder, { scopes: config?.scopes ?? new Map(), env: { HOME: homedir(), ...process.env } });
}

/**
 * The scope that a reading command asks in: what was named, `.` being this project, else this project's, else everywhere.
 * Where a scope has nothing to say memd answers with what holds everywhere. Refuses SCOPE_INVALID.
 */
export function readingScope(named: string | undefined, project: Project | undefined): string {
  if (named === '.') return requireScope(project);
  return named ?? project?.scope ?? '*';
}

/**
 * The scope that a writing command claims for: what was named, else what a `.memd` file says, else everywhere. A project
 * that never wrote its scope down does not silently get claims of its own. Refuses SCOPE_INVALID.
 */
export async function writingScope(named: string | undefined): Promise<string | undefined> {
  if (named === '.') {
    const said = await configHere();
    if ('fault' in said) throw said.fault;
    return requireScope(await projectHere(said.config));
  }
  const folder = currentFolder();
  if (named !== undefined || folder === undefined) return named;
  const { writtenScope } = await import('../agent/project.ts');
  const written = writtenScope(folder);
  if (written === undefined || 'scope' in written) return written?.scope;
  throw invalid(written.fault, 'mend it, or name a scope: --scope my-project, or --scope "*" for everywhere');
}

function requireScope(project: Project | undefined): string {
  const scope = project?.scope ?? null;
  if (scope !== null) return scope;
  const isGone = currentFolder() === undefined;
  const why = project?.fault ?? (isGone ? 'that folder is gone' : 'it is in no project');
  const hint = isGone ? 'go to a folder that exists' : 'write its name into a .memd file in its root';
  throw invalid(`--scope . means the project around the working folder, but ${why}`, hint);
}

function invalid(message: string, hint: string): Refusal {
  return new Refusal({ code: 'SCOPE_INVALID', message, hint, exit: 2 });
}
