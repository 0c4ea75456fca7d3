import { Command } from 'commander';
import { counted } from '../../daemon/counted.ts';
import type { Cli } from '../context.ts';

/** maintain: what memd does on its schedule, now. */
export function makeCommand(cli: Cli): Command {
  return new Command('maintain')
    .description('pack the repository now; memd does so by itself every hour, where it is due')
    .option('--full', 'all of it, due or not: pack loose objects, merge packs, find deltas again')
    .addHelpText('after', '\nExample:\n  memctl maintain --full')
    .action(async ({ full = false }: { full?: boolean }) => {
      const done = await cli.call('maintain', { full });
      const { loose, packs, packed, merged, seconds } = done;
      cli.output.result(done, () => [
        packed || merged
          ? `${counted(loose.before, 'loose object')} and ${counted(packs.before, 'pack')} before, ${loose.after} and ${packs.after} now, in ${seconds} s`
          : `nothing is due: ${counted(loose.before, 'loose object')}, ${counted(packs.before, 'pack')}`,
      ]);
    });
}
