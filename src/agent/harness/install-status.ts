/** How an install stands: what the files say, and what the hook says when it is run. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { knownInstall, launcherOf, type InstallContext } from './apply-install.ts';
import { harnessFiles, type HarnessFiles, type InstallScope } from './harness-files.ts';
import { selfTestSession } from './hook-input.ts';
import { blockIn, instructionsBlock } from './marked-block.ts';
import { settingsState } from './plan-install.ts';
import { readTextFile } from './settings-file.ts';

export type InstallState = 'installed' | 'not installed' | 'altered' | 'other version';

export interface FileStatus {
  readonly file: string;
  readonly kind: 'settings' | 'launcher' | 'skill' | 'instructions';
  readonly state: InstallState | 'missing' | 'unreadable';
  readonly detail?: string;
}

export interface SelfTest {
  readonly ok: boolean;
  readonly milliseconds: number;
  /** First line of what an agent would be told. */
  readonly line?: string;
  readonly detail?: string;
}

export interface InstallStatus {
  readonly harness: string;
  readonly level: string;
  readonly folder: string;
  readonly state: InstallState;
  readonly files: readonly FileStatus[];
  /** The hook run once, as the harness would; missing when it is not installed. */
  readonly selfTest?: SelfTest;
  readonly notes: readonly string[];
}

/** Looks at everything; changes nothing but what a hook run leaves in the home's own logs. */
export function installStatus(context: InstallContext, scope: InstallScope, skill: string): InstallStatus {
  const paths = harnessFiles(scope, context.env);
  const launcher = launcherOf(context);
  const known = knownInstall(context, scope);
  const settings = settingsStatus(context, scope, paths, launcher.file);
  const isThere = settings.state !== 'not installed' || known !== undefined;
  const others = isThere
    ? [
        fileStatus('launcher', launcher.file, (text) => text === launcher.text, 'Launcher of the memory hooks of memd'),
        fileStatus('skill', paths.skill, (text) => text === skill, 'name: memd'),
        ...(known?.files.some(({ kind }) => kind === 'instructions') === true
          ? [fileStatus('instructions', paths.instructions, hasOurBlock, 'memd:begin')]
          : []),
      ]
    : [];
  const files = [settings, ...others];
  const { harness, level, folder } = scope;
  const works = settings.state === 'installed' || settings.state === 'altered';
  return {
    harness,
    level,
    folder,
    state: stateOf(files),
    files,
    ...(works ? { selfTest: selfTest(launcher.file, harness) } : {}),
    notes: harness === 'codex' && works ? codexNotes(paths) : [],
  };
}

function settingsStatus(
  { env }: InstallContext,
  scope: InstallScope,
  { settings: file }: HarnessFiles,
  launcher: string,
): FileStatus {
  try {
    const state = settingsState({ scope, env, launcher, known: undefined });
    if (typeof state === 'string') return { file, kind: 'settings', state };
    return { file, kind: 'settings', state: 'unreadable', detail: state.fault };
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return { file, kind: 'settings', state: 'unreadable', detail };
  }
}

function fileStatus(
  kind: FileStatus['kind'],
  file: string,
  isOurs: (text: string) => boolean,
  trace: string,
): FileStatus {
  const text = readTextFile(file);
  if (text === undefined) return { file, kind, state: 'missing' };
  if (isOurs(text)) return { file, kind, state: 'installed' };
  return { file, kind, state: text.includes(trace) ? 'other version' : 'altered' };
}

function hasOurBlock(text: string): boolean {
  return blockIn(text)?.replaceAll('\r\n', '\n') === instructionsBlock;
}

function stateOf([settings, ...others]: readonly FileStatus[]): InstallState {
  if (settings?.state === 'not installed' && others.length === 0) return 'not installed';
  const states = [settings, ...others].map((one) => one?.state);
  if (states.every((state) => state === 'installed')) return 'installed';
  return states.every((state) => state === 'installed' || state === 'other version') ? 'other version' : 'altered';
}

/** Runs the launcher as a harness does, and looks at the answer as a harness does. */
function selfTest(launcher: string, harness: string): SelfTest {
  const input = { session_id: selfTestSession, hook_event_name: 'SessionStart', source: 'startup', cwd: path.sep };
  const start = performance.now();
  const run = spawnSync(launcher, [harness, 'SessionStart'], {
    input: JSON.stringify(input),
    encoding: 'utf8',
    timeout: 15_000,
  });
  const milliseconds = Math.round(performance.now() - start);
  if (run.error !== undefined) return { ok: false, milliseconds, detail: run.error.message };
  if (run.status !== 0) return { ok: false, milliseconds, detail: `it ended with ${run.status ?? run.signal}` };
  const line = firstLine(run.stdout);
  if (line === undefined) return { ok: false, milliseconds, detail: 'its answer is none that the harness knows' };
  // A hook that says that memd does not run works: that is its whole task then.
  return { ok: !line.includes('NOT ANSWERING'), milliseconds, line };
}

function firstLine(stdout: string): string | undefined {
  try {
    const answer = JSON.parse(stdout) as { hookSpecificOutput?: { additionalContext?: unknown } };
    const text = answer.hookSpecificOutput?.additionalContext;
    return typeof text === 'string' ? text.split('\n')[0] : undefined;
  } catch {
    return undefined;
  }
}

/** Codex keeps what the user trusted in its config.toml, under the path of the hooks file and the event. */
function codexNotes({ settings }: HarnessFiles): readonly string[] {
  const config = path.join(path.dirname(settings), 'config.toml');
  const text = readTextFile(config) ?? '';
  if (text.includes(`${settings}:session_start:`)) return [`${config} names the hook: Codex has asked about it`];
  return ['Codex runs a new or changed hook only once you trust it: open /hooks in Codex and trust the hooks of memd'];
}
