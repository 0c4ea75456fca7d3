/** Where each harness keeps its settings, skills and instructions. */
import path from 'node:path';
import { createHash } from 'node:crypto';
import type { HarnessName } from './harness.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** For whom hooks are installed: everything that the user does, or one project on this machine. */
export interface InstallScope {
  readonly harness: HarnessName;
  readonly level: 'user' | 'project';
  /** Absolute folder of the user, or root of the project. */
  readonly folder: string;
}

export interface HarnessFiles {
  /** JSON file with the key `hooks`. */
  readonly settings: string;
  readonly skill: string;
  /** Markdown that the harness shows to its agents. */
  readonly instructions: string;
  /** True where the harness reads JSON with comments. */
  readonly comments: boolean;
}

/**
 * The files of one harness. In a project those that are for this machine alone, where the harness knows such: the hook is
 * an absolute path. Sources: code.claude.com/docs/en/settings, /memory, /skills; developers.openai.com/codex/hooks, /skills.
 */
export function harnessFiles({ harness, level, folder }: InstallScope, env: Environment): HarnessFiles {
  const own = (name: string, fallback: string): string => {
    const said = env[name];
    return said !== undefined && path.isAbsolute(said) ? path.normalize(said) : path.join(folder, fallback);
  };
  if (harness === 'claude-code') {
    const config = level === 'user' ? own('CLAUDE_CONFIG_DIR', '.claude') : path.join(folder, '.claude');
    return {
      settings: path.join(config, level === 'user' ? 'settings.json' : 'settings.local.json'),
      skill: path.join(config, 'skills', 'memd', 'SKILL.md'),
      instructions: level === 'user' ? path.join(config, 'CLAUDE.md') : path.join(folder, 'CLAUDE.local.md'),
      comments: true,
    };
  }
  const config = level === 'user' ? own('CODEX_HOME', '.codex') : path.join(folder, '.codex');
  return {
    settings: path.join(config, 'hooks.json'),
    skill: path.join(folder, '.agents', 'skills', 'memd', 'SKILL.md'),
    instructions: path.join(level === 'user' ? config : folder, 'AGENTS.md'),
    comments: false,
  };
}

/** Folder of the launchers and of the record of what was installed: beside the homes, in no checkout. */
export function hooksFolder(env: Environment, user: string): string {
  const data = env['XDG_DATA_HOME'];
  const base = data !== undefined && path.isAbsolute(data) ? path.normalize(data) : path.join(user, '.local', 'share');
  return path.join(base, 'memd-hooks');
}

/** The launcher of one home; two homes on a machine do not share one. */
export function launcherFile(folder: string, home: string): string {
  return path.join(folder, `run-${createHash('sha256').update(home).digest('hex').slice(0, 8)}`);
}

/** A shell command that runs one of our launchers. */
export function isOurCommand(command: string): boolean {
  return /\/memd-hooks\/run-[0-9a-f]{8}'? /.test(command);
}
