import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { Command } from 'commander';
import { isSlug } from '../../core/id.ts';
import type { CharterHost } from '../../core/trust/charter.ts';
import type { ServedHome } from '../../daemon/peers/served-home.ts';
import { Refusal } from '../../daemon/refusal.ts';
import { parseOriginalCommand, type ServedCommand } from '../../mesh/ssh/exec-request.ts';
import { printable } from '../../store/errors.ts';
import type { Cli } from '../context.ts';
import { leave, runServe } from '../hot/serve.ts';
import { keyLine } from '../sshd-key-line.ts';

interface ServeOptions {
  readonly stdio?: boolean;
  readonly authorizedKeys?: boolean;
  readonly peer?: string;
}

/** serve: what a plain sshd runs for a peer, and the lines of authorized_keys that have it do so. */
export function makeCommand(cli: Cli): Command {
  return new Command('serve')
    .description('serve a peer that comes through a plain sshd (its forced command)')
    .option('--stdio', 'over standard input and output')
    .option('--peer <NAME>', 'host whose key the sshd let in: lets stock git clone, too')
    .option('--authorized-keys', 'print a line for ~/.ssh/authorized_keys for every other host of the mesh')
    .addHelpText(
      'after',
      `
Read-only, and with the same proof of keys, commands and limits as the ssh server of memd: through memd where it runs, else
by this process from the repository.
Examples:
  memctl serve --authorized-keys >> ~/.ssh/authorized_keys
  restrict,command="memctl serve --stdio --peer beta" ssh-ed25519 AAAA…      such a line
  peers.alpha = "ssh://me@nas/"                                             in config.toml of beta, to dial it`,
    )
    .action(async (options: ServeOptions) => {
      if (options.authorizedKeys === true && options.stdio !== true) return printKeys(cli);
      if (options.stdio !== true || options.authorizedKeys === true) throw usage('say --stdio or --authorized-keys');
      if (options.peer !== undefined && !isSlug(options.peer))
        throw usage(`--peer ${printable(options.peer, 100)} is not the name of a host`);
      if (process.stdin.isTTY) throw usage('a peer speaks here, not a person: sshd is what runs this');
      await serveStdio(cli, options);
    });
}

function usage(message: string): Refusal {
  return new Refusal({ code: 'BAD_REQUEST', message, hint: 'memctl serve --help', exit: 2 });
}

async function printKeys(cli: Cli): Promise<void> {
  const served = await open(cli);
  const others = [...served.charterHosts().values()].filter(
    ({ name, status }) => name !== served.host && status !== 'revoked',
  );
  const lines = others.map((host) => keyLine(host, cli.home()));
  cli.output.result({ lines }, () => lines);
}

async function serveStdio(cli: Cli, options: ServeOptions): Promise<void> {
  const home = cli.home();
  const original = process.env['SSH_ORIGINAL_COMMAND'] ?? '';
  const request = parseOriginalCommand(original);
  if (request === undefined)
    throw refused(
      `only hosts of the mesh, git-upload-pack '/log' and memd heads are served here, not: ${printable(original, 80)}`,
    );
  if (request.kind === 'command') return serveStock(await open(cli), request.command, options);
  if (request.home !== undefined && request.home !== home)
    throw refused(`this key is for the home ${home}, not for ${printable(request.home, 200)}: put the address right`);
  // memd may have come between the short way and this one.
  if (await runServe(['--home', home, '--stdio'])) return;
  const { servePeer } = await import('../../daemon/peers/serve-stdio.ts');
  const { stdioStream } = await import('../../mesh/ssh/stdio-channel.ts');
  const [from = 'unknown'] = (process.env['SSH_CLIENT'] ?? '').split(' ');
  await servePeer(await open(cli), stdioStream(process), from);
  leave();
}

async function open(cli: Cli): Promise<ServedHome> {
  const { openServedHome } = await import('../../daemon/peers/served-home.ts');
  return openServedHome(cli.home());
}

async function serveStock(served: ServedHome, command: ServedCommand, options: ServeOptions): Promise<void> {
  const peer = whoAsks(served, options.peer);
  if (peer === undefined)
    throw refused(
      'which host asks is not known here: name it in the forced command (memctl serve --stdio --peer NAME), or set ExposeAuthInfo yes in sshd_config',
    );
  const { serveStock: serve } = await import('../../daemon/peers/serve-stdio.ts');
  process.exitCode = await serve(served, process, { command, peer, protocol: process.env['GIT_PROTOCOL'] });
  leave();
}

/** The host that the forced command names, else the one whose key sshd says it let in. */
function whoAsks(served: ServedHome, named: string | undefined): CharterHost | undefined {
  const hosts = served.charterHosts();
  if (named !== undefined) {
    const host = hosts.get(named);
    if (host === undefined) throw refused(`host ${named} is not enrolled in the mesh`);
    return host;
  }
  const file = process.env['SSH_USER_AUTH'];
  if (file === undefined || file === '') return undefined;
  const keys = readAuthInfo(file)
    .split('\n')
    .flatMap((line) => (line.startsWith('publickey ') ? line.slice('publickey '.length) : []));
  return [...hosts.values()].find(({ ssh }) => keys.includes(ssh.text));
}

/** sshd writes a few lines into a file of its own; anything else that a client may have named there is not read. */
function readAuthInfo(file: string): string {
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const { size } = fstatSync(descriptor);
    if (!fstatSync(descriptor).isFile() || size > authInfoBytesMax)
      throw refused('SSH_USER_AUTH names no file of sshd');
    return readFileSync(descriptor, 'utf8');
  } finally {
    closeSync(descriptor);
  }
}

const authInfoBytesMax = 65_536;

function refused(message: string): Refusal {
  return new Refusal({ code: 'SERVE_REFUSED', message, hint: 'docs/mesh.md, Behind a plain sshd' });
}
