import { Command } from 'commander';
import type { Cli } from '../context.ts';
import { describeCharter, describeOp } from '../charter-text.ts';

/** charter: what the trust set amounts to. */
export function makeCommand(cli: Cli): Command {
  return new Command('charter')
    .description('hosts, signers, classes, audiences and policy in effect, who approved them when, and what disagrees')
    .option('--ops', 'every trust op as well, oldest first, void ones marked')
    .addHelpText(
      'after',
      `
A CHARTER_FORK ends with an op about the same item by somebody who has seen both sides: sign it again as it should be.
Examples:
  memctl charter
  memctl charter --ops
  memctl show OP --sshsig proof     verifies one op with stock ssh-keygen`,
    )
    .action(async (options: { ops?: boolean }) => {
      const charter = await cli.call('charter', {});
      cli.output.result(charter, () => [
        ...describeCharter(charter),
        ...(options.ops === true ? ['', ...charter.ops.map(describeOp)] : []),
      ]);
    });
}
