import { Command } from 'commander';
import type { Cli } from '../context.ts';
import { configHere, projectHere, readingScope } from '../here.ts';
import { withHome } from '../recall-home.ts';
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
Exit codes: 0 served, 3 unresolved or undecided, 4 stale, 6 quarantined or held, 7 superseded, retracted or not found
Examples:
  memctl recall ssh-route/mini
  memctl recall endpoint/grafana --check`,
    )
    .action(async (subject: string, options: { scope?: string; check?: boolean }) => {
      const config = await configHere();
      const project = await projectHere('config' in config ? config.config : undefined);
      const answer = await cli.call('recall', { subject, scope: readingScope(options.scope, project) });
      const check = options.check === true;
      const recalled = await withHome(answer, { memd: cli.home(), config, project, check });
      cli.output.result(recalled, () => describeRecall(recalled, Date.now()));
      process.exitCode = exitOfRecall[recalled.status];
    });
}
