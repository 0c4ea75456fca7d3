/** `npm start`: a mesh of one if there is none, then memd in the foreground, and what to do next. */
import { join } from 'node:path';
import { readConfig } from '../daemon/config/config.ts';
import { describeError } from '../daemon/describe-error.ts';
import { hasIdentity } from '../daemon/identity.ts';
import { stopOnSignals } from '../daemon/stop-on-signals.ts';
import { startMemd } from '../daemon/memd.ts';
import { homePaths, resolveHome } from '../store/home/home.ts';
import { runInit } from './commands/init.ts';

/** Runs until it is stopped. Arguments: `--home DIR` and `--listen ADDR:PORT`, as memd takes them. */
async function start(argv: readonly string[]): Promise<void> {
  const home = resolveHome({ flag: valueOf(argv, '--home'), env: process.env });
  const say = (text: string): void => void process.stdout.write(`${text}\n`);
  if (!hasIdentity(homePaths(home))) {
    const made = await runInit(home, {});
    say(`new mesh ${made.mesh}`);
    say(
      `host ${made.host}, first signer ${made.signer}: ${made.key}${made.unprotected ? ' (no passphrase; set one: memctl signer protect)' : ''}`,
    );
  }
  // A person reads this terminal: only what went wrong is told beside the lines below.
  process.env['MEMD_LOG'] ??= 'warn';
  const memd = await startMemd({ home, listen: valueOf(argv, '--listen'), config: readConfig(process.env) });
  stopOnSignals(memd);
  say(`memd runs: host ${memd.host}, ssh ${memd.listen}`);
  say(`home   ${home}`);
  say(`index  ${join(memd.engine.home.views, 'operator', 'INDEX.md')}`);
  say('');
  say('next, in another terminal:');
  const memctl = valueOf(argv, '--home') === undefined ? 'bin/memctl' : `bin/memctl --home ${home}`;
  say(`  ${memctl} lesson lesson/quote-paths "Quote every path in shell commands"`);
  say(`  ${memctl} index`);
  say(`  ${memctl} status`);
  say('Ctrl-C stops it.');
}

function valueOf(argv: readonly string[], flag: string): string | undefined {
  const at = argv.indexOf(flag);
  return at < 0 ? undefined : argv[at + 1];
}

try {
  await start(process.argv.slice(2));
} catch (error) {
  const { message, hint, exit } = describeError(error);
  process.stderr.write(`memd: ${message}\n${hint === undefined ? '' : `  next: ${hint}\n`}`);
  process.exitCode = exit;
}
