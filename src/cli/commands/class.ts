import { Command, Option } from 'commander';
import type { Cli } from '../context.ts';
import { approveOp } from '../approve.ts';
import { withSigningOptions, type SigningOptions } from '../signing-options.ts';

type ClassOptions = SigningOptions & { readonly description: string; readonly claims: string; readonly revise: string };

/** class add | list: what subjects may be about. */
export function makeCommand(cli: Cli): Command {
  const command = new Command('add')
    .description('sign a new class of subjects into the charter')
    .argument('<name>', 'slug, for example service')
    .option('--description <TEXT>', 'what it is for', '')
    .addOption(
      new Option('--claims <C>', 'facts about the world or rules of behaviour')
        .choices(['fact', 'rule'])
        .default('fact'),
    )
    .addOption(
      new Option('--revise <R>', 'may an agent of another host revise an agreed belief?')
        .choices(['mesh', 'host'])
        .default('mesh'),
    );
  const add = withSigningOptions(command)
    .addHelpText('after', '\nExample:\n  memctl class add service --description "what runs where"')
    .action(async (name: string, options: ClassOptions) => {
      const { key, yes: _, ...args } = options;
      const id = await approveOp(cli, {
        op: 'class-add',
        args: { name, ...args },
        keyFile: key,
      });
      cli.output.result({ id }, () => [`class ${name} added by trust op ${id}`]);
    });
  const list = new Command('list')
    .description('classes of the charter')
    .addHelpText('after', '\nExample:\n  memctl class list')
    .action(async () => {
      const { classes } = await cli.call('charter', {});
      cli.output.result(classes, () =>
        classes.map((one) => `${one.name}: ${one.claims ?? 'no claims'}, ${one.description}`),
      );
    });
  return new Command('class').description('classes of subjects').addCommand(add).addCommand(list);
}
