/** memctl: parse, call, print. One module per command, loaded only when it is the one that was asked for. */
import { Command, CommanderError } from 'commander';
import { ignoreClosedPipes } from './closed-pipes.ts';
import { commandTable } from './command-table.ts';
import { describeError } from '../daemon/describe-error.ts';
import { openOutput, type Output } from './output.ts';
import { version } from '../daemon/version.ts';
import { cliOf } from './context.ts';
import { looksLikePrivateKey } from '../crypto/keys/private-text.ts';

/** Runs memctl with these arguments (without `node` and the script). Resolves with the exit code; never throws. */
export async function main(argv: readonly string[]): Promise<number> {
  const flags = argv.slice(0, endOfOptions(argv));
  const output = openOutput({
    json: flags.includes('--json'),
    quiet: flags.includes('--quiet'),
    color: !flags.includes('--no-color'),
  });
  try {
    const program = await programFor(argv, output);
    const words = withSyncCount(argv);
    await program.parseAsync(takesReference(program, verbOf(argv)) ? splitHomes(words) : words, { from: 'user' });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    return report(error, output);
  }
}

/** Where options end: at `--`, or at the end. What comes after it is text, whatever it looks like. */
function endOfOptions(argv: readonly string[]): number {
  const end = argv.indexOf('--');
  return end < 0 ? argv.length : end;
}

/** The forms of a claim's home. A folder never looks like one. Source: docs/format.md, field table. */
const homeReference = /^(?:[a-z][a-z0-9-]{0,30}:)?(?:file|git|https):/;

/** True for a command about something that has a home of its own. */
function takesReference(program: Command, verb: string | undefined): boolean {
  return program.commands.some((one) => one.name() === verb && one.options.some(({ long }) => long === '--home-ref'));
}

/** `--home` names the home folder everywhere, and on claims also the claim's home: the value says which one it is. */
function splitHomes(argv: readonly string[]): string[] {
  const end = endOfOptions(argv);
  return argv.map((word, at) => {
    const value = word === '--home' ? argv[at + 1] : word.startsWith('--home=') ? word.slice(7) : undefined;
    const isReference = at < end && value !== undefined && homeReference.test(value);
    return isReference ? word.replace('--home', '--home-ref') : word;
  });
}

/** `--sync` alone is one peer. Said here, since an option whose value may be missing would take the next word for it. */
function withSyncCount(argv: readonly string[]): readonly string[] {
  const end = endOfOptions(argv);
  return argv.map((word, at) => (word === '--sync' && at < end ? '--sync=1' : word));
}

async function programFor(argv: readonly string[], output: Output): Promise<Command> {
  const program = new Command('memctl')
    .description('one set of beliefs for agents on several machines')
    .version(version)
    .option('--home <DIR>', 'home folder (default: $MEMD_HOME, else ~/.local/share/memd)')
    .option('--offline', 'append although no peer can say what it holds of this log')
    .option('--json', 'machine-readable output on stdout')
    .option('--quiet', 'no diagnostics')
    .option('--no-color', 'no colours')
    .showSuggestionAfterError()
    .configureHelp({ showGlobalOptions: true })
    // A command that is missing has commander print its help as an error; with --json the error document stands alone.
    .configureOutput({ outputError: () => undefined, ...(output.json ? { writeErr: () => undefined } : {}) })
    .exitOverride()
    .addHelpText('after', helpFooter);
  const verb = verbOf(argv);
  for (const [name, load] of commandTable) {
    if (verb !== undefined && name !== verb) continue;
    const module = await load();
    const command = module.makeCommand(cliOf(() => program.opts(), output));
    program.addCommand(command);
    inheritSettings(command, program);
  }
  return program;
}

/** Commander hands settings on to commands that it makes itself only: ours are made elsewhere, some with commands below. */
function inheritSettings(command: Command, parent: Command): void {
  command.copyInheritedSettings(parent);
  for (const child of command.commands) inheritSettings(child, command);
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
  if (error instanceof CommanderError) return reportUsage(error, output);
  const described = describeError(error);
  output.error(described);
  if (process.env['MEMD_DEBUG'] && error instanceof Error) output.note(error.stack ?? '');
  return described.exit;
}

function reportUsage(error: CommanderError, output: Output): number {
  if (error.exitCode === 0) return 0;
  const noCommand = error.code === 'commander.help';
  // The help that commander printed says it all to a person.
  if (noCommand && !output.json) return 2;
  const [message, meant] = error.message.replace(/^error: /, '').split('\n');
  // What is quoted would be in one more place: a terminal's memory, a log.
  const secret = looksLikePrivateKey(error.message);
  const suggestion = /^\(Did you mean (.+)\?\)$/.exec(meant ?? '')?.[1];
  output.error({
    code: 'USAGE',
    message: noCommand ? 'no command is named' : secret ? 'a private key stands on the command line' : (message ?? ''),
    hint: `${suggestion === undefined ? '' : `did you mean ${suggestion}? `}memctl --help, or memctl COMMAND --help`,
    exit: 2,
  });
  return 2;
}

ignoreClosedPipes();

process.exitCode = await main(process.argv.slice(2));
