import { resolve } from 'node:path';
import { Command } from 'commander';
import type { ExportedJson } from '../../daemon/api/api-types.ts';
import { requireFreeFolder, writeExport } from '../../daemon/backup/export.ts';
import { Refusal } from '../../daemon/refusal.ts';
import { readSnapshot, stateText } from '../../daemon/beliefs/snapshot.ts';
import { isOperatingError } from '../../store/errors.ts';
import { noteExport, type ExportNote } from '../../store/notes/export-note.ts';
import { openHome } from '../../store/home/home.ts';
import type { Cli } from '../context.ts';
import { headsText } from '../output.ts';
import { currentFolder } from '../here.ts';
import { terminalJson } from '../terminal-text.ts';

/**
 * export: a plain backup, or the whole state. It reads the repository by itself and writes as the person who asks: memd
 * may run, may not run, and may not be allowed to write there.
 */
export function makeCommand(cli: Cli): Command {
  return new Command('export')
    .description('a plain backup: one JSONL file per log, the trust set, and a manifest with hashes')
    .argument('[dir]', 'a folder that does not exist yet')
    .option('--state', 'print the complete folded state as canonical JSON instead')
    .addHelpText(
      'after',
      `
Every line is verified on the way; exit code 1 when a log could not be read or verified to its end (what could be read is
there, and the manifest says so). Private keys are not in it: they stay in keys/ of the home. memctl import DIR reads it
back in, here or into a new home.
Examples:
  memctl export ~/backup/mesh-2026-11-30
  memctl export --state | sha256sum      the same on every host with the same heads`,
    )
    .action(async (dir: string | undefined, options: { state?: boolean }) => {
      const progress = (text: string): void => cli.output.progress(text);
      if (options.state === true) {
        if (dir !== undefined) throw usage('--state prints; it takes no folder');
        const { fold } = await readSnapshot(cli.home(), progress);
        process.stdout.write(`${terminalJson(stateText(fold))}\n`);
        return;
      }
      if (dir === undefined) throw usage('name the folder to write, or --state');
      const folder = resolve(currentFolder() ?? '/', dir);
      requireFreeFolder(folder);
      const at = new Date().toISOString();
      const snapshot = await readSnapshot(cli.home(), progress);
      const done = await writeExport(snapshot, { folder, at });
      await remember(cli, { dir: folder, at, trust: snapshot.trust.hash });
      cli.output.result(done, () => describe(done));
      process.exitCode = done.problems.length === 0 ? 0 : 1;
    });
}

/** A purge names the exports that it does not reach. A home that cannot be written is exported all the same. */
async function remember(cli: Cli, note: ExportNote): Promise<void> {
  try {
    await noteExport(openHome(cli.home()), note);
  } catch (error) {
    if (!isOperatingError(error)) throw error;
    cli.output.note(`a purge will not name this export: ${error.message}`);
  }
}

function usage(message: string): Refusal {
  return new Refusal({ code: 'BAD_REQUEST', message, hint: 'memctl export --help', exit: 2 });
}

function describe({ dir, mesh, root, heads, files, problems }: ExportedJson): string[] {
  return [
    `exported to ${dir}: ${files} files`,
    `  mesh ${mesh}`,
    `  heads ${headsText(heads) || 'none: there are no lines yet'}`,
    `  root ${root}`,
    ...problems.map((problem) => `PROBLEM ${problem}`),
    '  keys are not in it: keep a copy of keys/ of the home apart',
  ];
}
