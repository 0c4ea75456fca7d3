import { Command } from 'commander';
import { counted } from '../../daemon/counted.ts';
import { Refusal } from '../../daemon/refusal.ts';
import type { Cli } from '../context.ts';

interface Options {
  readonly deep?: boolean;
  readonly manifest?: string;
  readonly mesh?: string;
  readonly trust?: string;
}

/** verify: is what is stored what was signed, and is what is derived what follows from it? */
export function makeCommand(cli: Cli): Command {
  return new Command('verify')
    .description(
      'check stored logs, chain and derived files against each other, or one folder of views by its manifest',
    )
    .option('--deep', 'every object, every signature, the database row by row, every plain copy')
    .option('--manifest <FILE>', 'only the views beside this manifest.json: who signed them, when, as of which heads')
    .option('--mesh <ID>', 'with --manifest: the mesh id to go by, instead of the one that this home pins')
    .option('--trust <FILE>', 'with --manifest: the trust ops to go by, trust.jsonl of an export')
    .addHelpText(
      'after',
      `
Exit code 1 with problems, each named. --manifest needs no memd and no network; it answers as of the heads that the host
signed, and never accepts older ones than it has seen. Exit code 4 when the files are not to be gone by.
Examples:
  memctl verify --deep
  memctl verify --manifest ~/.local/share/memd/views/operator/manifest.json`,
    )
    .action(async (options: Options) => {
      const { manifest, deep, mesh, trust } = options;
      if (manifest !== undefined) {
        if (deep === true) throw usage('--deep looks at the whole home, --manifest at one folder of views');
        const { checkManifest } = await import('../verify-manifest.ts');
        return checkManifest(cli, { ...options, manifest });
      }
      if (mesh !== undefined || trust !== undefined) throw usage('--mesh and --trust belong to --manifest FILE');
      return verifyHome(cli, deep === true);
    });
}

async function verifyHome(cli: Cli, deep: boolean): Promise<void> {
  const report = await cli.call('verify', { deep });
  cli.output.result(report, () => [
    ...Object.entries(report.logs).map(
      ([host, log]) => `${host}: ${counted(log.lines, 'line')}, link ${log.link.slice(0, 12)}`,
    ),
    `root ${report.root}`,
    ...report.problems.map((problem) => `PROBLEM ${problem}`),
    report.ok
      ? 'clean'
      : `${counted(report.problems.length, 'problem')}; next: memctl rebuild for what is derived from git; for what git holds, stop memd, then memctl doctor --repair`,
  ]);
  process.exitCode = report.ok ? 0 : 1;
}

function usage(message: string): Refusal {
  return new Refusal({ code: 'BAD_REQUEST', message, hint: 'memctl verify --help', exit: 2 });
}
