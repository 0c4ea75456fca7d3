import { existsSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { readImport } from '../../agent/import/read-import.ts';
import { importKinds, type ImportKind } from '../../agent/import/types.ts';
import { isBackup } from '../../daemon/backup/read-backup.ts';
import type { Cli } from '../context.ts';
import { currentFolder, writingScope } from '../here.ts';
import { restoreExport } from '../restore.ts';

const exportKindName = 'export';

/** The folder that a person named may be a link; what lies in it may not. */
function realPath(folder: string): string {
  return existsSync(folder) ? realpathSync(folder) : folder;
}

interface Options {
  readonly dryRun?: boolean;
  readonly kind?: ImportKind | typeof exportKindName;
  readonly scope?: string;
  readonly host?: string;
  readonly mesh?: string;
}

/** import: what people already have. Idempotent; every thing that is left out is named. */
export function makeCommand(cli: Cli): Command {
  return new Command('import')
    .description('import what is there already: notes, rules, graphs, logs')
    .argument('<path>', 'file or folder')
    .option('--dry-run', 'say what would be done, and do nothing')
    .addOption(
      new Option('--kind <K>', 'what it is; default: told by what is in it').choices([...importKinds, exportKindName]),
    )
    .option('--scope <S>', 'project that it is about; . is the one here; default: it holds everywhere')
    .option('--host <NAME>', 'of an export, for a home without keys: the host that it is to be')
    .option('--mesh <ID>', 'of an export, for a new home: the mesh that it must be of')
    .addHelpText(
      'after',
      `
What can be imported:
  claude-memory   a folder with MEMORY.md and notes
  agents-md       AGENTS.md, CLAUDE.md: the rules in their lists
  mcp-memory      the graph of the MCP memory server: memory.jsonl
  memory-mesh     logs of the Python memory-mesh: events/HOST.ndjson
  jsonl           events, one a line, as memctl append takes them
  export          a folder that memctl export wrote: a backup. What this home lacks is added, line by line as each one
                  verifies; nothing that is here is replaced, and what was purged stays purged. Exit code 1 when some of
                  it was not taken. Into a new home: keys/ of the host first, or --host NAME for an archive
Examples:
  memctl import ~/.claude/projects/x/memory --dry-run
  memctl import ~/shop/AGENTS.md --scope shop
  memctl import ~/backup/mesh-2026-11-30 --dry-run`,
    )
    .action(async (path: string, options: Options) => {
      const from = resolve(currentFolder() ?? '/', path);
      const { kind: named } = options;
      if (named === exportKindName || (named === undefined && isBackup(from)))
        return restoreExport(cli, realPath(from), options);
      const { kind, events, skipped, noted } = await readImport(from, named);
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
