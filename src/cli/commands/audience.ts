import { Command } from 'commander';
import { approveOp } from '../approve.ts';
import { describeItem, itemsOf } from '../charter-text.ts';
import type { Cli } from '../context.ts';
import { withSigningOptions, wordList, type SigningOptions } from '../signing-options.ts';

/** audience add | list: whom views are made for. */
export function makeCommand(cli: Cli): Command {
  return new Command('audience')
    .description('whom views are made for, and what they see of each other')
    .addCommand(addCommand(cli))
    .addCommand(listCommand(cli))
    .addHelpText('after', '\nExample:\n  memctl audience add ops --includes operator');
}

function addCommand(cli: Cli): Command {
  const command = new Command('add')
    .description('sign a new audience into the charter, or change what one includes')
    .argument('<name>', 'slug, for example ops')
    .option('--includes <NAMES>', 'audiences whose events it sees too, comma separated', '');
  return withSigningOptions(command)
    .addHelpText(
      'after',
      `
Audiences choose what is shown, not who may read: every host holds every log.
Example:
  memctl audience add ops --includes operator,family`,
    )
    .action(async (name: string, options: SigningOptions & { includes: string }) => {
      const includes = wordList(options.includes);
      const id = await approveOp(cli, {
        op: 'audience-add',
        args: { name, includes },
        keyFile: options.key,
      });
      cli.output.result({ id, name, includes }, () => [`audience ${name} added by trust op ${id}`]);
    });
}

function listCommand(cli: Cli): Command {
  return new Command('list')
    .description('audiences of the charter')
    .addHelpText('after', '\nExample:\n  memctl audience list')
    .action(async () => {
      const items = itemsOf((await cli.call('charter', {})).items, 'audience');
      cli.output.result(items, () => items.flatMap(describeItem));
    });
}
