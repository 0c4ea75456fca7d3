import { hostname } from 'node:os';
import { Command } from 'commander';
import { fingerprintWords } from '../../crypto/ssh-key.ts';
import type { PlaceJson } from '../../daemon/api/api-types.ts';
import { requestHost } from '../../daemon/enrol/request-host.ts';
import { Refusal } from '../../daemon/refusal.ts';
import type { Cli } from '../context.ts';
import { approveOp } from '../approve.ts';
import { askToSign } from '../confirm.ts';
import { withSigningOptions, type SigningOptions } from '../signing-options.ts';
import { slugOf } from '../first-signer.ts';
import { confirmHost, readRequest, seqOf } from './host-lines.ts';
import { recoverCommand, rekeyCommand } from './host-recover.ts';

/** host request | add | list | recover | rekey | revoke: how a machine gets into a mesh, goes on, and out of it. */
export function makeCommand(cli: Cli): Command {
  return new Command('host')
    .description('enrol, list, recover and revoke hosts')
    .addCommand(requestCommand(cli))
    .addCommand(addCommand(cli))
    .addCommand(listCommand(cli))
    .addCommand(recoverCommand(cli))
    .addCommand(rekeyCommand(cli))
    .addCommand(revokeCommand(cli))
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
  const command = new Command('add')
    .description('sign a host into the mesh')
    .argument('<line>', 'what memctl host request printed');
  return withSigningOptions(command)
    .addHelpText('after', "\nExample:\n  memctl host add 'memd-host:beta:…'")
    .action(async (line: string, options: SigningOptions) => {
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

function revokeCommand(cli: Cli): Command {
  const command = new Command('revoke')
    .description('end a host: what it said up to a line stands, and nobody talks to it any more')
    .argument('<name>', 'the host')
    .option('--at <SEQ>', 'last line that stands; default: the last one that is usable here');
  return withSigningOptions(command)
    .addHelpText(
      'after',
      `
Fetch first: lines of it that are not here do not stand. Name an earlier line when its key was stolen before the last
one. What signers approved stands wherever another host carries it.
Examples:
  memctl host revoke beta
  memctl host revoke beta --at 120`,
    )
    .action(async (name: string, options: SigningOptions & { at?: string }) => {
      const pin = await cli.call('place', {
        host: name,
        ...(options.at === undefined ? {} : { seq: seqOf(options.at) }),
      });
      await requireNews(cli, name, pin);
      const id = await approveOp(cli, {
        op: 'host-revoke',
        args: { name, pin },
        keyFile: options.key,
        async review() {
          describeRevocation(cli, name, pin);
          await askToSign({ message: `Revoke host ${name} for good?`, yes: options.yes, task: 'say so' });
        },
      });
      cli.output.result({ id, host: name, pin }, () => [
        `host ${name} revoked by trust op ${id}: its lines up to ${pin.seq} stand`,
      ]);
    });
}

function describeRevocation({ output }: Cli, name: string, pin: PlaceJson): void {
  output.note(`host ${name}: lines up to ${pin.seq} stand (link ${pin.link.slice(0, 12)}); later ones never count`);
  output.note('its name cannot be used again; other hosts refuse its connections from now on');
}

/** A second revocation takes back more, or it is none. */
async function requireNews(cli: Cli, name: string, pin: PlaceJson): Promise<void> {
  const host = (await cli.call('charter', {})).hosts.find((one) => one.host === name);
  if (host?.status !== 'revoked' || host.end === null || pin.seq < host.end) return;
  throw new Refusal({
    code: 'OP_REFUSED',
    message: `host ${name} is revoked already, by trust op ${host.op.slice(0, 12)}: its lines up to ${host.end} stand`,
    hint: '--at SEQ with a lower number takes back more; nothing was signed',
    exit: 6,
  });
}
