import { Command } from 'commander';
import type { Cli } from '../context.ts';
import { installService, serviceStatus, uninstallService, type ServiceStatus } from '../service/service.ts';

/** service: memd as a service of the user, under systemd. */
export function makeCommand(cli: Cli): Command {
  return new Command('service')
    .description('run memd as a systemd service of this user')
    .addHelpText('after', '\nIts log: journalctl --user -u memd\nExample:\n  memctl service install --linger')
    .addCommand(installCommand(cli))
    .addCommand(uninstallCommand(cli))
    .addCommand(statusCommand(cli));
}

function installCommand(cli: Cli): Command {
  return new Command('install')
    .description('write ~/.config/systemd/user/memd.service with absolute paths, enable it and start it')
    .option('--linger', 'have it run without a login and from boot on: loginctl enable-linger')
    .option('--no-start', 'write and enable it only')
    .addHelpText(
      'after',
      '\nRun it again after memctl, Node or the view targets of config.toml have moved.\nExample:\n  memctl service install --linger',
    )
    .action(async (options: { linger?: boolean; start: boolean }) => {
      const context = { home: cli.home(), env: process.env };
      const done = await installService(context, { start: options.start, linger: options.linger === true });
      cli.output.result(done, () => [
        `${done.unit}: ${done.file}`,
        `  ${done.enabled ? 'enabled' : 'not enabled'}, ${done.started ? 'started' : 'not started'}`,
        ...done.notes.map((note) => `  ${note}`),
        ...done.next.map((command) => `next: ${command}`),
      ]);
    });
}

function uninstallCommand(cli: Cli): Command {
  return new Command('uninstall')
    .description('stop it and remove exactly what install wrote')
    .option('--force', 'also when the unit was edited by hand')
    .addHelpText('after', '\nExample:\n  memctl service uninstall')
    .action(async (options: { force?: boolean }) => {
      const context = { home: cli.home(), env: process.env };
      const done = await uninstallService(context, { force: options.force === true });
      cli.output.result(done, () => [
        ...done.removed.map((file) => `removed ${file}`),
        ...done.notes.map((note) => `  ${note}`),
      ]);
    });
}

function statusCommand(cli: Cli): Command {
  return new Command('status')
    .description('is it installed, as it should be, and running')
    .addHelpText(
      'after',
      '\nExit code: 0 installed and running, or not installed; 1 edited, out of date, stopped or failed\nExample:\n  memctl service status --json',
    )
    .action(async () => {
      const status = await serviceStatus({ home: cli.home(), env: process.env });
      cli.output.result(status, () => describe(status));
      process.exitCode = isFine(status) ? 0 : 1;
    });
}

function isFine({ state, manager, active, enabled }: ServiceStatus): boolean {
  if (state === 'not installed') return true;
  return state === 'installed' && (!manager || (active === 'active' && enabled === true));
}

function describe(status: ServiceStatus): string[] {
  const { unit, state, home, enabled, active, pid, linger } = status;
  const word = (value: boolean | null, yes: string, no: string): string[] => (value === null ? [] : [value ? yes : no]);
  const parts = [
    ...word(enabled, 'enabled', 'not enabled'),
    ...(active === null ? [] : [active]),
    ...(pid === null ? [] : [`process ${pid}`]),
    ...word(linger, 'runs without a login', 'stops at logout'),
  ];
  return [
    `${unit}: ${state}`,
    ...(home === null ? [] : [`  home ${home}`]),
    ...(state === 'not installed' || parts.length === 0 ? [] : [`  ${parts.join(', ')}`]),
    ...status.notes.map((note) => `  ${note}`),
  ];
}
