import { Command } from 'commander';
import type { Cli } from '../context.ts';

/** notify test: shows that a person is reached. */
export function makeCommand(cli: Cli): Command {
  const command = new Command('notify')
    .description('how a person hears of parks and alarms')
    .addHelpText('after', '\nExample:\n  memctl notify test');
  command
    .command('test')
    .description('send a test message by every notifier of this host, or by one')
    .argument('[name]', 'name of a [[notifier]] in config.toml')
    .addHelpText(
      'after',
      `
A running memd sends it, with the config.toml that it read at its start. Exit 1 when one fails.
Examples:
  memctl notify test
  memctl notify test phone`,
    )
    .action(async (name: string | undefined) => {
      const { results } = await cli.call('notify.test', name === undefined ? {} : { name });
      cli.output.result(results, () =>
        results.map(({ notifier, kind, ok, reason }) => `${notifier} (${kind}): ${ok ? 'sent' : `FAILED: ${reason}`}`),
      );
      if (!results.every(({ ok }) => ok)) process.exitCode = 1;
    });
  return command;
}
