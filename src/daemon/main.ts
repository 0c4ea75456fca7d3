/** Command line of memd. */
import { Command, CommanderError } from 'commander';
import { resolveHome } from '../store/home/home.ts';
import { readConfig } from './config/config.ts';
import { defaultSync } from './config/config-file.ts';
import { describeError } from './describe-error.ts';
import { startMemd } from './memd.ts';
import { stopOnSignals } from './stop-on-signals.ts';
import { version } from './version.ts';

interface Flags {
  readonly home?: string;
  readonly listen?: string;
  readonly sync?: string;
  readonly offline?: boolean;
  readonly json?: boolean;
}

function readFlags(argv: readonly string[]): Flags {
  return new Command('memd')
    .description('the memd daemon: serves peers, fetches from them, folds, writes the index')
    .version(version)
    .option('--home <DIR>', 'home folder (default: $MEMD_HOME, else ~/.local/share/memd)')
    .option(
      '--listen <ADDR:PORT>',
      'where the ssh server listens (default: as config.toml says, else as init recorded)',
    )
    .option('--sync <CRON>', `fetch schedule with seconds (default: as config.toml says, else '${defaultSync}')`)
    .option('--offline', 'append although no peer can say what it holds of the log of this host')
    .option('--foreground', 'stay in the foreground (it always does; systemd runs it so)')
    .option('--json', 'print the ready line as JSON')
    .addHelpText(
      'after',
      '\nExample:\n  memd --home ~/mesh-alpha --listen 127.0.0.1:7422\nStop it with SIGTERM or Ctrl-C; a second one ends it at once, without loss.',
    )
    .exitOverride()
    .parse([...argv], { from: 'user' })
    .opts<Flags>();
}

async function main(argv: readonly string[]): Promise<void> {
  const flags = readFlags(argv);
  const home = resolveHome({ flag: flags.home, env: process.env });
  const { listen: asked, sync } = flags;
  const offline = flags.offline === true || process.env['MEMD_OFFLINE'] === '1';
  const memd = await startMemd({ home, listen: asked, sync, offline, config: readConfig(process.env) });
  stopOnSignals(memd);
  const { host, listen, socket } = memd;
  const ready = flags.json
    ? JSON.stringify({ ready: true, host, listen, socket })
    : `memd ready: host ${host}, ssh ${listen}, socket ${socket}`;
  process.stdout.write(`${ready}\n`);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : 2;
  } else {
    const { message, hint, exit } = describeError(error);
    process.stderr.write(`memd: ${message}\n${hint === undefined ? '' : `  next: ${hint}\n`}`);
    process.exitCode = exit;
  }
}
