/** signer protect and export: the key file of the person here, and everybody's keys for stock OpenSSH. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command } from 'commander';
import { readIdentity } from '../../daemon/identity.ts';
import { Refusal } from '../../daemon/refusal.ts';
import { isUnprotectedKey } from '../../daemon/trust/signer-key.ts';
import { childEnvironment } from '../../store/child.ts';
import { diskError } from '../../store/errors.ts';
import { homePaths } from '../../store/home/home.ts';
import type { Cli } from '../context.ts';
import { currentFolder } from '../here.ts';
import { allowedSignersHead, allowedSignersText } from '../sshsig-files.ts';

export function protectCommand(cli: Cli): Command {
  return new Command('protect')
    .description("set or change the passphrase of the signer's key on this machine, with ssh-keygen -p")
    .option('--key <PRIVFILE>', 'the private key; default: the one of init')
    .addHelpText(
      'after',
      `
A key without a passphrase signs for whoever runs as this user, an agent too. With one, every signature asks on the
terminal. The public half stays the same, so nothing changes for the mesh.
Example:
  memctl signer protect`,
    )
    .action((options: { key?: string }) => {
      const file = privateKeyFile(cli, options.key);
      if (!process.stdin.isTTY) {
        throw new Refusal({
          code: 'SIGN_FAILED',
          message: `nobody is there to type a passphrase for ${file}`,
          hint: 'run memctl signer protect in a terminal',
          exit: 6,
        });
      }
      const done = spawnSync('ssh-keygen', ['-p', '-f', file], {
        env: childEnvironment(),
        stdio: ['inherit', cli.output.json ? process.stderr : 'inherit', 'inherit'],
      });
      if (done.error !== undefined || done.status !== 0) throw unchanged(file, done.error?.message);
      const isProtected = !isUnprotectedKey(file);
      cli.output.result({ key: file, protected: isProtected }, () => [
        isProtected ? `${file} asks for a passphrase now` : `${file} still has no passphrase`,
      ]);
      if (!isProtected) process.exitCode = 1;
    });
}

function privateKeyFile(cli: Cli, named: string | undefined): string {
  const file = named ?? readIdentity(homePaths(cli.home())).signer?.key;
  if (file !== undefined && existsSync(file)) return resolve(file);
  throw new Refusal({
    code: 'SIGN_FAILED',
    message: file === undefined ? 'this host remembers no signing key' : `there is no key file ${file}`,
    hint: 'name the private key: --key FILE',
    exit: 6,
  });
}

function unchanged(file: string, reason: string | undefined): Refusal {
  return new Refusal({
    code: 'SIGN_FAILED',
    message: `ssh-keygen did not change ${file}${reason === undefined ? '' : `: ${reason}`}`,
    hint: 'its reason stands above; the key is as it was',
    exit: 6,
  });
}

export function exportCommand(cli: Cli): Command {
  return new Command('export')
    .description('the keys of all signers as an OpenSSH allowed_signers file')
    .argument('[file]', 'where to write it; default: stdout')
    .addHelpText(
      'after',
      `
Revoked signers stand in it as comments: what they approved before is for memctl show to judge.
Examples:
  memctl signer export allowed_signers
  memctl show 3fa2b1c09d11 --sshsig proof      files and command that verify one event`,
    )
    .action(async (file: string | undefined) => {
      const { mesh, signers } = await cli.call('charter', {});
      const text = allowedSignersText(mesh, signers);
      const names = signers.filter(({ status }) => status === 'active').map(({ name }) => name);
      if (file === undefined) {
        cli.output.result({ file: null, signers: names, text }, () => text.trimEnd().split('\n'));
        return;
      }
      const path = resolve(currentFolder() ?? '/', file);
      write(path, text);
      cli.output.result({ file: path, signers: names, text }, () => [
        `${path}: ${names.join(', ')}`,
        `verify with it: ssh-keygen -Y verify -f ${file} -I NAME -n memd-event -s FILE.sig < FILE`,
      ]);
    });
}

/** Writes a new file, or one that was exported before: a name that was mistyped must not cost anybody a key. */
function write(file: string, text: string): void {
  try {
    const isOther = existsSync(file) && !readFileSync(file, 'utf8').startsWith(allowedSignersHead);
    if (!isOther) return writeFileSync(file, text);
  } catch (error) {
    throw diskError(error, 'write', file);
  }
  throw new Refusal({
    code: 'FILE_IN_USE',
    message: `${file} is there already, and memctl signer export did not write it; nothing is overwritten`,
    hint: 'name another file, or move that one aside',
    exit: 2,
  });
}
