import { hostname } from 'node:os';
import { Command } from 'commander';
import { initMesh, requireNoMesh } from '../../daemon/enrol/init-mesh.ts';
import { isUnprotectedKey } from '../../daemon/trust/signer-key.ts';
import { homePaths } from '../../store/home/home.ts';
import type { Cli } from '../context.ts';
import { nextSteps } from '../next-steps.ts';
import { chooseFirstSigner, slugOf } from '../first-signer.ts';
import { signWithKey } from '../signing.ts';

export interface InitOptions {
  readonly host?: string;
  readonly listen?: string;
  readonly address?: string;
  readonly signer?: string;
  readonly as?: string;
  readonly key?: string;
}

/** init: a mesh of one host. */
export function makeCommand(cli: Cli): Command {
  return new Command('init')
    .description('start a mesh on this machine')
    .option('--host <NAME>', 'name of this host; default: from the machine name')
    .option('--listen <ADDR:PORT>', 'where the ssh server listens; default: loopback until there is a second host')
    .option('--address <URL>', 'where other hosts reach it, ssh://HOST:PORT')
    .option('--signer <PUBFILE>', 'ssh public key of the first signer; default: a terminal asks, else one is made')
    .option('--as <NAME>', "the signer's name; default: the user's")
    .option('--key <PRIVFILE>', "the signer's private key; default: beside PUBFILE")
    .addHelpText(
      'after',
      '\nExamples:\n  memctl init --host alpha\n  memctl init --host alpha --signer ~/.ssh/id_ed25519.pub --as craig',
    )
    .action(async (options: InitOptions) => {
      const made = await runInit(cli.home(), options);
      cli.output.result({ mesh: made.mesh, host: made.host, signer: made.signer, key: made.key }, () => [
        `mesh ${made.mesh}`,
        `host ${made.host}, first signer ${made.signer} (${made.key})`,
        `home ${cli.home()}`,
        nextSteps(cli.home()),
      ]);
      if (made.unprotected) {
        cli.output.note(
          `note: ${made.key} has no passphrase: any process of this user can sign with it ; memctl signer protect --key ${made.key}`,
        );
      }
    });
}

/** Chooses the signer, signs the genesis and makes the home. */
export async function runInit(
  home: string,
  options: InitOptions,
): Promise<{ mesh: string; host: string; signer: string; key: string; unprotected: boolean }> {
  const host = options.host ?? slugOf(hostname(), 'host');
  requireNoMesh(homePaths(home));
  const signer = await chooseFirstSigner(options);
  const { mesh } = await initMesh(home, host, {
    listen: options.listen ?? null,
    address: options.address,
    machine: hostname(),
    signer: { name: signer.name, publicKey: signer.key.publicKey, keyFile: signer.key.file },
    sign: (message) => signWithKey(signer.key, 'memd-trust', message),
  });
  return { mesh, host, signer: signer.name, key: signer.key.file, unprotected: isUnprotectedKey(signer.key.file) };
}
