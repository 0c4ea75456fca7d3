import { Command, InvalidArgumentError } from 'commander';
import { listedEventsMax } from '../../core/limits.ts';
import type { Cli } from '../context.ts';
import { claimLine, saying } from '../claim-text.ts';

/** log: events of a host or a subject, newest last. */
export function makeCommand(cli: Cli): Command {
  return new Command('log')
    .description("events of a host's log or of a subject, with what became of them")
    .argument('[host-or-subject]', 'default: this host')
    .option('--limit <N>', `how many of the newest, at most ${listedEventsMax}`, readCount, 50)
    .addHelpText('after', '\nExamples:\n  memctl log beta\n  memctl log ssh-route/mini --json')
    .action(async (of: string | undefined, options: { limit: number }) => {
      const { claims } = await cli.call('log', { ...(of === undefined ? {} : { of }), limit: options.limit });
      const now = Date.now();
      cli.output.results(claims, () =>
        claims.map((claim) => `${claim.kind} ${claim.subject}: ${saying(claim)}\n  ${claimLine(claim, now)}`),
      );
    });
}

function readCount(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1 && count <= listedEventsMax) return count;
  throw new InvalidArgumentError(`It is not a whole number from 1 to ${listedEventsMax}.`);
}
