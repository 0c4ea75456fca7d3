import { Command, Option } from 'commander';
import type { BelievedJson, DiffJson } from '../../daemon/api/api-types.ts';
import { saying } from '../claim-text.ts';
import type { Cli } from '../context.ts';
import { shortId } from '../output.ts';
import { readTime, timeForms } from '../time.ts';
import { describeReplay } from './replay.ts';

interface Options {
  readonly from: string;
  readonly to: string;
  readonly host?: string;
}

/** diff: what changed between two instants. */
export function makeCommand(cli: Cli): Command {
  return new Command('diff')
    .description('what a host believed otherwise at two instants, and which event made the difference')
    .requiredOption('--from <TIME>', `the earlier instant: ${timeForms}`, readTime)
    .addOption(new Option('--to <TIME>', 'the later one').default(new Date().toISOString(), 'now').argParser(readTime))
    .option('--host <H>', 'whose beliefs; default: those of this host')
    .addHelpText(
      'after',
      `
Both instants are found as memctl replay does, and exit code 4 says that one of them could not be verified.
Examples:
  memctl diff --from -1d --to now
  memctl diff --from "yesterday 09:00" --to "yesterday 18:00" --host beta --json`,
    )
    .action(async ({ from, to, host }: Options) => {
      const said = await cli.call('diff', { from, to, ...(host === undefined ? {} : { host }) });
      cli.output.result(said.changes, () => [
        ...describeReplay(said.from),
        ...describeReplay(said.to),
        ...describeChanges(said.changes),
      ]);
      process.exitCode = said.from.verified && said.to.verified ? 0 : 4;
    });
}

function describeChanges(changes: readonly DiffJson[]): string[] {
  if (changes.length === 0) return ['nothing is believed otherwise'];
  return changes.flatMap(({ subject, scope, before, after, by }) => [
    `${subject}${scope === '*' ? '' : ` in ${scope}`}${by === null ? '' : ` by ${shortId(by)}`}`,
    `  was ${belief(before)}`,
    `  is  ${belief(after)}`,
  ]);
}

function belief(said: BelievedJson | null): string {
  if (said === null) return 'not known';
  const { status, claim } = said;
  return claim === undefined ? status : `${status}: ${saying(claim)} (${claim.level}, ${claim.host})`;
}
