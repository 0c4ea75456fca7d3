import { Command } from 'commander';
import type { BodyInput } from '../../core/event.ts';
import { readRecords } from '../../agent/import/json-lines.ts';
import { counted } from '../../daemon/counted.ts';
import { Refusal } from '../../daemon/refusal.ts';
import type { Cli } from '../context.ts';
import { readInput } from '../read-input.ts';
import { appendEvents, takeAppendOptions, type AppendOptions } from '../appending.ts';
import { replicatedTo } from './claim.ts';

/** append --file: many events as JSON lines, all or nothing. */
export function makeCommand(cli: Cli): Command {
  const command = new Command('append')
    .description('append events from JSON lines, as one transaction')
    .requiredOption('--file <F>', 'JSON lines, one event each; - for stdin');
  return takeAppendOptions(command)
    .addHelpText(
      'after',
      `
A line is an event body without mesh, host, session, at and nonce:
  {"kind":"lesson","subject":"lesson/quote-paths","content":"Quote every path in shell commands"}
Examples:
  memctl append --file events.jsonl
  memctl append --file events.jsonl --once backup-2026-07-27 --sync`,
    )
    .action(async (options: AppendOptions & { readonly file: string }) => {
      const results = await appendEvents(cli, await readEvents(options.file), options);
      cli.output.results(results, () => [
        `${counted(results.length, 'event')} appended${replicatedTo(results.at(-1))}`,
      ]);
    });
}

/** Every event of the file, or a refusal that names the first line that is none. */
async function readEvents(file: string): Promise<BodyInput[]> {
  const name = file === '-' ? 'stdin' : file;
  const events = Array.from(readRecords(await readInput(file), name), ({ what, record }) => {
    if (record.ok) return record.value as unknown as BodyInput;
    throw invalid(`${what}: ${record.detail}; nothing was appended`);
  });
  if (events.length === 0) throw invalid(`${name} holds no event`);
  return events;
}

function invalid(message: string): Refusal {
  return new Refusal({ code: 'EVENT_INVALID', message, hint: 'memctl append --help shows a line', exit: 2 });
}
