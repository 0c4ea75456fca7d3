import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { readImport } from '../../agent/import/read-import.ts';
import { importKinds, type ImportKind } from '../../agent/import/types.ts';
import type { Cli } from '../context.ts';
import { writingScope } from '../here.ts';

interface Options {
  readonly dryRun?: boolean;
  readonly kind?: ImportKind;
  readonly scope?: string;
}

/** import: what people already have. Idempotent; every thing that is left out is named. */
export function makeCommand(cli: Cli): Command {
  return new Command('import')
    .description('import what is there already: notes, rules, graphs, logs')
    .argument('<path>', 'file or folder')
    .option('--dry-run', 'say what would be done, and do nothing')
    .addOption(new Option('--kind <K>', 'what it is; default: told by what is in it').choices(importKinds))
    .option('--scope <S>', 'project that it is about; . is the one here; default: it holds everywhere')
    .addHelpText(
      'after',
      `
What can be imported:
  claude-memory   a folder with MEMORY.md and notes
  agents-md       AGENTS.md, CLAUDE.md: the rules in their lists
  mcp-memory      the graph of the MCP memory server: memory.jsonl
  memory-mesh     logs of the Python memory-mesh: events/HOST.ndjson
  jsonl           events, one a line, as memctl append takes them
Examples:
  memctl import ~/.claude/projects/x/memory --dry-run
  memctl import ~/shop/AGENTS.md --scope shop`,
    )
    .action(async (path: string, options: Options) => {
      const { kind, events, skipped, noted } = await readImport(resolve(path), options.kind);
      const scope = options.scope === undefined ? undefined : await writingScope(options.scope);
      const scoped = scope === undefined ? events : events.map((event) => ({ scope, ...event }));
      const dryRun = options.dryRun === true;
      const done = await cli.call('import', { kind, events: scoped, skipped, dryRun });
      const { subjects, ...report } = done;
      for (const { what, why } of noted) cli.output.note(`note: ${what}: ${why}`);
      cli.output.result(report, () => [
        ...(dryRun ? subjects.map((subject) => `would add ${subject}`) : []),
        ...report.skipped.map(({ what, why }) => `skipped ${what}: ${why}`),
        `${report.kind}: ${report.new} ${dryRun ? 'would be new' : 'new'}, ${report.unchanged} unchanged, ${report.skipped.length} skipped`,
      ]);
    });
}
