/** host recover | rekey: new keys for a host, and a pin that says up to where its log stands. */
import { Command } from 'commander';
import { fingerprintWords } from '../../crypto/ssh-key.ts';
import { counted } from '../../daemon/counted.ts';
import { Refusal } from '../../daemon/refusal.ts';
import type { PlaceJson, RecoverJson } from '../../daemon/api/api-types.ts';
import { readIdentity } from '../../daemon/identity.ts';
import { homePaths } from '../../store/home/home.ts';
import { approveOp } from '../approve.ts';
import { askToSign } from '../confirm.ts';
import type { Cli } from '../context.ts';
import { withSigningOptions, type SigningOptions } from '../signing-options.ts';
import { confirmHost, readRequest, seqOf } from './host-lines.ts';

/** host recover, on the machine itself. */
export function recoverCommand(cli: Cli): Command {
  const command = new Command('recover')
    .description('give this host new keys after a copy, a theft, a loss or a fork; nothing it said is lost')
    .argument('[name]', 'the host that this is, to be sure')
    .option('--at <SEQ>', 'last line that stands; default: the last one that every host can use')
    .option('--request', 'only print the line for memctl host rekey, to be signed on another host')
    .option('--append', 'only append what this host said on branches that count no more');
  return withSigningOptions(command)
    .addHelpText(
      'after',
      `
One act of a signer. The old keys count for nothing behind the pin, so whoever has a copy of them is refused. What stood
behind the pin, here or on a branch that a peer held, is appended again under the same ids. Fetch first: what is here, and
what peers hold, is what comes back. Name an earlier line with --at when the keys were stolen before the last one; what
stands behind it is then appended again only by --append.
Examples:
  memctl host recover                       with the signer's key on this machine
  memctl host recover --request             without it; then, on an enrolled host: memctl host rekey LINE
  memctl host recover --append              later: a peer brought another branch`,
    )
    .action(async (name: string | undefined, options: RecoverOptions) => {
      requireThisHost(cli, name);
      if (options.append === true) return sayAgain(cli);
      const plan = await cli.call('recover.prepare', {});
      if (options.request === true || !hasSigner(cli, options)) return printRequest(cli, plan);
      return recover(cli, plan, options);
    });
}

type RecoverOptions = SigningOptions & {
  readonly at?: string;
  readonly request?: boolean;
  readonly append?: boolean;
};

/** host rekey LINE, on any enrolled host. */
export function rekeyCommand(cli: Cli): Command {
  const command = new Command('rekey')
    .description('sign new keys for a host that is in the mesh already')
    .argument('<line>', 'what memctl host recover or memctl host request printed there')
    .option('--at <SEQ>', 'last line of its log that stands; default: the last one that is usable here');
  return withSigningOptions(command)
    .addHelpText(
      'after',
      `
Its old keys count for nothing behind that line. Fetch first: lines that are not here do not stand.
Then, on that host: memctl fetch; or, in a new home: memctl join ssh://HOST:PORT --mesh ID
Examples:
  memctl host rekey 'memd-host:beta:…'
  memctl host rekey 'memd-host:beta:…' --at 120`,
    )
    .action(async (line: string, options: SigningOptions & { at?: string }) => {
      const request = readRequest(line);
      const { host, sign, ssh } = request;
      const pin = await pinOf(cli, host, options.at);
      await confirmHost(cli, request, options.yes === true);
      const id = await approveOp(cli, {
        op: 'host-rekey',
        args: { name: host, sign, ssh, pin },
        keyFile: options.key,
        review: () => askToPin(cli, host, pin, options),
      });
      cli.output.result({ id, host, pin }, () => [
        `host ${host} has new keys by trust op ${id}; its lines up to ${pin.seq} stand`,
        `next, on ${host}: memctl fetch`,
      ]);
    });
}

function requireThisHost(cli: Cli, name: string | undefined): void {
  const { host } = readIdentity(homePaths(cli.home()));
  if (name === undefined || name === host) return;
  throw new Refusal({
    code: 'BAD_REQUEST',
    message: `this is host ${host}, not ${name}`,
    hint: `on ${name}: memctl host recover; where its home is gone: memctl host request --host ${name} there, then memctl host rekey LINE here`,
    exit: 2,
  });
}

function hasSigner(cli: Cli, { key }: SigningOptions): boolean {
  return key !== undefined || readIdentity(homePaths(cli.home())).signer !== null;
}

function printRequest({ output }: Cli, plan: RecoverJson): void {
  const { host, line, fingerprint, pin, fork } = plan;
  output.result({ host, line, fingerprint, pin, fork }, () => [
    line,
    '',
    `fingerprint ${fingerprint}`,
    `read aloud: ${fingerprintWords(fingerprint)}`,
    'next, on an enrolled host, by a signer: memctl host rekey LINE; then here: memctl fetch',
  ]);
}

async function recover(cli: Cli, plan: RecoverJson, options: RecoverOptions): Promise<void> {
  const { host, sign, ssh } = plan;
  const pin = options.at === undefined ? plan.pin : await cli.call('place', { host, seq: seqOf(options.at) });
  const id = await approveOp(cli, {
    op: 'host-rekey',
    args: { name: host, sign, ssh, pin },
    keyFile: options.key,
    async review() {
      describePlan(cli, plan, pin);
      await askToPin(cli, host, pin, options);
    },
  });
  const { unsaid } = await cli.call('recover.unsaid', {});
  cli.output.result({ id, host, pin, unsaid }, () => [
    `host ${host} has new keys by trust op ${id}; its lines up to ${pin.seq} stand`,
    ...(unsaid === 0 ? [] : [`${counted(unsaid, 'event')} not appended again; memctl host recover --append`]),
    'a machine that still has the old keys is refused by every host',
  ]);
}

function describePlan({ output }: Cli, plan: RecoverJson, pin: PlaceJson): void {
  const { host, fork, held, branches } = plan;
  if (fork !== null) output.note(`log ${host} is forked at line ${fork}`);
  if (held > pin.seq) output.note(`${counted(held - pin.seq, 'line')} of it here are behind the pin`);
  for (const { from, link, lines } of branches)
    output.note(`another branch is kept here: ${counted(lines, 'line')} from line ${from}, link ${link}`);
}

async function askToPin(cli: Cli, host: string, pin: PlaceJson, { yes }: SigningOptions): Promise<void> {
  cli.output.note(`host ${host}: lines up to ${pin.seq} stand (link ${pin.link.slice(0, 12)}); its old keys end there`);
  await askToSign({ message: `New keys for host ${host}?`, yes, task: 'say so' });
}

/** By default the last usable line here: of a forked log the one before the split. */
function pinOf(cli: Cli, host: string, at: string | undefined): Promise<PlaceJson> {
  return cli.call('place', { host, ...(at === undefined ? {} : { seq: seqOf(at) }) });
}

async function sayAgain(cli: Cli): Promise<void> {
  const { results } = await cli.call('recover.say', {});
  cli.output.results(results, () => [`${counted(results.length, 'event')} appended again`]);
}
