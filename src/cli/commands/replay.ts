import { Command } from 'commander';
import type { RecallJson, ReplayJson } from '../../daemon/api/api-types.ts';
import type { Cli } from '../context.ts';
import { headsText, shortId } from '../output.ts';
import { describeRecall, exitOfRecall } from '../recall-text.ts';
import { readTime, timeForms } from '../time.ts';

interface Options {
  readonly at: string;
  readonly host?: string;
  readonly subject?: string;
  readonly scope?: string;
  readonly index?: boolean;
  readonly audience?: string;
}

/** Exit code when the root is not the one that was signed. */
const notVerified = 4;

/** replay: what a host held and believed at an instant. */
export function makeCommand(cli: Cli): Command {
  return new Command('replay')
    .description('what a host held and believed at an instant, folded again and held against the root that it signed')
    .requiredOption('--at <TIME>', `the instant: ${timeForms}`, readTime)
    .option('--host <H>', 'whose beliefs; default: those of this host')
    .option('--subject <S>', 'what recall would have said of it then')
    .option('--scope <S>', 'with --subject: in this scope')
    .option('--index', 'the INDEX.md of then')
    .option('--audience <A>', 'with --index: whose')
    .addHelpText(
      'after',
      `
The answer is of the last line of that host's view journal at or before the instant: what it held then, whatever was said
later with an earlier date. verified: the root is the one that the host signed.
Exit codes: 0 verified (with --subject as memctl recall), 4 not verified, or lines or trust ops of then are not here, 7 not known
Examples:
  memctl replay --at -2h
  memctl replay --at "yesterday 14:00" --host beta --subject ssh-route/mini
  memctl replay --at 2026-07-27T15:04:05Z --index`,
    )
    .action(async (options: Options) => {
      const { recall, index, ...then } = await cli.call('replay', requestOf(options));
      if (index !== undefined && recall === undefined) {
        cli.output.file(cli.output.json ? index.json : index.markdown);
        if (!then.verified) cli.output.note(verdict(then));
      } else {
        const { host: _, ...told } = recall ?? { host: '' };
        cli.output.result({ ...told, ...then }, () => [...describeReplay(then), ...recallLines(recall, then)]);
      }
      process.exitCode = then.verified ? (recall === undefined ? 0 : exitOfRecall[recall.status]) : notVerified;
    });
}

function requestOf({ at, host, subject, scope, index, audience }: Options): Options {
  return {
    at,
    ...(host === undefined ? {} : { host }),
    ...(subject === undefined ? {} : { subject }),
    ...(scope === undefined ? {} : { scope }),
    ...(index === true ? { index } : {}),
    ...(audience === undefined ? {} : { audience }),
  };
}

/** Pure. */
export function describeReplay(then: ReplayJson): string[] {
  const { host, at, heads, root, counts } = then;
  return [
    `${host} at ${at}: ${headsText(heads) || 'no lines'}`,
    `  root ${shortId(root)}, ${verdict(then)}`,
    `  ${counts['events'] ?? 0} events: ${counts['served'] ?? 0} served, ${counts['parked'] ?? 0} parked`,
  ];
}

function verdict({ verified, host, why }: ReplayJson): string {
  if (verified) return `verified: it is the one that ${host} signed`;
  return `NOT VERIFIED: it is not the root that ${host} signed${why === undefined ? '' : `: ${why}`}`;
}

function recallLines(recall: RecallJson | undefined, { at }: ReplayJson): string[] {
  return recall === undefined ? [] : describeRecall(recall, Date.parse(at));
}
