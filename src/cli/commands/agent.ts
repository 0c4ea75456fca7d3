import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { Argument, Command } from 'commander';
import { applyInstall, applyUninstall, knownInstall, launcherOf } from '../../agent/harness/apply-install.ts';
import type { InstallScope } from '../../agent/harness/harness-files.ts';
import { harnessNames, type HarnessName } from '../../agent/harness/harness.ts';
import { installStatus, type InstallStatus } from '../../agent/harness/install-status.ts';
import { planInstall, planUninstall, type Plan } from '../../agent/harness/plan-install.ts';
import { Refusal } from '../../daemon/refusal.ts';
import type { Cli } from '../context.ts';
import { changeLines } from '../change-lines.ts';
import { installContext, packageRoot, readSkill } from '../install-context.ts';

interface AgentFlags {
  readonly project?: string | true;
  readonly instructions?: boolean;
  readonly yes?: boolean;
}

/** agent: wires an agent harness to the memory, and takes it out again without a trace. */
export function makeCommand(cli: Cli): Command {
  return new Command('agent')
    .description('have agent sessions start with the memory')
    .addCommand(installCommand(cli))
    .addCommand(uninstallCommand(cli))
    .addCommand(statusCommand(cli));
}

function harnessArgument(): Argument {
  return new Argument('<harness>').choices([...harnessNames]);
}

const projectHelp = 'for one project, on this machine (default: this folder); without it: for all that this user does';

function installCommand(cli: Cli): Command {
  return new Command('install')
    .description('add the session hooks, the skill and a short block of instructions; shows the change and asks')
    .addArgument(harnessArgument())
    .option('--project [DIR]', projectHelp)
    .option('--no-instructions', 'leave CLAUDE.md or AGENTS.md alone')
    .option('--yes', 'do not ask')
    .addHelpText('after', '\nExample:\n  memctl agent install claude-code')
    .action(async (harness: HarnessName, flags: AgentFlags) => {
      const context = installContext(cli.home());
      const scope = scopeOf(harness, flags);
      const plan = planInstall({
        scope,
        env: process.env,
        launcher: launcherOf(context).file,
        skill: readSkill(),
        block: flags.instructions !== false,
        known: knownInstall(context, scope),
      });
      await confirmPlan(cli, plan, flags.yes === true);
      const changed = applyInstall(context, scope, plan);
      report(cli, { scope, changed, notes: [...plan.notes, ...afterInstall(harness, changed)] });
    });
}

function uninstallCommand(cli: Cli): Command {
  return new Command('uninstall')
    .description('take out what agent install put in; files become what they were, byte for byte')
    .addArgument(harnessArgument())
    .option('--project [DIR]', projectHelp)
    .option('--yes', 'do not ask')
    .addHelpText('after', '\nExample:\n  memctl agent uninstall claude-code')
    .action(async (harness: HarnessName, flags: AgentFlags) => {
      const context = installContext(cli.home());
      const scope = scopeOf(harness, flags);
      const launcher = launcherOf(context).file;
      const plan = planUninstall({ scope, env: process.env, launcher, known: knownInstall(context, scope) });
      await confirmPlan(cli, plan, flags.yes === true);
      report(cli, { scope, changed: applyUninstall(context, scope, plan), notes: plan.notes });
    });
}

function statusCommand(cli: Cli): Command {
  return new Command('status')
    .description('is it installed, unchanged, of this version, and does the hook work: it is run once')
    .addArgument(new Argument('[harness]').choices([...harnessNames]))
    .option('--project [DIR]', projectHelp)
    .addHelpText(
      'after',
      '\nExit code: 0 installed and working, or not installed; 1 altered, of another version or not working\nExample:\n  memctl agent status',
    )
    .action((harness: HarnessName | undefined, flags: AgentFlags) => {
      const context = installContext(cli.home());
      const skill = readSkill();
      const names = harness === undefined ? harnessNames : [harness];
      const found = names.map((name) => installStatus(context, scopeOf(name, flags), skill));
      cli.output.result(found, () => found.flatMap(describeStatus));
      const sound = ({ state, selfTest }: InstallStatus): boolean =>
        state === 'not installed' || (state === 'installed' && selfTest?.ok !== false);
      if (!found.every(sound)) process.exitCode = 1;
    });
}

function scopeOf(harness: HarnessName, { project }: AgentFlags): InstallScope {
  if (project === undefined) return { harness, level: 'user', folder: homedir() };
  return { harness, level: 'project', folder: resolve(project === true ? '.' : project) };
}

/** Shows what would change and asks. Nothing to change: nothing to ask. */
async function confirmPlan(cli: Cli, plan: Plan, yes: boolean): Promise<void> {
  const changes = plan.files.filter(({ before, after }) => before !== after);
  if (changes.length === 0) return;
  for (const line of changes.flatMap(changeLines)) cli.output.note(line);
  if (yes) return;
  if (!process.stdin.isTTY) {
    throw new Refusal({
      code: 'BAD_REQUEST',
      message: 'nobody is there to look at the change; nothing was changed',
      hint: 'run it in a terminal, or say --yes',
      exit: 2,
    });
  }
  const { confirm, isCancel } = await import('@clack/prompts');
  const answer = await confirm({ message: 'Change these files?', initialValue: true });
  if (!isCancel(answer) && answer) return;
  throw new Refusal({ code: 'BAD_REQUEST', message: 'not confirmed; nothing was changed', exit: 1 });
}

function afterInstall(harness: HarnessName, changed: readonly string[]): readonly string[] {
  if (changed.length === 0) return [];
  const onPath = isOnPath('memctl')
    ? []
    : [
        `agents call memctl by name and it is not on PATH here: npm link in ${packageRoot}, or add ${join(packageRoot, 'bin')} to PATH`,
      ];
  if (harness === 'claude-code')
    return ['sessions that run already start with it after /clear or a restart', ...onPath];
  return [
    'Codex runs a new or changed hook only once you trust it: open /hooks in Codex and trust the hooks of memd; until then it skips them without a word',
    ...onPath,
  ];
}

function isOnPath(name: string): boolean {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.some((folder) => existsSync(join(folder, name)));
}

interface Done {
  readonly scope: InstallScope;
  readonly changed: readonly string[];
  readonly notes: readonly string[];
}

function report(cli: Cli, { scope, changed, notes }: Done): void {
  const { harness, level, folder } = scope;
  cli.output.result({ harness, level, folder, changed, notes }, () => [
    ...(changed.length === 0 ? ['nothing to change'] : changed.map((file) => `changed ${file}`)),
    ...notes.map((note) => `note: ${note}`),
    ...(changed.length === 0 ? [] : [`next: memctl agent status ${harness}`]),
  ]);
}

function describeStatus({ harness, level, state, files, selfTest, notes }: InstallStatus): string[] {
  const test =
    selfTest === undefined
      ? []
      : [
          `  hook run: ${selfTest.ok ? 'ok' : 'NOT WORKING'}, ${selfTest.milliseconds} ms: ${selfTest.line ?? selfTest.detail ?? ''}`,
        ];
  const shown = state === 'not installed' ? [] : files;
  return [
    `${harness} (${level}): ${state}`,
    ...shown.map(
      ({ file, kind, state: own, detail }) => `  ${kind} ${own}: ${file}${detail === undefined ? '' : ` (${detail})`}`,
    ),
    ...test,
    ...notes.map((note) => `  note: ${note}`),
  ];
}
