/** What every command that appends takes: `--once`, `--sync` and `--timeout`; and what comes of them. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import type { BodyInput } from '../core/event.ts';
import { syncTimeoutMaxMs, syncTimeoutMs } from '../core/limits.ts';
import type { AppendedJson, Params } from '../daemon/api/api-types.ts';
import { counted } from '../daemon/counted.ts';
import type { Cli } from './context.ts';

/** What commander makes of the options. */
export interface AppendOptions {
  readonly once?: string;
  readonly sync?: number | 'all';
  readonly timeout?: number;
  readonly session?: string;
}

/** Adds the options to a command. */
export function takeAppendOptions(command: Command): Command {
  return command
    .option('--session <S>', 'session that says it; default: $MEMCTL_SESSION, else cli')
    .option('--once <KEY>', 'names this request: run again with the same key it appends nothing and answers the same')
    .addOption(
      new Option('--sync <N>', 'answer when N peers hold it: --sync is 1, --sync=2, --sync=all').argParser(readPeers),
    )
    .addOption(
      new Option('--timeout <TIME>', 'how long --sync waits, exit 5 afterwards; default: 30s').argParser(readTimeout),
    );
}

/** Appends one transaction. Sets exit code 5 when it was not confirmed in time, and says so; the events stand either way. */
export async function appendEvents(
  cli: Cli,
  events: readonly BodyInput[],
  options: AppendOptions,
): Promise<readonly AppendedJson[]> {
  const { once, sync: peers, timeout: timeoutMs = syncTimeoutMs } = options;
  const params: Params<'append'> = {
    events,
    session: sessionOf(options.session),
    ...(once === undefined ? {} : { once }),
    ...(peers === undefined ? {} : { sync: { peers, timeoutMs } }),
  };
  const { results, confirmed } = await cli.call('append', params);
  if (confirmed === false) {
    process.exitCode = 5;
    const [first] = results;
    const held = `${first?.replicated ?? 0} of ${counted(first?.peers ?? 0, 'peer')}`;
    cli.output.note(
      `memctl: not confirmed in ${timeoutMs / 1_000} s: ${held} known to hold it. It is committed here and will still replicate`,
    );
    cli.output.note('  next: memctl status');
  }
  return results;
}

/** The session that an append claims: an agent's harness sets MEMCTL_SESSION. */
export function sessionOf(option: string | undefined): string {
  return option ?? process.env['MEMCTL_SESSION'] ?? 'cli';
}

function readPeers(text: string): number | 'all' {
  if (text === 'all') return 'all';
  if (/^[1-9][0-9]{0,2}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It is a number of peers, or all: --sync=2.');
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

function readTimeout(text: string): number {
  const [, number = '', unit = ''] = /^([0-9]{1,7})(ms|s|m|h)$/.exec(text) ?? [];
  const milliseconds = Number(number) * (units[unit] ?? Number.NaN);
  if (milliseconds <= syncTimeoutMaxMs) return milliseconds;
  throw new InvalidArgumentError('It is a time like 500ms, 30s or 2m, at most 1h.');
}
