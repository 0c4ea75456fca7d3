import { Command } from 'commander';
import { counted } from '../../daemon/counted.ts';
import type { Cli } from '../context.ts';

/** verify: is what is stored what was signed, and is what is derived what follows from it? */
export function makeCommand(cli: Cli): Command {
  return new Command('verify')
    .description('check stored logs, chain and derived files against each other')
    .option('--deep', 'every object, every signature, the database row by row, every plain copy')
    .addHelpText('after', '\nExit code 1 with problems, each named.\nExample:\n  memctl verify --deep')
    .action(async (options: { deep?: boolean }) => {
      const report = await cli.call('verify', { deep: options.deep === true });
      cli.output.result(report, () => [
        ...Object.entries(report.logs).map(
          ([host, log]) => `${host}: ${counted(log.lines, 'line')}, link ${log.link.slice(0, 12)}`,
        ),
        `root ${report.root}`,
        ...report.problems.map((problem) => `PROBLEM ${problem}`),
        report.ok
          ? 'clean'
          : `${counted(report.problems.length, 'problem')}; git objects are the truth, the rest comes back with: memctl rebuild`,
      ]);
      process.exitCode = report.ok ? 0 : 1;
    });
}
