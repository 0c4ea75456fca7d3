/** memctl: parse, call, print. One module per command, loaded only when it is the one that was asked for. */
import { Command, CommanderError } from 'commander';
import { commandTable } from './command-table.ts';
import { describeError } from '../daemon/describe-error.ts';
import { openOutput, type Output } from './output.ts';
import { version } from '../daemon/version.ts';
import { cliOf } from './context.ts';

/** Runs memctl with these arguments (without `node` and the script). Resolves with the exit code; never throws. */
export async function main(argv: readonly string[]): Promise<number> {
  const output = openOutput({
    json: argv.includes('--json'),
    quiet: argv.includes('--quiet'),
    color: !argv.includes('--no-color'),
  });
  try {
    const program = await programFor(argv, output);
    await program.parseAsync(splitHomes(argv), { from: 'user' });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    return report(error, output);
  }
}

/** The forms of a claim's home. A folder never looks like one. Source: docs/format.md, field table. */
const homeReference = /^(?:[a-z][a-z0-9-]{0,30}:)?(?:file|git|https):/;

/** `--home` names the home folder everywhere, and on claims also the claim's home: the value says which one it is. */
function splitHomes(argv: readonly string[]): string[] {
  return argv.map((word, at) => (word === '--home' && homeReference.test(argv[at + 1] ?? '') ? '--home-ref' : word));
}

async function programFor(argv: readonly string[], output: Output): Promise<Command> {
  const program = new Command('memctl')
    .description('one set of beliefs for agents on several machines')
    .version(version)
    .option('--home <DIR>', 'home folder (default: $MEMD_HOME, else ~/.local/share/memd)')
    .option('--json', 'machine-readable output on stdout')
    .option('--quiet', 'no diagnostics')
    .option('--no-color', 'no colours')
    .showSuggestionAfterError()
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ outputError: () => undefined })
    .exitOverride()
    .addHelpText('after', helpFooter);
  const verb = verbOf(argv);
  for (const [name, load] of commandTable) {
    if (verb !== undefined && name !== verb) continue;
    const module = await load();
    const command = module.makeCommand(cliOf(() => program.opts(), output));
    program.addCommand(command.copyInheritedSettings(program));
  }
  return program;
}

/** The command that was asked for; undefined when there is none or it is not known (then all are loaded: help, suggestions). */
function verbOf(argv: readonly string[]): string | undefined {
  const first = argv.find((word, at) => !word.startsWith('-') && argv[at - 1] !== '--home');
  return first !== undefined && commandTable.has(first) ? first : undefined;
}

const helpFooter = `
Start here:
  memctl init --host alpha                  a mesh of one on this machine
  memctl lesson lesson/quote-paths "Quote every path in shell commands"
  memctl recall lesson/quote-paths
  memctl status

Exit codes: 0 ok, 1 failed, 2 usage, 3 unresolved, 4 stale, 5 not confirmed, 6 refused, 7 not found`;

function report(error: unknown, output: Output): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    const message = error.message.replace(/^error: /, '');
    output.error({ code: 'USAGE', message, hint: 'memctl --help, or memctl COMMAND --help', exit: 2 });
    return 2;
  }
  const described = describeError(error);
  output.error(described);
  if (process.env['MEMD_DEBUG'] && error instanceof Error) output.note(error.stack ?? '');
  return described.exit;
}

process.exitCode = await main(process.argv.slice(2));
