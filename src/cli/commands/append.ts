import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import type { BodyInput } from '../../core/event.ts';
import { Refusal } from '../../daemon/refusal.ts';
import type { Cli } from '../context.ts';
import { sessionOf } from './claim.ts';

/** append --file: many events as JSON lines, all or nothing. */
export function makeCommand(cli: Cli): Command {
  return new Command('append')
    .description('append events from JSON lines, as one transaction')
    .requiredOption('--file <F>', 'JSON lines, one event each; - for stdin')
    .option('--session <S>', 'session that says it; default: $MEMCTL_SESSION, else cli')
    .addHelpText(
      'after',
      `
A line is an event body without mesh, host, session, at and nonce:
  {"kind":"lesson","subject":"lesson/quote-paths","content":"Quote every path in shell commands"}
Example:
  memctl append --file events.jsonl`,
    )
    .action(async (options: { file: string; session?: string }) => {
      const text = readFileSync(options.file === '-' ? 0 : options.file, 'utf8');
      const events = readEvents(text, options.file);
      const { results } = await cli.call('append', { events, session: sessionOf(options.session) });
      cli.output.results(results, () => [`${results.length} events appended`]);
    });
}

function readEvents(text: string, file: string): BodyInput[] {
  const lines = text.split('\n');
  const events: BodyInput[] = [];
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue;
    events.push(readEvent(line, `${file} line ${index + 1}`));
  }
  return events;
}

function readEvent(line: string, where: string): BodyInput {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new Refusal({ code: 'EVENT_INVALID', message: `${where} is not JSON; nothing was appended`, exit: 2 });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as BodyInput;
  throw new Refusal({ code: 'EVENT_INVALID', message: `${where} is not a JSON object; nothing was appended`, exit: 2 });
}
