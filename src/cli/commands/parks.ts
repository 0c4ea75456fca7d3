import { Command } from 'commander';
import type { Cli } from '../context.ts';
import { claimLine, saying } from '../claim-text.ts';

/** parks: every subject whose live claims contradict. */
export function makeCommand(cli: Cli): Command {
  return new Command('parks')
    .description('subjects whose live claims contradict each other, with every side')
    .addHelpText('after', '\nExample:\n  memctl parks --json')
    .action(async () => {
      const { parks } = await cli.call('parks', {});
      const now = Date.now();
      cli.output.result(parks, () =>
        parks.length === 0
          ? ['no parks: nothing that is known here contradicts anything else']
          : parks.flatMap((park) => [
              `${cli.output.strong(`UNRESOLVED ${park.subject}`)}${park.scope === '*' ? '' : ` in ${park.scope}`} (${park.alarm})`,
              ...park.claims.map((claim) => `  ${saying(claim)}\n    ${claimLine(claim, now)}`),
            ]),
      );
    });
}
