import { Command } from 'commander';
import { counted } from '../../daemon/counted.ts';
import type { Cli } from '../context.ts';

/** rebuild: throws away everything derived and makes it again from git. */
export function makeCommand(cli: Cli): Command {
  return new Command('rebuild')
    .description('make the database, the plain copies and the views again from the logs in git')
    .addHelpText('after', '\nExample:\n  memctl rebuild')
    .action(async () => {
      const done = await cli.call('rebuild', {});
      cli.output.result(done, () => [`${counted(done.events, 'event')} in ${done.seconds} s, root ${done.root}`]);
    });
}
