import { Command } from 'commander';
import type { Cli } from '../context.ts';
import { recallHere } from '../recall-here.ts';
import { describeRecall, exitOfRecall } from '../recall-text.ts';

/** recall: one subject is answered or refused, never replaced by a similar one. */
export function makeCommand(cli: Cli): Command {
  return new Command('recall')
    .description('what is believed about a subject, with its home read now, or why nothing is')
    .argument('<subject>', 'class/entity')
    .option('--scope <S>', 'project scope; . is the project here; default: that of this folder, else everywhere')
    .option('--check', 'fetch an https home too, from the hosts that config.toml names')
    .addHelpText(
      'after',
      `
A home is read below the project here and the folders of config.toml, [homes] roots. COULD NOT CHECK means that what is
printed is a copy.
Exit codes: 0 served, 3 unresolved or undecided, 4 stale, 6 quarantined or held, 7 superseded, retracted, purged or not
found
Examples:
  memctl recall ssh-route/mini
  memctl recall endpoint/grafana --check`,
    )
    .action(async (subject: string, options: { scope?: string; check?: boolean }) => {
      const recalled = await recallHere(cli, subject, options);
      cli.output.result(recalled, () => describeRecall(recalled, Date.now()));
      process.exitCode = exitOfRecall[recalled.status];
    });
}
