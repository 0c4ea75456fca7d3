import { resolve } from 'node:path';
import { Command } from 'commander';
import type { PurgedJson, ShowEventJson, ShowOpJson } from '../../daemon/api/api-types.ts';
import type { Cli } from '../context.ts';
import { currentFolder } from '../here.ts';
import { writeApprovals } from '../sshsig-files.ts';

type Approval = NonNullable<ShowEventJson['lines'][number]['auth']>;

/** show: one event or trust op, whole. */
export function makeCommand(cli: Cli): Command {
  return new Command('show')
    .description('one event or trust op whole: what it says, its level, who carries it, what became of it')
    .argument('<id>', '64 hex or a unique prefix of at least 8')
    .option('--sshsig <DIR>', 'write its approvals as files, and print the ssh-keygen command that verifies them')
    .addHelpText(
      'after',
      `
--sshsig writes the signed message, a signature for each approval and an allowed_signers file into a folder that does
not exist yet; the command needs nothing of memctl. It shows who signed what; whether it counts, show says.
Examples:
  memctl show 3fa2b1c09d11
  memctl show 3fa2b1c09d11 --sshsig proof`,
    )
    .action(async (id: string, options: { sshsig?: string }) => {
      if (options.sshsig !== undefined) return showSshsig(cli, id, options.sshsig);
      const shown = await cli.call('show', { id });
      cli.output.result(shown, () => ('op' in shown ? describeOp(shown) : describeEvent(shown)));
      if ('purged' in shown) process.exitCode = 7;
    });
}

async function showSshsig(cli: Cli, id: string, folder: string): Promise<void> {
  const dir = resolve(currentFolder() ?? '/', folder);
  const written = writeApprovals(dir, await cli.call('approvals', { id }));
  cli.output.result(written, () => [
    written.id,
    ...written.approvals.flatMap(({ signer, key, verdict, command }) => [
      `  approved by ${signer}, key ${key} (${verdict})`,
      command === null ? '  no signer of this mesh has this key: there is nothing to verify it against' : command,
    ]),
  ]);
}

function describeEvent(shown: ShowEventJson): string[] {
  return [
    shown.id,
    `  status: ${shown.status}${shown.reason === undefined ? '' : ` (${shown.reason})`}`,
    `  level: ${shown.level}`,
    ...(shown.supersededBy.length > 0 ? [`  superseded by: ${shown.supersededBy.join(', ')}`] : []),
    ...shown.lines.map(({ log, seq, auth }) => `  carried by ${log}:${seq}${auth ? approvalOf(auth) : ''}`),
    ...(shown.purged === undefined ? [JSON.stringify(shown.event, null, 2)] : [purgedLine(shown.purged)]),
  ];
}

function purgedLine({ op, by, reason, at }: PurgedJson): string {
  return `  PURGED: ${reason}, by ${by} at ${at}, trust op ${op}`;
}

/** `, approved by dana (valid; dana is revoked now)`. */
function approvalOf({ signer, valid, verdict, signerStatus }: Approval): string {
  const what = valid ? 'valid' : `NOT VALID: ${verdict}`;
  const since = signerStatus === 'revoked' ? `; ${signer} is revoked now` : '';
  return `, approved by ${signer} (${what}${since})`;
}

function describeOp(shown: ShowOpJson): string[] {
  const { auth } = shown;
  return [
    `${shown.id} (trust op)`,
    `  status: ${shown.status}`,
    `  approved by ${auth.signer}, key ${auth.key} (${auth.valid ? 'valid' : 'NOT VALID'})`,
    JSON.stringify(shown.op, null, 2),
  ];
}
