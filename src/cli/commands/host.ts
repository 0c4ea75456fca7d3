import { hostname } from 'node:os';
import { Command } from 'commander';
import { fingerprintWords, parseSshPublicKey } from '../../crypto/ssh-key.ts';
import { parseHostRequest, type HostRequest } from '../../mesh/enrol.ts';
import { requestHost } from '../../daemon/request-host.ts';
import { Refusal } from '../../daemon/refusal.ts';
import type { Cli } from '../context.ts';
import { approveOp } from '../approve.ts';
import { askToSign } from '../confirm.ts';
import { slugOf } from '../first-signer.ts';

/** host request | add | list: how a machine gets into a mesh. */
export function makeCommand(cli: Cli): Command {
  return new Command('host')
    .description('enrol and list hosts')
    .addCommand(requestCommand(cli))
    .addCommand(addCommand(cli))
    .addCommand(listCommand(cli))
    .addHelpText(
      'after',
      `
Enrolling beta, three steps (nothing secret travels):
  beta$  memctl host request --host beta
  alpha$ memctl host add 'memd-host:beta:…'
  beta$  memctl join ssh://alpha:7422 --mesh ID`,
    );
}

function requestCommand(cli: Cli): Command {
  return new Command('request')
    .description('make keys for this machine and print the line that enrols it')
    .option('--host <NAME>', 'name of this host; default: from the machine name')
    .option('--listen <ADDR:PORT>', 'where its ssh server will listen')
    .option('--address <URL>', 'where other hosts reach it, ssh://HOST:PORT')
    .addHelpText('after', '\nExample:\n  memctl host request --host beta --address ssh://beta.lan:7422')
    .action(async (options: { host?: string; listen?: string; address?: string }) => {
      const host = options.host ?? slugOf(hostname(), 'host');
      const made = await requestHost({
        home: cli.home(),
        host,
        listen: options.listen ?? null,
        address: options.address,
        machine: hostname(),
      });
      cli.output.result({ host, line: made.line, fingerprint: made.fingerprint }, () => [
        made.line,
        '',
        `fingerprint ${made.fingerprint}`,
        `read aloud: ${fingerprintWords(made.fingerprint)}`,
        'next, on an enrolled host: memctl host add LINE',
      ]);
    });
}

function addCommand(cli: Cli): Command {
  return new Command('add')
    .description('sign a host into the mesh')
    .argument('<line>', 'what memctl host request printed')
    .option('--yes', 'do not ask')
    .option('--key <PRIVFILE>', "a signer's private key; default: the one of init")
    .addHelpText('after', "\nExample:\n  memctl host add 'memd-host:beta:…'")
    .action(async (line: string, options: { yes?: boolean; key?: string }) => {
      const request = readRequest(line);
      await confirmHost(cli, request, options.yes === true);
      const { host, sign, ssh, address } = request;
      const args = { name: host, sign, ssh, address };
      const id = await approveOp(cli, { op: 'host-add', args, keyFile: options.key });
      const { mesh } = await cli.call('charter', {});
      cli.output.result({ id, host }, () => [
        `host ${host} added by trust op ${id}`,
        `next, on ${host}: memctl join ssh://THIS-HOST:PORT --mesh ${mesh}`,
      ]);
    });
}

function readRequest(line: string): HostRequest {
  const request = parseHostRequest(line.trim());
  if (request.ok) return request.value;
  throw new Refusal({
    code: 'BAD_REQUEST',
    message: `this is not a host request: ${request.detail}`,
    hint: 'paste the whole line that memctl host request printed, in quotes',
    exit: 2,
  });
}

async function confirmHost(cli: Cli, request: HostRequest, yes: boolean): Promise<void> {
  const key = parseSshPublicKey(request.sign);
  if (!key.ok)
    throw new Refusal({
      code: 'OP_REFUSED',
      message: `host ${request.host} has no usable key: ${key.detail}`,
      exit: 6,
    });
  cli.output.note(`host ${request.host} at ${request.address || '(cannot be dialled)'}`);
  cli.output.note(`fingerprint ${key.value.fingerprint}`);
  cli.output.note(`read aloud: ${fingerprintWords(key.value.fingerprint)}`);
  await askToSign({ message: 'Does the new host show the same words?', yes, task: 'compare the fingerprint' });
}

function listCommand(cli: Cli): Command {
  return new Command('list')
    .description('hosts of the charter')
    .addHelpText('after', '\nExample:\n  memctl host list --json')
    .action(async () => {
      const { hosts } = await cli.call('charter', {});
      cli.output.result(hosts, () =>
        hosts.map(
          (host) => `${host.host} ${host.status} ${host.address || '(cannot be dialled)'} seq ${host.seq} ${host.key}`,
        ),
      );
    });
}
