import { Command } from 'commander';
import type { BlamedJson } from '../../daemon/api/api-types.ts';
import { claimLine, saying } from '../claim-text.ts';
import type { Cli } from '../context.ts';
import { ago, shortId } from '../output.ts';

/** blame: every claim of a subject and what became of it. */
export function makeCommand(cli: Cli): Command {
  return new Command('blame')
    .description('every claim of a subject: who, when, at what level, what became of it and which event did it')
    .argument('<subject>', 'class/entity')
    .addHelpText('after', '\nIn the order of the logs, log by log.\nExample:\n  memctl blame ssh-route/mini')
    .action(async (subject: string) => {
      const { claims } = await cli.call('blame', { subject });
      const now = Date.now();
      cli.output.results(claims, () => claims.flatMap((claim) => describe(claim, now)));
    });
}

function describe(claim: BlamedJson, now: number): string[] {
  const said = claim.status === 'quarantined' ? '(text of strangers is not repeated)' : saying(claim);
  const reason = claim.reason === undefined ? '' : ` (${claim.reason})`;
  const others = claim.carriedBy.filter(({ log, seq }) => log !== claim.log || seq !== claim.seq);
  return [
    `${claim.log}:${claim.seq} ${claim.kind} ${said}`,
    `  ${claimLine(claim, now)}${reason}`,
    ...others.map(({ log, seq }) => `  also carried by ${log}:${seq}`),
    ...claim.by.map(
      (event) =>
        `  ${claim.status} by ${shortId(event.id)} · ${event.log}:${event.seq} · ${event.kind} of ${event.host}${event.subject === claim.subject ? '' : ` on ${event.subject}`}, ${ago(event.at, now)}`,
    ),
  ];
}
