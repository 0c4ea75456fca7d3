import { resolve } from 'node:path';
import { Command } from 'commander';
import { existsSync } from 'node:fs';
import { describeError } from '../../daemon/describe-error.ts';
import { Refusal } from '../../daemon/refusal.ts';
import { approveOp } from '../approve.ts';
import { askToSign } from '../confirm.ts';
import type { Cli } from '../context.ts';
import { withSigningOptions, wordList, type SigningOptions } from '../signing-options.ts';
import { describeNewSigner, readNewSigner, type NewSigner } from './new-signer.ts';
import { revokeSigner, signerNamed } from './revoke.ts';

/** Every subject, and neither the charter nor purges: those are granted by name. */
const defaultScopes = '*';

/** signer add: a person's key gets a say. */
export function addCommand(cli: Cli): Command {
  const command = new Command('add')
    .description('sign a person into the mesh by their ssh public key')
    .argument('<pubfile>', 'public key file, - for stdin')
    .requiredOption('--as <NAME>', 'name of the signer; used once, also after a revocation')
    .option(
      '--scopes <LIST>',
      'what the signer may sign: subject globs, charter, purge; comma separated',
      defaultScopes,
    );
  return withSigningOptions(command)
    .addHelpText(
      'after',
      `
Compare the words with the person whose key it is. Scopes: * is every subject, 'ssh-route/*' those of a class; charter
lets the signer add and revoke hosts and signers, purge (with *) lets events be purged. Nobody can grant what they have
not.
Examples:
  memctl signer add dana.pub --as dana
  memctl signer add dana.pub --as dana --scopes '*,charter,purge'`,
    )
    .action(async (source: string, options: SigningOptions & { as: string; scopes: string }) => {
      const signer = await readNewSigner(source, options.as);
      const scopes = wordList(options.scopes);
      const id = await addSigner(cli, { signer, scopes, options });
      cli.output.result({ id, signer: signer.name }, () => [
        `signer ${signer.name} added by trust op ${id}`,
        `  may sign ${scopes.join(', ')}`,
      ]);
    });
}

interface Addition {
  readonly signer: NewSigner;
  readonly scopes: readonly string[];
  readonly options: SigningOptions;
}

function addSigner(cli: Cli, { signer, scopes, options }: Addition): Promise<string> {
  const { name, key } = signer;
  return approveOp(cli, {
    op: 'signer-add',
    args: { name, key: key.text, scopes },
    keyFile: options.key,
    async review() {
      describeNewSigner(cli, signer, scopes);
      await askToSign({
        message: `Does ${name} see the same words?`,
        yes: options.yes,
        task: 'compare the fingerprint',
      });
    },
  });
}

/** signer rotate: a new key under a new name, then the old one revoked. */
export function rotateCommand(cli: Cli): Command {
  const command = new Command('rotate')
    .description('give a signer a new key: add it under a new name, then revoke the old one')
    .argument('<name>', 'the signer whose key is to go')
    .argument('<newpub>', 'public key file of the new key, - for stdin')
    .requiredOption('--as <NEWNAME>', 'name of the new signer');
  return withSigningOptions(command)
    .addHelpText(
      'after',
      `
Two trust ops, both signed with --key (the old key will do). What the old key signed so far stands. The key that started
the mesh outranks all others even after a rotation: destroy it, or keep it offline.
Example:
  memctl signer rotate craig ~/.ssh/id_new.pub --as craig-2`,
    )
    .action(async (name: string, source: string, options: SigningOptions & { as: string }) => {
      const signer = await readNewSigner(source, options.as);
      const { scopes } = await signerNamed(cli, name);
      const added = await addSigner(cli, { signer, scopes, options });
      const id = await revokeRotated(cli, { name, added, signer: signer.name, options });
      await rememberKey(cli, name, signer);
      cli.output.result({ id, added, signer: signer.name, revoked: name }, () => [
        `signer ${signer.name} added by trust op ${added}`,
        `signer ${name} revoked by trust op ${id}`,
      ]);
    });
}

interface Rotation {
  readonly name: string;
  readonly added: string;
  readonly signer: string;
  readonly options: SigningOptions;
}

/** The first op is signed and out: whatever stops the second one, both keys count until it is made up for. */
async function revokeRotated(cli: Cli, { name, added, signer, options }: Rotation): Promise<string> {
  try {
    return await revokeSigner(cli, name, options);
  } catch (error) {
    const { message, hint, exit } = describeError(error);
    throw new Refusal({
      code: 'ROTATE_HALF_DONE',
      message: `${signer} was added by trust op ${added}, but ${name} is not revoked, so both keys count: ${message}`,
      hint: `memctl signer revoke ${name}${hint === undefined ? '' : ` (${hint})`}`,
      exit,
    });
  }
}

/** Where the old key was the one that this host signs with, the new one takes its place. */
async function rememberKey(cli: Cli, old: string, { name, privateFile }: NewSigner): Promise<void> {
  const key = privateFile === undefined ? '' : resolve(privateFile);
  if (!existsSync(key)) return;
  const { changed } = await cli.call('signer.remember', { old, name, key });
  if (changed) cli.output.note(`this host signs with ${key} from now on`);
}
