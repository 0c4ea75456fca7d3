import { resolve } from 'node:path';
import { Command } from 'commander';
import { readImport } from '../../agent/import/read-import.ts';
import type { Cli } from '../context.ts';

/** import: what people already have. Idempotent; every thing that is left out is named. */
export function makeCommand(cli: Cli): Command {
  return new Command('import')
    .description('import a Claude Code memory folder or JSON lines')
    .argument('<path>', 'folder with MEMORY.md, or a .jsonl file')
    .option('--dry-run', 'say what would be done, and do nothing')
    .addHelpText(
      'after',
      '\nExamples:\n  memctl import ~/.claude/projects/x/memory --dry-run\n  memctl import facts.jsonl',
    )
    .action(async (path: string, options: { dryRun?: boolean }) => {
      const { kind, events, skipped, noted } = await readImport(resolve(path));
      const dryRun = options.dryRun === true;
      const done = await cli.call('import', { kind, events, skipped, dryRun });
      const { subjects, ...report } = done;
      for (const { what, why } of noted) cli.output.note(`note: ${what}: ${why}`);
      cli.output.result(report, () => [
        ...(dryRun ? subjects.map((subject) => `would add ${subject}`) : []),
        ...report.skipped.map(({ what, why }) => `skipped ${what}: ${why}`),
        `${report.kind}: ${report.new} ${dryRun ? 'would be new' : 'new'}, ${report.unchanged} unchanged, ${report.skipped.length} skipped`,
      ]);
    });
}
