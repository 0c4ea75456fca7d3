import { Command } from 'commander';
import { approveOp } from '../approve.ts';
import { describeItem, itemsOf } from '../charter-text.ts';
import type { Cli } from '../context.ts';
import { withSigningOptions, type SigningOptions } from '../signing-options.ts';

/** policy show | set: settings that the whole mesh shares. */
export function makeCommand(cli: Cli): Command {
  return new Command('policy')
    .description('settings that the whole mesh shares')
    .addCommand(showCommand(cli))
    .addCommand(setCommand(cli))
    .addHelpText(
      'after',
      '\nmemd heeds notify.order and notify.wait (docs/operations.md, Notifications); other names are kept.\nExample:\n  memctl policy set notify.wait 60',
    );
}

function showCommand(cli: Cli): Command {
  return new Command('show')
    .description('every policy, its value, and who set it')
    .addHelpText('after', '\nExample:\n  memctl policy show --json')
    .action(async () => {
      const items = itemsOf((await cli.call('charter', {})).items, 'policy');
      cli.output.result(items, () =>
        items.length === 0 ? ['no policy is set: every setting has its default'] : items.flatMap(describeItem),
      );
    });
}

function setCommand(cli: Cli): Command {
  const command = new Command('set')
    .description('sign a value for the whole mesh')
    .argument('<key>', 'a name like notify.wait')
    .argument('<value>', 'a whole number, or a line of text');
  return withSigningOptions(command)
    .addHelpText(
      'after',
      '\nmemd heeds notify.order and notify.wait (docs/operations.md, Notifications); other names are kept.\nExample:\n  memctl policy set notify.wait 60',
    )
    .action(async (key: string, text: string, options: SigningOptions) => {
      const value = policyValue(text);
      const id = await approveOp(cli, {
        op: 'policy-set',
        args: { key, value },
        keyFile: options.key,
      });
      cli.output.result({ id, key, value }, () => [`policy ${key} set by trust op ${id}`]);
    });
}

/** A number where the text is one in its usual form; else the text. Pure. */
export function policyValue(text: string): string | number {
  const number = Number(text);
  return /^(?:0|-?[1-9]\d*)$/.test(text) && Number.isSafeInteger(number) ? number : text;
}
