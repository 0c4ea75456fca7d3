import { Command } from 'commander';
import type { ClaimJson } from '../../daemon/api/api-types.ts';
import { foundEventsMax } from '../../core/limits.ts';
import { claimLine, oneLine } from '../claim-text.ts';
import type { Cli } from '../context.ts';
import { readFoundLimit, scopeOfSearch } from './search.ts';

/** why: decisions, questions and proposals on a topic. */
export function makeCommand(cli: Cli): Command {
  return new Command('why')
    .description(
      'decisions, rejected alternatives, questions and proposals on a topic, oldest first: reasons, not truth',
    )
    .argument('<topic...>', 'a subject, or words')
    .option('--scope <S>', 'project scope; . is the project here; default: that of this folder, else everywhere')
    .option('--all-scopes', 'in every project')
    .option('--limit <N>', `how many of the newest, up to ${foundEventsMax}`, readFoundLimit, 50)
    .addHelpText(
      'after',
      '\nWhat is true now: memctl recall SUBJECT. Exit code 7 when nothing is found.\nExamples:\n  memctl why decision/database\n  memctl why database',
    )
    .action(async (topic: string[], options: { scope?: string; allScopes?: boolean; limit: number }) => {
      const scope = await scopeOfSearch(options);
      const { claims, more } = await cli.call('why', {
        topic: topic.join(' '),
        limit: options.limit,
        ...(scope === undefined ? {} : { scope }),
      });
      const now = Date.now();
      cli.output.results(claims, () => describeReasons(claims, now));
      if (claims.length === 0)
        cli.output.note('nothing was decided, asked or proposed on it; what is claimed: memctl search WORDS');
      if (more > 0) cli.output.note(`${more} older ones: --limit N`);
      process.exitCode = claims.length === 0 ? 7 : 0;
    });
}

/** Reasons in lines, labelled as what they are. Pure. */
export function describeReasons(claims: readonly ClaimJson[], now: number): string[] {
  if (claims.length === 0) return [];
  return [
    'RATIONALE, not truth: what was decided, asked and proposed, oldest first',
    ...claims.flatMap((one) => describe(one, now)),
  ];
}

/** Its content as it was written, behind a mark on every line, so that none of it looks like an answer. */
function describe(claim: ClaimJson, now: number): string[] {
  const said = [claim.value, claim.content].filter((part) => part !== undefined).join('\n');
  const lines = said === '' ? [] : said.split('\n').map((line) => `  | ${oneLine(line)}`);
  return [`${claim.kind.toUpperCase()} ${claim.subject}`, ...lines, `  ${claimLine(claim, now)}, ${claim.at}`];
}
