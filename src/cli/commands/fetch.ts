import { Command } from 'commander';
import type { Cli } from '../context.ts';

/** fetch: one cycle with every peer, now. */
export function makeCommand(cli: Cli): Command {
  return new Command('fetch')
    .description('fetch from every peer now, or from one')
    .argument('[peer]', 'host name')
    .addHelpText('after', '\nExit code 1 when no peer could be reached.\nExample:\n  memctl fetch beta')
    .action(async (peer: string | undefined) => {
      const { peers } = await cli.call('fetch', peer === undefined ? {} : { peer });
      cli.output.result(peers, () =>
        peers.length === 0
          ? ['no peers: this mesh has one host (memctl host add LINE)']
          : peers.map(
              (one) => `${one.peer}: ${one.state}, ${one.new} new${one.reason === undefined ? '' : `: ${one.reason}`}`,
            ),
      );
      process.exitCode = peers.length > 0 && peers.every((one) => one.state !== 'up') ? 1 : 0;
    });
}
