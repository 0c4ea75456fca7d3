import { Command, InvalidArgumentError } from 'commander';
import { foundEventsMax } from '../../core/limits.ts';
import type { FoundJson, SearchJson } from '../../daemon/api/api-types.ts';
import { claimLine, saying } from '../claim-text.ts';
import type { Cli } from '../context.ts';
import { configHere, projectHere, readingScope } from '../here.ts';
import { shortId } from '../output.ts';

interface SearchOptions {
  readonly scope?: string;
  readonly allScopes?: boolean;
  readonly limit: number;
}

/** search: which subjects some words are about. */
export function makeCommand(cli: Cli): Command {
  return new Command('search')
    .description('claims and lessons that have these words, best first; an old wording leads to what replaced it')
    .argument('<words...>', 'plain words; nothing in them is syntax')
    .option('--scope <S>', 'project scope; . is the project here; default: that of this folder, else everywhere')
    .option('--all-scopes', 'in every project')
    .option('--limit <N>', `how many at most, up to ${foundEventsMax}`, readFoundLimit, 20)
    .addHelpText(
      'after',
      `
Only what is served or contested is told; what is parked, stale, undecided, quarantined or held is named.
Exit code 7 when nothing is found.
Examples:
  memctl search grafana port
  memctl search "ssh-route/mini" --json`,
    )
    .action(async (words: string[], options: SearchOptions) => {
      const scope = await scopeOfSearch(options);
      const found = await cli.call('search', {
        words: words.join(' '),
        limit: options.limit,
        ...(scope === undefined ? {} : { scope }),
      });
      const now = Date.now();
      cli.output.results(found.claims, () => found.claims.flatMap((claim) => describeFound(claim, now)));
      for (const remark of remarksOn(found)) cli.output.note(remark);
      process.exitCode = found.claims.length === 0 ? 7 : 0;
    });
}

/** The scope that search and why look in; undefined for all of them. */
export async function scopeOfSearch(options: Pick<SearchOptions, 'scope' | 'allScopes'>): Promise<string | undefined> {
  if (options.allScopes === true) return undefined;
  const config = await configHere();
  return readingScope(options.scope, await projectHere('config' in config ? config.config : undefined));
}

export function readFoundLimit(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1 && count <= foundEventsMax) return count;
  throw new InvalidArgumentError(`It is not a whole number from 1 to ${foundEventsMax}.`);
}

/** One hit in lines; an old wording leads to what replaced it. Pure. */
export function describeFound(claim: FoundJson, now: number): string[] {
  const who = `  ${claimLine(claim, now)}`;
  const scope = claim.scope === undefined ? '' : ` (scope ${claim.scope})`;
  switch (claim.status) {
    case 'served':
    case 'contested':
      return [`${claim.status === 'contested' ? 'CONTESTED ' : ''}${claim.subject}${scope}: ${saying(claim)}`, who];
    case 'superseded':
      return [`SUPERSEDED ${claim.subject}${scope}: ${shortId(claim.id)} was ${replacement(claim)}`, who];
    case 'retracted':
      return [`RETRACTED ${claim.subject}${scope}: ${shortId(claim.id)} was taken back; nothing stands for it`, who];
    default:
      return [`${claim.status.toUpperCase()} ${claim.subject}${scope}: memctl recall ${claim.subject}`, who];
  }
}

function replacement({ replacedBy }: FoundJson): string {
  if (replacedBy === undefined) return 'withdrawn; nothing stands for it';
  const { id, subject, status } = replacedBy;
  const says =
    status === 'served' || status === 'contested' ? saying(replacedBy) : `${status}: memctl recall ${subject}`;
  return `replaced by ${shortId(id)} on ${subject}: ${says}`;
}

/** What is to be known about the hits as a whole. Pure. */
export function remarksOn({ claims, matching, more, tooMany, elsewhere }: SearchJson): string[] {
  if (claims.length === 0) return [`nothing found${elsewhere > 0 ? `; ${otherScopes(elsewhere)}` : ''}`];
  return [
    ...(matching === 'beginnings'
      ? ['no claim has all of these words as they are; these have words that begin so']
      : []),
    ...(matching === 'some' ? ['no claim has all of these words; these have some of them'] : []),
    ...(tooMany ? ['very many claims have these words and not all were ranked: add a rarer word'] : []),
    ...(more && !tooMany ? ['there is more: --limit N'] : []),
    ...(elsewhere > 0 ? [otherScopes(elsewhere)] : []),
  ];
}

function otherScopes(count: number): string {
  return `${count} in other projects: --all-scopes`;
}
