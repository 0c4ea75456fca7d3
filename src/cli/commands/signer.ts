import { Command } from 'commander';
import { describeSigner } from '../charter-text.ts';
import type { Cli } from '../context.ts';
import { addCommand, rotateCommand } from '../signer/add.ts';
import { delegateCommand } from '../signer/delegate.ts';
import { exportCommand, protectCommand } from '../signer/keys.ts';
import { revokeCommand } from '../signer/revoke.ts';

/** signer add | list | revoke | rotate | protect | delegate | export: who has the last word. */
export function makeCommand(cli: Cli): Command {
  return new Command('signer')
    .description('people whose signature counts: add, list, revoke, rotate, and what they delegate')
    .addCommand(addCommand(cli))
    .addCommand(listCommand(cli))
    .addCommand(revokeCommand(cli))
    .addCommand(rotateCommand(cli))
    .addCommand(protectCommand(cli))
    .addCommand(delegateCommand(cli))
    .addCommand(exportCommand(cli))
    .addHelpText('after', '\nExample:\n  memctl signer add dana.pub --as dana');
}

function listCommand(cli: Cli): Command {
  return new Command('list')
    .description('signers of the charter, revoked ones too, by rank')
    .addHelpText('after', '\nExample:\n  memctl signer list --json')
    .action(async () => {
      const { signers } = await cli.call('charter', {});
      cli.output.result(signers, () => signers.flatMap(describeSigner));
    });
}
